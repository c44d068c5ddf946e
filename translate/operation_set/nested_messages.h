// Finds the messages inside other messages.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_NESTED_MESSAGES_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_NESTED_MESSAGES_H_

#include <vector>

#include "google/protobuf/descriptor.h"

namespace stampgate {

// Returns `messages` and all messages inside them, at any depth, each once. Omits the entries of maps.
std::vector<const google::protobuf::Descriptor*> WithNestedMessages(
    std::vector<const google::protobuf::Descriptor*> messages);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_NESTED_MESSAGES_H_
