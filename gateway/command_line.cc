#include "gateway/command_line.h"

#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace stampgate {

const absl::string_view kUsage =
    R"(stampgate: typed gRPC in, stamped JSON out.

  stampgate serve --config FILE         serves until SIGTERM or SIGINT
  stampgate check --config FILE         reads the config and every file that it names as serve would; exit status 1
                                        names every fault
  stampgate check --config FILE --as CALLER
                                        says what that caller may do, and with which keys; reads the config and the
                                        files of organizations alone, so it needs no keys or certificates
  stampgate keygen --curve CURVE --out FILE
                                        makes an API key: FILE gets the private half (mode 0600, never overwritten),
                                        standard output the public half. CURVE is p256, secp256k1 or ed25519
  stampgate audit keygen --out FILE     makes the key that chains the audit's records (mode 0600, never overwritten)
  stampgate audit verify --key FILE [--head HEAD] AUDIT_FILE
                                        checks an audit log: the file of audit.file, and the closed files beside it;
                                        HEAD, as the gateway's log tells it, also finds an end that was cut off. Exit
                                        status 1: changed, 2: a file cannot be read, 3: cut off by a crash
  stampgate audit verify --key FILE [--head HEAD] AUDIT_FILE AUDIT_FILE...
                                        checks these files alone, the oldest first
  stampgate store restored --config FILE
                                        tells the store that it was put back from a copy, before the gateway is started
                                        with it: cursors of before are refused, timestamps begin above those of before,
                                        and idempotency keys of before send nothing for as long as keys are kept
  stampgate --version
  stampgate --help

The config is one YAML file; deploy/example.yaml in the source tree documents every setting.
)";

namespace {

using Flags = std::map<std::string, std::string*>;  // to where their values go

// Takes the flags of both kinds, once each, and what is no flag if `files` is given.
absl::Status ParseFlags(const std::vector<std::string>& arguments, Flags required, Flags optional = {},
                        std::vector<std::string>* files = nullptr) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (!absl::ConsumePrefix(&argument, "--")) {
      if (files == nullptr) return absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", arguments[i]));
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

// `arguments` begin behind "audit".
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
  absl::Status status = ParseFlags(arguments, {{"key", &line.key}}, {{"head", &line.head}}, &line.files);
  if (!status.ok()) return status;
  if (line.files.empty()) return absl::InvalidArgumentError("verify needs a file");
  return line;
}

// `arguments` begin behind "store".
absl::StatusOr<CommandLine> ParseStore(const std::vector<std::string>& arguments) {
  CommandLine line;
  line.command = CommandLine::Command::kStoreRestored;
  if (arguments.empty() || arguments[0] != "restored") {
    return absl::InvalidArgumentError("store needs a command: restored");
  }
  if (absl::Status status = ParseFlags(arguments, {{"config", &line.config}}); !status.ok()) return status;
  return line;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  if (arguments.empty())
    return absl::InvalidArgumentError("a command is missing: serve, check, keygen, audit or store");
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h" || argument == "help") return line;
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
