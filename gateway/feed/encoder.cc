#include "gateway/feed/encoder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "stampgate/v1/options.pb.h"
#include "translate/json/reader.h"
#include "translate/message_reader.h"
#include "webhooks/log/cursor.h"
#include "webhooks/verification/delivery_headers.h"
#include "webhooks/verification/signed_body.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// The number of the field that contains the events, which is the same in every response.
constexpr int kEventsField = 1;

constexpr size_t kMaxEventBytes = kMaxEventMessageBytes - kMessageOverheadBytes;

std::string Bytes(const auto& array) { return std::string(array.begin(), array.end()); }

void SetTimestamp(absl::Time time, google::protobuf::Timestamp& timestamp) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
}

// Whether the body is one JSON object. The verifier has read the type and the organization ids from the body, so a body
// that contains one of them is an object. Only a body that contains none of them must be read again.
bool IsObject(const Event& event) {
  return !event.type.empty() || !IdScopeOf(event).empty() || ReadSignedBody(event.body).ok();
}

void SetOmitted(v1::DecodedOmittedReason reason, v1::Event& message) {
  message.clear_decoded();
  message.clear_unrecognized();
  message.set_decoded_omitted(true);
  message.set_decoded_omitted_reason(reason);
}

// Returns the event encoded as a field. A response contains such fields, one after the other.
grpc::Slice AsField(const v1::Event& event) {
  const auto size = static_cast<uint32_t>(event.ByteSizeLong());
  const uint32_t tag = WireFormatLite::MakeTag(kEventsField, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  grpc::Slice slice(CodedOutputStream::VarintSize32(tag) + CodedOutputStream::VarintSize32(size) + size);
  auto* at = const_cast<uint8_t*>(slice.begin());
  at = CodedOutputStream::WriteVarint32ToArray(tag, at);
  at = CodedOutputStream::WriteVarint32ToArray(size, at);
  static_cast<void>(event.SerializeWithCachedSizesToArray(at));
  return slice;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const EventEncoder>> EventEncoder::Create(absl::string_view operator_name,
                                                                         const LogIdentity& log) {
  std::unique_ptr<EventEncoder> encoder(new EventEncoder(operator_name, log));
  const google::protobuf::OneofDescriptor* decoded = v1::Event::descriptor()->FindOneofByName("decoded");
  for (int i = 0; i < decoded->field_count(); ++i) {
    const FieldDescriptor* field = decoded->field(i);
    absl::StatusOr<const MessagePlan*> plan = encoder->plans_.Compile(field->message_type());
    if (!plan.ok()) return plan.status();
    for (const std::string& type : field->options().GetExtension(v1::field).event_types()) {
      if (!encoder->by_type_.emplace(type, Decoded{field, *plan}).second) {
        return absl::FailedPreconditionError(absl::StrCat("two fields are assigned to events of the type ", type));
      }
    }
  }
  return encoder;
}

void EventEncoder::Decode(const Event& event, v1::Event& message) const {
  const auto decoded = by_type_.find(event.type);
  std::string json;
  json.reserve(event.body.size() + kJsonPadding);
  json = event.body;
  google::protobuf::Message* body = message.GetReflection()->MutableMessage(&message, decoded->second.field);
  const absl::StatusOr<std::string> bytes =
      ReadJsonMessage(json, *decoded->second.plan, [&message](const std::string& pointer, absl::string_view text) {
        message.mutable_unrecognized()->emplace(pointer, std::string(text));
        return absl::OkStatus();
      });
  if (!bytes.ok() || !body->ParseFromString(*bytes)) {
    // This does not happen, because the verifier has read the type from the body, and the reader writes valid messages.
    SetOmitted(v1::DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT, message);
  }
}

EncodedEvent EventEncoder::Encode(LoggedEvent logged) const {
  google::protobuf::Arena arena;
  v1::Event& message = *google::protobuf::Arena::Create<v1::Event>(&arena);
  Event& event = logged.event;
  message.set_cursor(EncodeCursor(log_, {logged.position, logged.digest}));
  message.set_event_id(event.event_id);
  SetTimestamp(logged.commit_time, *message.mutable_commit_time());
  message.set_type(event.type);
  message.set_organization_id(event.organization_id);
  message.set_parent_organization_id(event.parent_organization_id);
  message.mutable_signature()->set_key_id(event.key_id);
  message.mutable_signature()->set_timestamp_ms(event.timestamp_ms);
  message.mutable_signature()->set_signature(Bytes(event.signature));
  message.mutable_signature()->set_timestamp(SignedTimestampOf(event.headers, operator_name_, event.timestamp_ms));
  for (HeaderField& header : event.headers) {
    v1::EventHeader& copy = *message.add_headers();
    copy.set_name(std::move(header.name));
    copy.set_value(std::move(header.value));
  }
  message.set_body_size_bytes(event.body.size());
  message.set_body_sha256(Bytes(event.body_sha256));

  const size_t body_field = event.body.size() + 2 * sizeof(uint64_t);  // leaves enough room for tag and length
  const auto fits = [&] { return message.ByteSizeLong() + body_field <= kMaxEventBytes; };
  if (by_type_.contains(event.type)) {
    if (fits()) Decode(event, message);
    if (!fits()) SetOmitted(v1::DECODED_OMITTED_REASON_TOO_LARGE, message);
  } else if (!IsObject(event)) {
    SetOmitted(v1::DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT, message);
  }
  if (fits()) {
    message.set_body(std::move(event.body));
  } else {
    message.set_body_omitted(true);
  }
  return {
      logged.position,       logged.digest,   std::move(event.organization_id), std::move(event.parent_organization_id),
      std::move(event.type), AsField(message)};
}

}  // namespace stampgate
