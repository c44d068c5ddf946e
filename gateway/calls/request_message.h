// Decodes a caller's message from the bytes that gRPC received, and encodes the response.
#ifndef STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_
#define STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "translate/message/parsed_message.h"
#include "translate/message/plan.h"
#include "translate/message/request_memory.h"

namespace stampgate {

// Returns INVALID_ARGUMENT (INVALID_REQUEST) with `message`.
absl::Status InvalidRequest(std::string message);

// Parses `bytes` by `plan`. The result refers to `plan`, to `joined`, which then holds the bytes, and to `memory`,
// which counts the bytes. Returns InvalidRequest if `bytes` is not a message of `plan`, or needs more memory than
// MostBytesHeld allows. gRPC has already checked the length of `bytes`.
absl::StatusOr<ParsedMessage> ParseRequest(const grpc::ByteBuffer& bytes, const MessagePlan& plan, grpc::Slice& joined,
                                           RequestMemory& memory);

// Parses `bytes` into `request`. Returns InvalidRequest if `bytes` is not a message of the type of `request`, which is
// empty then, or has more than 1,000 fields: Protocol Buffers stores each unknown one.
absl::Status DecodeRequest(const grpc::ByteBuffer& bytes, google::protobuf::Message& request);

// Returns the serialized response.
grpc::ByteBuffer EncodeResponse(const google::protobuf::Message& response);

// Returns `response`, a serialized message, in gRPC's form.
grpc::ByteBuffer BufferOf(const std::string& response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_REQUEST_MESSAGE_H_
