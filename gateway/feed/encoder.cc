#include "gateway/feed/encoder.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"
#include "stampgate/v1/options.pb.h"
#include "translate/message/reader.h"
#include "translate/wire/writer.h"
#include "webhooks/log/cursor.h"
#include "webhooks/verification/delivery_headers.h"
#include "webhooks/verification/signed_body.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kMaxEventBytes = kMaxEventMessageBytes - kMessageOverheadBytes;

// More than the tag and the length of a body have.
constexpr size_t kMaxPrefixBytes = 2 * sizeof(uint64_t);

absl::string_view Bytes(const auto& array) { return {reinterpret_cast<const char*>(array.data()), array.size()}; }

// Both write a field without presence, which is left out if its value is empty or zero.
void WriteText(int field, absl::string_view value, WireWriter& out) {
  if (!value.empty()) out.String(field, value);
}
void WriteNumber(int field, uint64_t value, WireWriter& out) {
  if (value != 0) out.Varint(field, value);
}

// Whether the body is one JSON object. The verifier has read the type and the organization ids from the body, so a body
// that contains one of them is an object. Only a body that contains none of them must be read again.
bool IsObject(const Event& event) {
  return !event.type.empty() || !IdScopeOf(event).empty() || ReadSignedBody(event.body).ok();
}

