// Sets of operations that differ from the set in the program.
#ifndef STAMPGATE_TRANSLATE_TESTING_CHANGED_OPERATIONS_H_
#define STAMPGATE_TRANSLATE_TESTING_CHANGED_OPERATIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {

// The changes of a set: for the short name of a method, such as "PolicyService/GetPolicy", the values that its option
// `operation` additionally has, in protobuf text format.
using RuleChanges = std::map<std::string, std::string>;

// Makes a set from the files of OperationSet::BuiltIn() with `changes`. Only the changes state since, internal and
// moves_unread_amount, so a test of these values does not depend on the protos. Errors: those of OperationSet::Create.
// Fails the test if a value cannot be parsed, or if the set has no method of a name.
absl::StatusOr<OperationSet::Shared> CreateChanged(const RuleChanges& changes);

// Does the same, but ends the test program if the set has a fault.
OperationSet::Shared ChangedOperations(const RuleChanges& changes);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_CHANGED_OPERATIONS_H_
