// The bytes of protobuf messages that are compared, hashed or signed.
#ifndef STAMPGATE_TRANSLATE_WIRE_SERIALIZE_H_
#define STAMPGATE_TRANSLATE_WIRE_SERIALIZE_H_

#include <google/protobuf/message_lite.h>

#include <string>

namespace stampgate {

// Returns the bytes of `message`, with the entries of maps in a fixed order: equal messages give equal bytes, within
// one version of the program.
std::string SerializeDeterministically(const google::protobuf::MessageLite& message);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_WIRE_SERIALIZE_H_
