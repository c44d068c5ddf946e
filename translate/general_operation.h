// The rules of general operations, in which the caller names path and type: they must not be able to replace typed
// ones.
#ifndef STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
#define STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_

#include "google/protobuf/message.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Adds a violation for each of these faults:
//   - a path segment that is not [a-z0-9_]{1,64}, or that a typed operation has
//   - an activity type that is not ACTIVITY_TYPE_[A-Z0-9_]{1,80}, or that a typed operation has in any version
//   - a top-level member of a query that would make it a submit, since the stamp covers the body and not the path
//   - a top-level member of a query whose name is not ASCII, since upstream might read it as one of those
// `operation` must be general.
void CheckGeneralOperation(const OperationTable& table, const Operation& operation,
                           const google::protobuf::Message& request, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
