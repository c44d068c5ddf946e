#include "gateway/events/messages.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

StartFields FindStart(const std::string& message, FieldFinder& finder, FieldNumbers& numbers) {
  StartFields fields;
  fields.plan = finder.Plan(message);
  fields.start = PlaceFields::Find(fields.plan, finder, numbers);
  fields.filter = finder.Optional(fields.plan, "filter", JsonForm::kMessage);
  const MessagePlan* filter = fields.filter == nullptr ? nullptr : fields.filter->message;
  fields.organization_ids = finder.List(filter, "organization_ids", JsonForm::kString);
  fields.types = finder.List(filter, "types", JsonForm::kString);
  return fields;
}

NameFields FindName(const std::string& message, FieldFinder& finder) {
  NameFields fields;
  fields.plan = finder.Plan(message);
  fields.event_id = finder.One(fields.plan, "event_id", JsonForm::kString);
  fields.organization_id = finder.Optional(fields.plan, "organization_id", JsonForm::kString);
  return fields;
}

}  // namespace

PlaceFields PlaceFields::Find(const MessagePlan* plan, FieldFinder& finder, FieldNumbers& numbers) {
  PlaceFields fields;
  fields.cursor = finder.Optional(plan, "cursor", JsonForm::kString);
  fields.time = finder.Optional(plan, "time", JsonForm::kTimestamp);
  fields.end = finder.Optional(plan, "end", JsonForm::kEnum);
  fields.latest = static_cast<uint64_t>(numbers.EnumValue("stampgate.v1.LOG_END_LATEST"));
  if (!finder.status().ok()) return fields;
  const google::protobuf::OneofDescriptor* place = fields.cursor->field->containing_oneof();
  if (fields.time->field->containing_oneof() != place || fields.end->field->containing_oneof() != place) {
    finder.Fail(absl::FailedPreconditionError(
        absl::StrCat("cursor, time and end of ", plan->descriptor->full_name(), " are not one oneof")));
  }
  return fields;
}

absl::StatusOr<std::unique_ptr<const EventMessages>> EventMessages::Create(const DescriptorPool& pool,
                                                                           absl::string_view operator_name) {
  std::unique_ptr<EventMessages> found(new EventMessages(operator_name));
  EventMessages& messages = *found;
  FieldFinder finder(pool, messages.plans_);
  FieldNumbers numbers(pool);
  messages.subscribe_ = FindStart("SubscribeRequest", finder, numbers);
  messages.list_events_ = FindStart("ListEventsRequest", finder, numbers);
  messages.page_size_ = finder.Optional(messages.list_events_.plan, "page_size", JsonForm::kUint32);
  messages.get_event_ = FindName("GetEventRequest", finder);
  messages.read_event_body_ = FindName("ReadEventBodyRequest", finder);
  messages.offset_bytes_ = finder.One(messages.read_event_body_.plan, "offset_bytes", JsonForm::kUint64);
  messages.chunk_ = numbers.One("stampgate.v1.ReadEventBodyResponse.chunk", FieldDescriptor::TYPE_BYTES);
  if (!finder.status().ok()) return finder.status();
  if (!numbers.status().ok()) return numbers.status();
  return std::unique_ptr<const EventMessages>(std::move(found));
}

}  // namespace stampgate
