#include "gateway/calls/request_message.h"

#include <grpcpp/impl/codegen/proto_buffer_reader.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "translate/error.h"

namespace stampgate {

absl::Status InvalidRequest(std::string message) {
  return ToStatus(
      GatewayError(absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST, std::move(message)));
}

namespace {

absl::Status NotA(const google::protobuf::Descriptor* type) {
  return InvalidRequest(absl::StrCat("the request is not a ", type->full_name(), " message"));
}

}  // namespace

absl::StatusOr<ParsedMessage> ParseRequest(const grpc::ByteBuffer& bytes, const MessagePlan& plan, grpc::Slice& joined,
                                           google::protobuf::Arena& arena) {
  if (!bytes.DumpToSingleSlice(&joined).ok()) return NotA(plan.descriptor);
  const absl::string_view text(reinterpret_cast<const char*>(joined.begin()), joined.size());
  const ParsedMessage* request = ParseMessage(plan, text, arena);
  if (request == nullptr) return NotA(plan.descriptor);
  return *request;
}

absl::Status DecodeRequest(const grpc::ByteBuffer& bytes, google::protobuf::Message& request) {
  grpc::ByteBuffer copy = bytes;  // the reader needs a mutable buffer; the copy shares the slices of `bytes`
  grpc::ProtoBufferReader reader(&copy);
  if (request.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  // Any field may have the bytes of another one, such as a secret, which then must not get into the log.
  request.Clear();
  return NotA(request.GetDescriptor());
}

grpc::ByteBuffer EncodeResponse(const google::protobuf::Message& response) {
  grpc::Slice slice(response.ByteSizeLong());
  static_cast<void>(response.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin())));
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer BufferOf(const std::string& response) {
  const grpc::Slice slice(response);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace stampgate
