#include "gateway/feed/event_fields.h"

#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "translate/wire/field_numbers.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

std::string Named(const char* message, const char* field) { return absl::StrCat("stampgate.v1.", message, ".", field); }

EventFields::Response FindResponse(FieldNumbers& numbers) {
  EventFields::Response response;
  response.events = numbers.List(Named("SubscribeResponse", "events"), FieldDescriptor::TYPE_MESSAGE);
  response.cursor = numbers.One(Named("SubscribeResponse", "cursor"), FieldDescriptor::TYPE_STRING);
  response.at_end = numbers.One(Named("ListEventsResponse", "at_end"), FieldDescriptor::TYPE_BOOL);
  return response;
}

// Checks that the messages with events have their common content in the same fields, because an encoded event is used
// in each of them.
absl::Status CheckAlike(const EventFields::Response& response, FieldNumbers& numbers) {
  const int listed = numbers.List(Named("ListEventsResponse", "events"), FieldDescriptor::TYPE_MESSAGE);
  const int cursor = numbers.One(Named("ListEventsResponse", "cursor"), FieldDescriptor::TYPE_STRING);
  const int found = numbers.One(Named("GetEventResponse", "event"), FieldDescriptor::TYPE_MESSAGE);
  const int delivered = numbers.One(Named("Delivery", "event"), FieldDescriptor::TYPE_MESSAGE);
  const int parked = numbers.One(Named("ParkedEvent", "event"), FieldDescriptor::TYPE_MESSAGE);
  if (!numbers.status().ok()) return numbers.status();
  const auto is_events = [&response](int field) { return field == response.events; };
  if (absl::c_all_of(std::array{listed, found, delivered, parked}, is_events) && cursor == response.cursor) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("the messages with events do not have them in the same fields");
}

}  // namespace

absl::StatusOr<EventFields> EventFields::Find(const google::protobuf::DescriptorPool& pool) {
  FieldNumbers numbers(pool);
  EventFields fields;
  fields.response = FindResponse(numbers);
  ABSL_RETURN_IF_ERROR(CheckAlike(fields.response, numbers));
  fields.time.seconds = numbers.One("google.protobuf.Timestamp.seconds", FieldDescriptor::TYPE_INT64);
  fields.time.nanos = numbers.One("google.protobuf.Timestamp.nanos", FieldDescriptor::TYPE_INT32);
  fields.signature_fields.key_id = numbers.One(Named("EventSignature", "key_id"), FieldDescriptor::TYPE_STRING);
  fields.signature_fields.timestamp_ms =
      numbers.One(Named("EventSignature", "timestamp_ms"), FieldDescriptor::TYPE_UINT64);
  fields.signature_fields.signature = numbers.One(Named("EventSignature", "signature"), FieldDescriptor::TYPE_BYTES);
  fields.signature_fields.timestamp = numbers.One(Named("EventSignature", "timestamp"), FieldDescriptor::TYPE_STRING);
  fields.header.name = numbers.One(Named("EventHeader", "name"), FieldDescriptor::TYPE_STRING);
  fields.header.value = numbers.One(Named("EventHeader", "value"), FieldDescriptor::TYPE_STRING);
  fields.entry.key = numbers.One(Named("Event", "UnrecognizedEntry.key"), FieldDescriptor::TYPE_STRING);
  fields.entry.value = numbers.One(Named("Event", "UnrecognizedEntry.value"), FieldDescriptor::TYPE_STRING);

  fields.cursor = numbers.One(Named("Event", "cursor"), FieldDescriptor::TYPE_STRING);
  fields.event_id = numbers.One(Named("Event", "event_id"), FieldDescriptor::TYPE_STRING);
  fields.commit_time = numbers.One(Named("Event", "commit_time"), FieldDescriptor::TYPE_MESSAGE);
  fields.type = numbers.One(Named("Event", "type"), FieldDescriptor::TYPE_STRING);
  fields.organization_id = numbers.One(Named("Event", "organization_id"), FieldDescriptor::TYPE_STRING);
  fields.parent_organization_id = numbers.One(Named("Event", "parent_organization_id"), FieldDescriptor::TYPE_STRING);
  fields.signature = numbers.One(Named("Event", "signature"), FieldDescriptor::TYPE_MESSAGE);
  fields.headers = numbers.List(Named("Event", "headers"), FieldDescriptor::TYPE_MESSAGE);
  fields.body = numbers.One(Named("Event", "body"), FieldDescriptor::TYPE_BYTES);
  fields.body_size_bytes = numbers.One(Named("Event", "body_size_bytes"), FieldDescriptor::TYPE_UINT64);
  fields.body_sha256 = numbers.One(Named("Event", "body_sha256"), FieldDescriptor::TYPE_BYTES);
  fields.body_omitted = numbers.One(Named("Event", "body_omitted"), FieldDescriptor::TYPE_BOOL);
  fields.decoded_omitted = numbers.One(Named("Event", "decoded_omitted"), FieldDescriptor::TYPE_BOOL);
  fields.decoded_omitted_reason = numbers.One(Named("Event", "decoded_omitted_reason"), FieldDescriptor::TYPE_ENUM);
  fields.unrecognized = numbers.List(Named("Event", "unrecognized"), FieldDescriptor::TYPE_MESSAGE);

  fields.too_large = numbers.EnumValue("stampgate.v1.DECODED_OMITTED_REASON_TOO_LARGE");
  fields.not_a_json_object = numbers.EnumValue("stampgate.v1.DECODED_OMITTED_REASON_NOT_A_JSON_OBJECT");
  if (!numbers.status().ok()) return numbers.status();
  return fields;
}

}  // namespace stampgate
