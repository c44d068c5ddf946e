// Parses the program's command line.
#ifndef STAMPGATE_GATEWAY_COMMANDS_COMMAND_LINE_H_
#define STAMPGATE_GATEWAY_COMMANDS_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/commands/gateway_client.h"
#include "stamp/curve.h"

namespace stampgate {

struct CommandLine {
  enum class Command {
    kHelp,
    kVersion,
    kServe,
    kCheck,
    kKeygen,
    kAuditVerify,
    kAuditKeygen,
    kStoreKeygen,
    kStoreMigrate,
    kStoreSet,
    kStoreSeal,
    kStoreCheck,
    kStoreRestored,
    kStoreCopy,
    kOperationsList,
    kOperationsDiff,
    kOperationsLint,
    kOperationsExport,
    kSubscriptionsList,
    kSubscriptionsShow,
    kSubscriptionsParked,
    kSubscriptionsRetry,
    kSubscriptionsSkip,
    kSubscriptionsSeek,
    kSubscriptionsDelete,
  };

  Command command = Command::kHelp;
  std::string topic;           // for kHelp: the arguments before the first flag, such as "audit verify"
  std::string config;          // for kServe, kCheck, and the commands of the store, except kStoreKeygen and kStoreCopy
  std::string as;              // for kCheck: the name of a caller, or empty
  Curve curve = Curve::kP256;  // for kKeygen
  std::string out;             // for kKeygen, kAuditKeygen and kStoreKeygen
  std::string key;             // for kAuditVerify: the path of the key's file
  std::string grant_to;        // for kStoreMigrate: the name of a role, or empty
  std::string head;            // for kAuditVerify: a head that the process logged, or empty
  std::string from;  // for kAuditVerify: the head of the last archived file, or empty; for kStoreCopy: a config
  std::string to;    // for kStoreCopy: a config; for kSubscriptionsSeek: a place
  bool closed_files = false;  // for kAuditVerify: check only the closed files of the logs
  // For kAuditVerify: audit logs, or several files of one audit log. For kOperationsList, kOperationsDiff and
  // kOperationsLint: files of operations.
  std::vector<std::string> files;
  GatewayAddress gateway;            // for the commands of subscriptions
  std::string subscription;          // its name, for all of them except kSubscriptionsList
  std::vector<std::string> cursors;  // for kSubscriptionsRetry and kSubscriptionsSkip, or only "all"
};

// Parses the arguments after the program's name. A flag has the form `--name value` or `--name=value`. Errors:
// kInvalidArgument, with one line that names the faulty argument and the broken rule.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_COMMAND_LINE_H_
