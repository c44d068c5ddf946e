// What the program is asked to do.
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
  std::string topic;               // of kHelp: the words before it, such as "audit verify"
  std::string config;              // of kServe, kCheck and kStoreRestored
  std::string as;                  // of kCheck: a caller's name, or empty
  Curve curve = Curve::kP256;      // of kKeygen
  std::string out;                 // of kKeygen and kAuditKeygen
  std::string key;                 // of kAuditVerify: the key's file
  std::string head;                // of kAuditVerify: a head that the process logged, or empty
  std::string from;                // of kAuditVerify: the head of what was put elsewhere, or empty
  std::vector<std::string> files;  // of kAuditVerify: the log, or several files of one
};

// Reads the arguments behind the program's name; a flag is `--name value` or `--name=value`. Errors: kInvalidArgument
// with one line that names the argument and the rule.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMAND_LINE_H_
