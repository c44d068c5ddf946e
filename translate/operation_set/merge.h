// Adds a set of operations to another one, such as upstream's newest operations to those that the program contains.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

struct MergedOperations {
  OperationSet::Shared set;
  // The full names of the elements of both sets whose options differ, except that one may be deprecated. `set` has the
  // options of `base`.
  std::vector<std::string> unused_options;
};

// Returns the operations of `base`, with the files, messages, enums, services, methods, fields and values that only
// `added` has. `added` changes and removes nothing of `base`, wherever its files define it: what `added` lacks stays,
// and what both have stays as in `base`, with its options and comments. What `base` has removed (its number and name
// are reserved) is not added again. So `added` can be older than `base`, newer, or both.
//
// Error: kInvalidArgument, with a message that names the first element of `base` that has another type, number, name or
// cardinality in `added`; or a field that `added` adds to a message of `base` although callers of today do not know it:
// one that is required, or one whose members are written beside those of the other fields. Also the errors of
// OperationSet::Extend.
absl::StatusOr<MergedOperations> MergeOperationSets(const OperationSet::Shared& base,
                                                    const OperationSet::Shared& added);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_
