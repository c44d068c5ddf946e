// Decodes a caller's message from the bytes that gRPC received, and encodes the response.
#ifndef STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_
#define STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace stampgate {

// INVALID_ARGUMENT with ErrorInfo INVALID_REQUEST.
absl::Status InvalidRequest(std::string message);

// Fills `request`. Errors: InvalidRequest if there are more than `max_bytes` bytes, or they are not such a message.
absl::Status DecodeRequest(const grpc::ByteBuffer& bytes, size_t max_bytes, google::protobuf::Message& request);

// The bytes of a response.
grpc::ByteBuffer EncodeResponse(const google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_
