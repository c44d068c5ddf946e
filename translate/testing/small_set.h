// Makes small sets of operations from proto files that a test writes itself.
#ifndef STAMPGATE_TRANSLATE_TESTING_SMALL_SET_H_
#define STAMPGATE_TRANSLATE_TESTING_SMALL_SET_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate::testing {

// Returns a set of `files`, stampgate/v1/options.proto and descriptor.proto. If the files have a fault, fails the test
// and returns OperationSet::BuiltIn().
OperationSet::Shared SetOfFiles(const std::vector<google::protobuf::FileDescriptorProto>& files);

// Does the same with files in the text format of FileDescriptorProto.
OperationSet::Shared SetOfTexts(const std::vector<std::string>& files);

}  // namespace stampgate::testing

#endif  // STAMPGATE_TRANSLATE_TESTING_SMALL_SET_H_
