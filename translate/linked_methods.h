// Lists the methods of the protos that are linked into the program.
#ifndef STAMPGATE_TRANSLATE_LINKED_METHODS_H_
#define STAMPGATE_TRANSLATE_LINKED_METHODS_H_

#include <vector>

#include "google/protobuf/descriptor.h"

namespace stampgate {

// The methods of every service, ordered by the names of their files; within a file, in its order.
std::vector<const google::protobuf::MethodDescriptor*> LinkedMethods();

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_LINKED_METHODS_H_
