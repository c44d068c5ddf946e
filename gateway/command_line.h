// Parses the program's command line.
#ifndef STAMPGATE_GATEWAY_COMMAND_LINE_H_
#define STAMPGATE_GATEWAY_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "stamp/curve.h"

namespace stampgate {

struct CommandLine {
  enum class Command { kHelp, kVersion, kServe, kCheck, kKeygen, kAuditVerify, kAuditKeygen, kStoreRestored };

  Command command = Command::kHelp;
  std::string topic;               // for kHelp: the words before it, such as "audit verify"
  std::string config;              // for kServe, kCheck and kStoreRestored
  std::string as;                  // for kCheck: a caller's name, or empty
  Curve curve = Curve::kP256;      // for kKeygen
  std::string out;                 // for kKeygen and kAuditKeygen
  std::string key;                 // for kAuditVerify: the key's file
  std::string head;                // for kAuditVerify: a head that the process logged, or empty
  std::string from;                // for kAuditVerify: the head of the archived files, or empty
  std::vector<std::string> files;  // for kAuditVerify: the log, or several of its files
};

// Parses the arguments after the program's name; a flag is `--name value` or `--name=value`. Errors: kInvalidArgument
// with one line that names the argument and the rule.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMAND_LINE_H_
