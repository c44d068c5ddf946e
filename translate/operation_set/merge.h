// Adds a set of operations to another one, such as upstream's newest operations to those that the program contains.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns OK if `newer` extends `older`: if it has each message, enum, service and method of `older`, with the same
// fields, values, types and options, wherever its files define them. It can have more of them. A field or value that
// `newer` has removed is no fault if its number and name are reserved. A field that `newer` has added to a message of
// `older` must not be required, because the callers of today do not set it.
//
// Error: kInvalidArgument, with a message that names the first element that differs.
absl::Status CheckExtends(const OperationSet& newer, const OperationSet& older);

// Returns the operations of both sets. A file that both have must be an extension in one of the two sets, and the same
// set for all files: then this set's files are used. So `added` can redefine nothing of `base`, and a set that is older
// than `base` adds nothing. Errors: those of CheckExtends and of OperationSet::Union.
absl::StatusOr<OperationSet::Shared> MergeOperationSets(const OperationSet::Shared& base,
                                                        const OperationSet::Shared& added);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_
