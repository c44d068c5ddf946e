#include "gateway/commands/command_line.h"

#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace stampgate {

namespace {

using Flags = std::map<std::string, std::string*>;  // from the name of a flag to the variable that gets the value

// Parses flags, each of which may occur only once. Adds all other arguments to `files`. If `files` is null, any other
// argument is an error.
absl::Status ParseFlags(const std::vector<std::string>& arguments, Flags required, Flags optional = {},
                        std::vector<std::string>* files = nullptr) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (!absl::ConsumePrefix(&argument, "--")) {
      if (files == nullptr) {
        const std::string hint = required.contains("config") ? absl::StrCat(": write --config ", arguments[i]) : "";
        return absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", arguments[i], hint));
      }
      files->push_back(arguments[i]);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    Flags& flags = optional.contains(name) ? optional : required;
    const auto flag = flags.find(name);
    if (flag == flags.end()) return absl::InvalidArgumentError(absl::StrCat("unknown or repeated flag: --", name));
    if (equals != absl::string_view::npos) {
      *flag->second = std::string(argument.substr(equals + 1));
    } else if (i + 1 < arguments.size()) {
      *flag->second = arguments[++i];
    }
    if (flag->second->empty()) return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value"));
    flags.erase(flag);
  }
  if (!required.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(arguments[0], " needs --", required.begin()->first));
  }
  return absl::OkStatus();
}

// Parses the arguments after "audit".
absl::StatusOr<CommandLine> ParseAudit(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "keygen") {
    line.command = CommandLine::Command::kAuditKeygen;
    if (absl::Status status = ParseFlags(arguments, {{"out", &line.out}}); !status.ok()) return status;
    return line;
  }
  if (command != "verify") return absl::InvalidArgumentError("audit needs a command: verify or keygen");
  line.command = CommandLine::Command::kAuditVerify;
  std::string which;
  absl::Status status = ParseFlags(arguments, {{"key", &line.key}},
                                   {{"head", &line.head}, {"from", &line.from}, {"files", &which}}, &line.files);
  if (!status.ok()) return status;
  if (line.files.empty()) return absl::InvalidArgumentError("verify needs a file");
  line.closed_files = which == "closed";
  if (!which.empty() && which != "all" && !line.closed_files) {
    return absl::InvalidArgumentError("--files must be all or closed");
  }
  return line;
}

// Parses the arguments after "store".
absl::StatusOr<CommandLine> ParseStore(const std::vector<std::string>& arguments) {
  using Command = CommandLine::Command;
  CommandLine line;
  const std::string command = arguments.empty() ? "" : arguments[0];
  Flags required = {{"config", &line.config}};
  Flags optional;
  if (command == "keygen") {
    line.command = Command::kStoreKeygen;
    required = {{"out", &line.out}};
  } else if (command == "migrate") {
    line.command = Command::kStoreMigrate;
    optional = {{"grant-to", &line.grant_to}};
  } else if (command == "set") {
    line.command = Command::kStoreSet;
  } else if (command == "seal") {
    line.command = Command::kStoreSeal;
  } else if (command == "check") {
    line.command = Command::kStoreCheck;
  } else if (command == "restored") {
    line.command = Command::kStoreRestored;
  } else if (command == "copy") {
    line.command = Command::kStoreCopy;
    required = {{"from", &line.from}, {"to", &line.to}};
  } else {
    return absl::InvalidArgumentError("store needs a command: keygen, migrate, set, seal, check, restored or copy");
  }
  ABSL_RETURN_IF_ERROR(ParseFlags(arguments, required, optional));
  return line;
}

// Parses the arguments after "operations".
absl::StatusOr<CommandLine> ParseOperations(const std::vector<std::string>& arguments) {
  using Command = CommandLine::Command;
  CommandLine line;
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "export") {
    line.command = Command::kOperationsExport;
    ABSL_RETURN_IF_ERROR(ParseFlags(arguments, {}));
    return line;
  }
  if (command == "list") {
    line.command = Command::kOperationsList;
  } else if (command == "diff") {
    line.command = Command::kOperationsDiff;
  } else if (command == "lint") {
    line.command = Command::kOperationsLint;
  } else {
    return absl::InvalidArgumentError("operations needs a command: list, diff, lint or export");
  }
  ABSL_RETURN_IF_ERROR(ParseFlags(arguments, {}, {}, &line.files));
  if (line.files.empty() && line.command != Command::kOperationsList) {
    return absl::InvalidArgumentError(absl::StrCat(command, " needs a file"));
  }
  return line;
}

