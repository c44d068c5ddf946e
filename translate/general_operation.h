// The rules of general operations, in which the caller chooses the path and the activity type: a general operation must
// not be able to do what a typed operation does.
#ifndef STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
#define STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_

#include "translate/operation_table.h"
#include "translate/parsed_message.h"
#include "translate/violations.h"

namespace stampgate {

// Checks `request`, a request of the general operation `operation`. Adds a violation for each of these faults:
//   - the path segment is not [a-z0-9_]{1,64}, or is that of a typed operation
//   - the activity type is not ACTIVITY_TYPE_[A-Z0-9_]{1,80}, or is that of a typed operation in any version
//   - a query has the top-level member organizationId, which the gateway writes, or one that only submits have; since a
//     stamp covers the body but not the path, a stamped body with such a member could also be sent as a submit
//   - a query has a top-level member whose name is not ASCII; upstream's parser might read the name as that of a member
//     that only submits have
void CheckGeneralOperation(const OperationTable& table, const Operation& operation, const ParsedMessage& request,
                           Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
