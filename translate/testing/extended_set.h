// Extends the operations that the program contains by those of a proto that a test links.
#ifndef STAMPGATE_TRANSLATE_TESTING_EXTENDED_SET_H_
#define STAMPGATE_TRANSLATE_TESTING_EXTENDED_SET_H_

#include "google/protobuf/descriptor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {

// Returns a set of the files of OperationSet::BuiltIn(), of `file`, and of the files that `file` imports. Ends the test
// program if these files have a fault.
OperationSet::Shared SetWith(const google::protobuf::FileDescriptor& file);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_EXTENDED_SET_H_
