// The rules of general operations, in which the caller chooses the path and the activity type: a general operation must
// not be able to do more than a typed operation with the same path.
#ifndef STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
#define STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_

#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Returns the typed operation with the path `operation.path` + `segment` and, for a submit, with the activity type
// `activity_type`. Returns null if there is none, or if GeneralService does not carry it. `operation` is a general one.
//
// GeneralService carries an operation that had no method of its own in an earlier release (it has the option `since`),
// so that callers have time to change to the method. The request must then also satisfy the rules of that method.
const Operation* FindCarried(const OperationTable& table, const Operation& operation, absl::string_view segment,
                             absl::string_view activity_type);

// Returns FindCarried for the path and the activity type of `request`, a request of `operation`.
const Operation* FindCarried(const OperationTable& table, const Operation& operation, const ParsedMessage& request);

// Checks `request`, a request of the general operation `operation`, for which FindCarried has returned `carried`. Adds
// a violation for each of these faults:
//   - the path segment is not [a-z0-9_]{1,64}, or is that of a typed operation which is not `carried`
//   - the activity type is not ACTIVITY_TYPE_[A-Z0-9_]{1,80}, or is that of a typed operation in any version which is
//     not `carried`
//   - a query has the top-level member organizationId, which the gateway writes, or one that only submits have; since a
//     stamp covers the body but not the path, a stamped body with such a member could also be sent as a submit
//   - a query has a top-level member whose name is not ASCII; upstream's parser might read the name as that of a member
//     that only submits have
void CheckGeneralOperation(const OperationTable& table, const Operation& operation, const ParsedMessage& request,
                           const Operation* carried, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_GENERAL_OPERATION_H_
