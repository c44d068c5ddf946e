// The messages of the event service: the plans of its requests with their fields, and the fields of its responses.
#ifndef STAMPGATE_GATEWAY_EVENTS_MESSAGES_H_
#define STAMPGATE_GATEWAY_EVENTS_MESSAGES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/events/field_finder.h"
#include "google/protobuf/descriptor.h"
#include "translate/message/plan.h"
#include "translate/wire/field_numbers.h"

namespace stampgate {

// Each field has the name that it has in the proto.

// A request that names a place in the log. At most one of the fields is set, because they are a oneof.
struct PlaceFields {
  // Finds the fields of `plan`. An error is then in `finder` or `numbers`.
  static PlaceFields Find(const MessagePlan* plan, FieldFinder& finder, FieldNumbers& numbers);

  const FieldPlan* cursor = nullptr;
  const FieldPlan* time = nullptr;
  const FieldPlan* end = nullptr;
  uint64_t latest = 0;  // the number of LOG_END_LATEST
};

// The request of Subscribe or ListEvents.
struct StartFields {
  const MessagePlan* plan = nullptr;
  PlaceFields start;
  const FieldPlan* filter = nullptr;
  // Of EventFilter.
  const FieldPlan* organization_ids = nullptr;
  const FieldPlan* types = nullptr;
};

// The request of GetEvent or ReadEventBody.
struct NameFields {
  const MessagePlan* plan = nullptr;
  const FieldPlan* event_id = nullptr;
  const FieldPlan* organization_id = nullptr;
};

// Immutable, so threads may share it.
class EventMessages {
 public:
  // Finds the messages in `pool`, which must outlive this. `operator_name` is upstream's name from the config. Errors:
  // kFailedPrecondition if a field is missing or has another form, or if a message has no plan.
  static absl::StatusOr<std::unique_ptr<const EventMessages>> Create(const google::protobuf::DescriptorPool& pool,
                                                                     absl::string_view operator_name);

  const StartFields& subscribe() const { return subscribe_; }
  const StartFields& list_events() const { return list_events_; }
  const FieldPlan& page_size() const { return *page_size_; }  // of ListEventsRequest
  const NameFields& get_event() const { return get_event_; }
  const NameFields& read_event_body() const { return read_event_body_; }
  const FieldPlan& offset_bytes() const { return *offset_bytes_; }  // of ReadEventBodyRequest
  int chunk() const { return chunk_; }                              // the number of the field of ReadEventBodyResponse

 private:
  explicit EventMessages(absl::string_view operator_name) : plans_(operator_name) {}

  MessagePlans plans_;
  StartFields subscribe_;
  StartFields list_events_;
  const FieldPlan* page_size_ = nullptr;
  NameFields get_event_;
  NameFields read_event_body_;
  const FieldPlan* offset_bytes_ = nullptr;
  int chunk_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_MESSAGES_H_
