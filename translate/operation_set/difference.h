// What a set of operations has that another one does not have.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_DIFFERENCE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_DIFFERENCE_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

struct Difference {
  // A field that accepts more than before.
  struct LooserField {
    const google::protobuf::FieldDescriptor* field = nullptr;
    std::vector<std::string> changes;  // such as "no longer required" and "max_bytes 64, before 32"
  };

  std::vector<const ApiMethod*> operations;                          // in the order of OperationSet::methods
  std::vector<const google::protobuf::FieldDescriptor*> fields;      // of messages that both sets have
  std::vector<const google::protobuf::EnumValueDescriptor*> values;  // of enums that both sets have
  std::vector<LooserField> looser_fields;
};

// Returns what `merged` has that `base` does not have, in the order of the names of messages and enums.
// MergeOperationSets must have made `merged` from `base`. The descriptors and methods are those of `merged`, which must
// outlive the result.
//
// Compares only what calls use. So a local method does not count, and neither does a message that no request and no
// response contains, such as the config, which is in the same folder of protos as the operations.
Difference FindDifference(const OperationSet& base, const OperationSet& merged);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_DIFFERENCE_H_
