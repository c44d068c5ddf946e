// The methods of the protos that are linked into the program.
#ifndef STAMPGATE_TRANSLATE_LINKED_METHODS_H_
#define STAMPGATE_TRANSLATE_LINKED_METHODS_H_

#include <vector>

#include "google/protobuf/descriptor.h"

namespace stampgate {

// Those of every service, by the names of their files, each file's in its order.
std::vector<const google::protobuf::MethodDescriptor*> LinkedMethods();

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_LINKED_METHODS_H_
