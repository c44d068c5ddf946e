// Finds the elements that a set of operations defines otherwise than another one, and what depends on them.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_CONFLICTS_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_CONFLICTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

struct Conflicts {
  using Names = absl::flat_hash_set<std::string>;

  // The full names of the elements of `base` that `added` defines otherwise, and the names of such files. If a field or
  // a value is in it, its message or enum is in it too.
  Names kept;
  // The full names of the elements that only `added` has, and that must not be added. If a new message, enum or service
  // is in it, the elements inside are left out with it.
  Names left_out;
  // A sentence for each element that is kept, and for each operation, field, value and extension that is left out. It
  // names the element and the rule.
  std::vector<std::string> sentences;
};

// Compares what both sets define. An element of `base` that `added` defines otherwise stays as it is. The rest of
// `added` was written for the other definition, so these elements of it are left out:
//
// - the new fields and values of a message or enum with such an element;
// - a new operation whose request contains such a message or enum, at any depth;
// - a new field of a request, if its type is or contains such a message or enum;
// - another new operation, field, extension or message that has such a message or enum as its type, or as the type of a
//   new message inside it. A message that both sets have in the same form is no cause, whatever it contains: in a
//   response, `unrecognized` keeps what the definition of `base` cannot hold. Otherwise the intents and results in
//   Activity would connect all submits with each other;
// - the messages, enums and services that only left-out elements need.
//
// The rules of a field are no part of its definition, but its JSON is: what needs a message or enum with another JSON
// form is left out too, without a sentence about the field or value.
//
// Of a message that both have, a new field is also left out if it is required, or if its members would stand beside
// those of other fields: callers of today do not know it. Other new fields of this message are added. But operations
// that need the message are left out, because their requests would lack the field.
//
// What `base` has removed, so that its number and name are reserved, is left out without a sentence.
//
// Also leaves out the methods `refused`, each for the reason in it: see OtherNames.
Conflicts FindConflicts(const OperationSet& base, const OperationSet& added,
                        const absl::flat_hash_map<std::string, std::string>& refused);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_CONFLICTS_H_
