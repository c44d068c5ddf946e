// The commands of `stampgate operations`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_OPERATION_COMMANDS_H_
#define STAMPGATE_GATEWAY_COMMANDS_OPERATION_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stampgate {

// What a command about operations found: lines for the operator, and the exit status.
struct OperationsReport {
  std::string text;
  int exit_status = 0;
};

// The functions below merge each of `files` over the operations of the program and of the files before it, as the
// setting `operations` does. Errors: those of ReadPublicFile, MergeOperationSets and OperationTable::Create, with the
// name of the file.

// Lists all operations, one in a line.
absl::StatusOr<OperationsReport> ListOperations(const std::vector<std::string>& files);

// States what each file adds and changes, and what of it does not take effect. The exit status is 1 if a file adds or
// changes anything (see Difference), otherwise 0.
absl::StatusOr<OperationsReport> CompareOperations(const std::vector<std::string>& files);

// States what somebody must decide before a gateway uses the files: the rights and guards of each new operation, and
// the new fields without a guard. The exit status is 1 if there is anything, otherwise 0.
absl::StatusOr<OperationsReport> ReviewOperations(const std::vector<std::string>& files);

// Prints the text, and returns the exit status. Prints the error, and returns kExitUsage, which is the status for
// trouble, as that of diff(1).
int PrintReport(const absl::StatusOr<OperationsReport>& report);

// Writes the operations of the program to standard output as a serialized FileDescriptorSet, and returns the exit
// status. Refuses to write to a terminal.
int ExportOperations();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_OPERATION_COMMANDS_H_
