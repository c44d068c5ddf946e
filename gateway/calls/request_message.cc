#include "gateway/calls/request_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
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

using google::protobuf::internal::WireFormatLite;

constexpr int kMaxFields = 1000;

// Returns true if the message in `bytes` has more than kMaxFields fields, with those in groups and without those in the
// messages inside it.
bool HasManyFields(const grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer copy = bytes;  // as in DecodeRequest
  grpc::ProtoBufferReader reader(&copy);
  google::protobuf::io::CodedInputStream input(&reader);
  for (int count = 0; const uint32_t tag = input.ReadTag(); ++count) {
    if (count == kMaxFields) return true;
    const WireFormatLite::WireType type = WireFormatLite::GetTagWireType(tag);
    const bool is_bracket = type == WireFormatLite::WIRETYPE_START_GROUP || type == WireFormatLite::WIRETYPE_END_GROUP;
    if (!is_bracket && !WireFormatLite::SkipField(&input, tag)) return false;
  }
  return false;
}

absl::Status NotA(const google::protobuf::Descriptor* type) {
  return InvalidRequest(absl::StrCat("the request is not a ", type->full_name(), " message"));
}

}  // namespace

absl::StatusOr<ParsedMessage> ParseRequest(const grpc::ByteBuffer& bytes, const MessagePlan& plan, grpc::Slice& joined,
                                           RequestMemory& memory) {
  if (!bytes.DumpToSingleSlice(&joined).ok()) return NotA(plan.descriptor);
  const absl::string_view text(reinterpret_cast<const char*>(joined.begin()), joined.size());
  memory.Receive(text.size());
  const absl::StatusOr<const ParsedMessage*> request = ParseMessage(plan, text, memory);
  if (!request.ok()) return InvalidRequest(absl::StrCat("the request ", request.status().message()));
  return **request;
}

absl::Status DecodeRequest(const grpc::ByteBuffer& bytes, google::protobuf::Message& request) {
  if (HasManyFields(bytes)) {
    return InvalidRequest(absl::StrCat("the request has more than ", kMaxFields, " fields"));
  }
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
