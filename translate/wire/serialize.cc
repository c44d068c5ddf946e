#include "translate/wire/serialize.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace stampgate {

std::string SerializeDeterministically(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  static_cast<void>(message.SerializeToCodedStream(&output));  // fails only if a required field of proto2 is missing
  output.Trim();
  return bytes;
}

}  // namespace stampgate