// Parses the arguments after "subscriptions".
absl::StatusOr<CommandLine> ParseSubscriptions(const std::vector<std::string>& arguments) {
  using Command = CommandLine::Command;
  CommandLine line;
  const std::string command = arguments.empty() ? "" : arguments[0];
  Flags required = {{"gateway", &line.gateway.address}};
  if (command == "list") {
    line.command = Command::kSubscriptionsList;
  } else if (command == "show") {
    line.command = Command::kSubscriptionsShow;
  } else if (command == "parked") {
    line.command = Command::kSubscriptionsParked;
  } else if (command == "retry") {
    line.command = Command::kSubscriptionsRetry;
  } else if (command == "skip") {
    line.command = Command::kSubscriptionsSkip;
  } else if (command == "seek") {
    line.command = Command::kSubscriptionsSeek;
    required["to"] = &line.to;
  } else if (command == "delete") {
    line.command = Command::kSubscriptionsDelete;
  } else {
    return absl::InvalidArgumentError("subscriptions needs a command: list, show, parked, retry, skip, seek or delete");
  }
  std::vector<std::string> names;
  ABSL_RETURN_IF_ERROR(ParseFlags(arguments, required,
                                  {{"ca", &line.gateway.ca},
                                   {"certificate", &line.gateway.certificate},
                                   {"key", &line.gateway.key},
                                   {"token", &line.gateway.token}},
                                  line.command == Command::kSubscriptionsList ? nullptr : &names));
  if (line.command == Command::kSubscriptionsList) return line;
  if (names.empty()) return absl::InvalidArgumentError(absl::StrCat(command, " needs the name of a subscription"));
  line.subscription = names.front();
  line.cursors.assign(names.begin() + 1, names.end());
  const bool needs_cursors =
      line.command == Command::kSubscriptionsRetry || line.command == Command::kSubscriptionsSkip;
  if (needs_cursors && line.cursors.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(command, " needs the cursors of parked events, or all"));
  }
  if (!needs_cursors && !line.cursors.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", line.cursors.front()));
  }
  return line;
}

// Returns the words before the first flag, without "help".
std::string LeadingWords(const std::vector<std::string>& arguments) {
  const auto flag =
      absl::c_find_if(arguments, [](const std::string& argument) { return absl::StartsWith(argument, "-"); });
  return absl::StrJoin(arguments.begin() + (arguments[0] == "help" ? 1 : 0), flag, " ");
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  if (arguments.empty())
    return absl::InvalidArgumentError(
        "a command is missing: serve, check, keygen, audit, store, operations or subscriptions");
  const bool help = arguments[0] == "help" || absl::c_any_of(arguments, [](const std::string& argument) {
                      return argument == "--help" || argument == "-h";
                    });
  if (help) {
    line.topic = LeadingWords(arguments);
    return line;
  }
  if (arguments[0] == "--version") {
    line.command = CommandLine::Command::kVersion;
    return line;
  }
  if (arguments[0] == "serve" || arguments[0] == "check") {
    const bool serve = arguments[0] == "serve";
    line.command = serve ? CommandLine::Command::kServe : CommandLine::Command::kCheck;
    const Flags optional = serve ? Flags() : Flags{{"as", &line.as}};
    if (absl::Status status = ParseFlags(arguments, {{"config", &line.config}}, optional); !status.ok()) return status;
    return line;
  }
  if (arguments[0] == "audit") return ParseAudit({arguments.begin() + 1, arguments.end()});
  if (arguments[0] == "store") return ParseStore({arguments.begin() + 1, arguments.end()});
  if (arguments[0] == "operations") return ParseOperations({arguments.begin() + 1, arguments.end()});
  if (arguments[0] == "subscriptions") return ParseSubscriptions({arguments.begin() + 1, arguments.end()});
  if (arguments[0] == "keygen") {
    line.command = CommandLine::Command::kKeygen;
    std::string curve;
    absl::Status status = ParseFlags(arguments, {{"curve", &curve}, {"out", &line.out}});
    if (!status.ok()) return status;
    const std::optional<Curve> parsed = ParseCurve(curve);
    if (!parsed.has_value()) return absl::InvalidArgumentError("--curve must be p256, secp256k1 or ed25519");
    line.curve = *parsed;
    return line;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown command: ", arguments[0]));
}

}  // namespace stampgate
