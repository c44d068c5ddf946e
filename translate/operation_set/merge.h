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
  // The full names of the elements of both sets whose options differ from those in force, except that one may be
  // deprecated.
  std::vector<std::string> unused_options;
  // What of `added` does not take effect, because it is not what `base` has: Conflicts::sentences.
  std::vector<std::string> conflicts;
};

// Returns the operations of `base`, with the files, messages, enums, services, methods, fields and values that only
// `added` has, without those that FindConflicts leaves out. `added` changes and removes nothing of `base`, wherever its
// files define it: what `added` lacks stays, and what both have stays as in `base`, with its options and comments. What
// `base` has removed (its number and name are reserved) is not added again. So `added` can be older than `base`, newer,
// or both. A method of `added` for an operation of `base` is another name of its method, with the same rules: see
// OtherNames. Of a later release (see IsLaterRelease), the rules of fields that accept more take effect: see
// LooserRule.
//
// Errors: those of OperationSet::Extend.
absl::StatusOr<MergedOperations> MergeOperationSets(const OperationSet::Shared& base,
                                                    const OperationSet::Shared& added);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_MERGE_H_
