// Finds the methods of a set of operations that are other names of methods of another set: an operation in a file of
// the operator that a later release has too, but in another service or with another name.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_OTHER_NAMES_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_OTHER_NAMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

struct OtherNames {
  // The full names of new methods of `added`, each with the full name of the method of `base` that it is.
  absl::flat_hash_map<std::string, std::string> methods;
  // The full names of those new methods of `added` that have the path or the activity type of a method of `base`, but
  // are neither another name of it nor a version of its activity type with the same rules; each with the reason.
  absl::flat_hash_map<std::string, std::string> refused;
};

// A method is another name of a method of `base` if it calls the same operation, and if the same bytes are the same
// request and the same response: each of its fields has the number, the type and the JSON name of a field of the other
// message, and so on at any depth, each value the number and the JSON name of a value of the other enum, and no
// required field of the request is missing. The names of messages, fields and values can differ. So the gateway carries
// out a call of it as a call of the method of `base`, whatever rules `added` states.
OtherNames FindOtherNames(const OperationSet& base, const OperationSet& added);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_OTHER_NAMES_H_