grpc::Slice Join(std::initializer_list<absl::string_view> pieces) {
  size_t size = 0;
  for (const absl::string_view piece : pieces) size += piece.size();
  grpc::Slice slice(size);
  auto* at = const_cast<uint8_t*>(slice.begin());
  for (const absl::string_view piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
  return slice;
}

std::string PrefixOf(int field, size_t size) {
  WireWriter prefix;
  prefix.Prefix(field, size);
  return prefix.Take();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventEncoder>> EventEncoder::Create(const google::protobuf::DescriptorPool& pool,
                                                                   absl::string_view operator_name,
                                                                   const LogIdentity& log, FeedMetrics& metrics) {
  ABSL_ASSIGN_OR_RETURN(const EventFields fields, EventFields::Find(pool));
  std::unique_ptr<EventEncoder> encoder(new EventEncoder(fields, operator_name, log, metrics));
  ABSL_RETURN_IF_ERROR(encoder->Plan(pool, nullptr));
  return encoder;
}

absl::Status EventEncoder::Use(OperationSet::Shared set) {
  const google::protobuf::DescriptorPool& pool = set->pool();
  return Plan(pool, std::move(set));
}

absl::Status EventEncoder::Plan(const google::protobuf::DescriptorPool& pool, OperationSet::Shared set) {
  const google::protobuf::OneofDescriptor* decoded = pool.FindOneofByName("stampgate.v1.Event.decoded");
  if (decoded == nullptr) return absl::FailedPreconditionError("stampgate.v1.Event has no oneof \"decoded\"");
  auto bodies = std::make_shared<Bodies>(Bodies{std::move(set), MessagePlans(operator_name_), {}});
  for (int i = 0; i < decoded->field_count(); ++i) {
    const FieldDescriptor* field = decoded->field(i);
    if (field->message_type() == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(field->full_name(), " is not a message"));
    }
    ABSL_ASSIGN_OR_RETURN(const MessagePlan* message, bodies->plans.Compile(field->message_type()));
    ABSL_ASSIGN_OR_RETURN(const ActivityIdPlace activity_id, ActivityIdPlace::Find(*message));
    for (const std::string& type : field->options().GetExtension(v1::field).event_types()) {
      if (!bodies->by_type.emplace(type, BodyPlan{field->number(), message, activity_id}).second) {
        return absl::FailedPreconditionError(absl::StrCat("two fields are assigned to events of the type ", type));
      }
    }
  }
  bodies_.Set(std::move(bodies));
  return absl::OkStatus();
}

std::string EventEncoder::Omitted(int reason) const {
  WireWriter out;
  out.Varint(fields_.decoded_omitted, 1);
  out.Varint(fields_.decoded_omitted_reason, static_cast<uint64_t>(reason));
  return out.Take();
}

EventEncoder::Decoded EventEncoder::Decode(const Event& event, size_t room) const {
  const std::shared_ptr<const Bodies> bodies = bodies_.Get();
  const auto found = bodies->by_type.find(event.type);
  if (found == bodies->by_type.end()) {
    if (!event.type.empty()) unrecognized_.Count("events", UnrecognizedKind::kEventType);
    return {IsObject(event) ? std::string() : Omitted(fields_.not_a_json_object), ""};
  }
  const BodyPlan& plan = found->second;
  std::string json;
  json.reserve(event.body.size() + kJsonPadding);
  json = event.body;
  if (room == 0) return {Omitted(fields_.too_large), plan.activity_id.IdInJson(json)};
  WireWriter unrecognized(0, room);
  const absl::StatusOr<std::string> message =
      ReadJsonMessage(json, *plan.message, room, [&](const std::string& pointer, absl::string_view text) {
        const WireWriter::Mark entry = unrecognized.Begin(fields_.unrecognized);
        unrecognized.String(fields_.entry.key, pointer);
        unrecognized.String(fields_.entry.value, text);
        unrecognized.End(entry);
        return absl::OkStatus();
      });
  if (absl::IsOutOfRange(message.status()) || unrecognized.is_too_large()) {
    return {Omitted(fields_.too_large), plan.activity_id.IdInJson(json)};
  }
  // This does not happen, because the verifier has read the type from the body.
  if (!message.ok()) return {Omitted(fields_.not_a_json_object), ""};
  if (unrecognized.size() > 0) unrecognized_.Count("events", UnrecognizedKind::kValue);
  WireWriter out(message->size() + kMaxPrefixBytes + unrecognized.size());
  out.String(plan.field, *message);
  out.Append(unrecognized.Take());
  return {out.size() <= room ? out.Take() : Omitted(fields_.too_large), plan.activity_id.IdIn(*message)};
}

std::string EventEncoder::FieldsBeforeBody(const LoggedEvent& logged) const {
  const Event& event = logged.event;
  WireWriter out(512);
  out.String(fields_.cursor, EncodeCursor(log_, {logged.position, logged.digest}));
  WriteText(fields_.event_id, event.event_id, out);
  const int64_t seconds = absl::ToUnixSeconds(logged.commit_time);
  const int64_t nanos = (logged.commit_time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1);
  const WireWriter::Mark commit_time = out.Begin(fields_.commit_time);
  WriteNumber(fields_.time.seconds, static_cast<uint64_t>(seconds), out);
  WriteNumber(fields_.time.nanos, static_cast<uint64_t>(nanos), out);
  out.End(commit_time);
  WriteText(fields_.type, event.type, out);
  WriteText(fields_.organization_id, event.organization_id, out);
  WriteText(fields_.parent_organization_id, event.parent_organization_id, out);
  const WireWriter::Mark signature = out.Begin(fields_.signature);
  WriteText(fields_.signature_fields.key_id, event.key_id, out);
  WriteNumber(fields_.signature_fields.timestamp_ms, event.timestamp_ms, out);
  out.String(fields_.signature_fields.signature, Bytes(event.signature));
  WriteText(fields_.signature_fields.timestamp, SignedTimestampOf(event.headers, operator_name_, event.timestamp_ms),
            out);
  out.End(signature);
  for (const HeaderField& header : event.headers) {
    const WireWriter::Mark mark = out.Begin(fields_.headers);
    WriteText(fields_.header.name, header.name, out);
    WriteText(fields_.header.value, header.value, out);
    out.End(mark);
  }
  return out.Take();
}

EncodedEvent EventEncoder::Encode(LoggedEvent logged) const {
  Event& event = logged.event;
  const std::string before = FieldsBeforeBody(logged);
  WireWriter after;
  WriteNumber(fields_.body_size_bytes, event.body.size(), after);
  after.String(fields_.body_sha256, Bytes(event.body_sha256));
  const size_t with_body = before.size() + kMaxPrefixBytes + event.body.size() + after.size();
  Decoded decoded = Decode(event, with_body < kMaxEventBytes ? kMaxEventBytes - with_body : 0);
  const bool has_body = with_body + decoded.fields.size() <= kMaxEventBytes;
  const absl::string_view body = has_body ? absl::string_view(event.body) : absl::string_view();
  const std::string body_prefix = body.empty() ? std::string() : PrefixOf(fields_.body, body.size());
  if (!has_body) after.Varint(fields_.body_omitted, 1);
  after.Append(decoded.fields);
  const std::string rest = after.Take();
  const std::string prefix =
      PrefixOf(fields_.response.events, before.size() + body_prefix.size() + body.size() + rest.size());
  EncodedEvent encoded;
  encoded.position = logged.position;
  encoded.digest = logged.digest;
  encoded.commit_time = logged.commit_time;
  encoded.field = Join({prefix, before, body_prefix, body, rest});
  encoded.body_begin = prefix.size() + before.size() + body_prefix.size();
  encoded.body_size = body.size();
  encoded.organization_id = std::move(event.organization_id);
  encoded.parent_organization_id = std::move(event.parent_organization_id);
  encoded.type = std::move(event.type);
  encoded.activity_id = std::move(decoded.activity_id);
  return encoded;
}

}  // namespace stampgate
