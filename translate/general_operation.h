// The rules of general operations, in which the caller names path and type: they must not be a way round the typed
// ones.
#ifndef STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
#define STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_

#include "google/protobuf/message.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Adds a violation for each of these: a path segment that is not [a-z0-9_]{1,64} or that a typed operation has; an
// activity type that is not ACTIVITY_TYPE_[A-Z0-9_]{1,80} or that, versions aside, a typed operation has; members of a
// query that would make it a submit, or whose name is not ASCII and may so stand for one of these, since the stamp
// covers the body and not the path. `operation` is general.
void CheckGeneralOperation(const OperationTable& table, const Operation& operation,
                           const google::protobuf::Message& request, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
