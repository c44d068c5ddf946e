// Encodes an event of the log as the bytes that callers receive.
#ifndef STAMPGATE_GATEWAY_FEED_ENCODER_H_
#define STAMPGATE_GATEWAY_FEED_ENCODER_H_

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/current.h"
#include "gateway/feed/activity_id.h"
#include "gateway/feed/event_fields.h"
#include "gateway/feed/feed_metrics.h"
#include "google/protobuf/descriptor.h"
#include "translate/message/plan.h"
#include "translate/operation_set/operation_set.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The maximum size of a message with events. It is below 4 MiB, because by default clients reject larger messages.
inline constexpr size_t kMaxEventMessageBytes = 3 << 20;

// An encoded event. Immutable, because all subscribers share it.
struct EncodedEvent {
  Position position = 0;
  ChainDigest digest = {};
  absl::Time commit_time;
  // These members come from the signed body. Filters use them.
  std::string organization_id;
  std::string parent_organization_id;
  std::string type;
  // The id of the activity to which the event belongs, by which shared subscriptions order events. Empty if the event
  // has none, such as an event of a balance: see ActivityIdPlace. Does not depend on what `field` omits.
  std::string activity_id;
  // The event as the field of a response that contains events: tag, length and stampgate.v1.Event. This field is at
  // least kMessageOverheadBytes shorter than kMaxEventMessageBytes, so that one event and a cursor always fit into a
  // message.
  grpc::Slice field;
  // Where `field` contains the raw body. The size is zero if the raw body is omitted or empty.
  size_t body_begin = 0;
  size_t body_size = 0;

  absl::string_view body() const { return {reinterpret_cast<const char*>(field.begin()) + body_begin, body_size}; }
};

inline constexpr size_t kMessageOverheadBytes = 1024;

// Thread-safe.
class EventEncoder {
 public:
  // Makes an encoder of the messages in `pool`. `pool`, `log` and `metrics` must outlive it. Errors:
  // kFailedPrecondition if the protos assign an event type to two fields, or to a field that has no JSON form, and the
  // errors of EventFields::Find and of ActivityIdPlace::Find.
  static absl::StatusOr<std::unique_ptr<EventEncoder>> Create(const google::protobuf::DescriptorPool& pool,
                                                              absl::string_view operator_name, const LogIdentity& log,
                                                              FeedMetrics& metrics);

  // Decodes bodies with the messages of `set` from now on; `set` extends the messages of Create. Errors: those of
  // Create.
  absl::Status Use(OperationSet::Shared set);

  const EventFields& fields() const { return fields_; }
  const LogIdentity& log() const { return log_; }

  // Encodes an event with its raw body and, if the protos have a message for the event's type, with the decoded body.
  // Omits the decoded body if the raw body cannot be decoded. If the event would be too large, omits the decoded body,
  // the raw body or both. The encoded event states what was omitted.
  EncodedEvent Encode(LoggedEvent logged) const;

 private:
  // How the bodies of a type of events are decoded.
  struct BodyPlan {
    int field;
    const MessagePlan* message;
    ActivityIdPlace activity_id;
  };

  // The plans of bodies.
  struct Bodies {
    OperationSet::Shared set;  // null if the pool of Create has the messages
    MessagePlans plans;
    std::map<std::string, BodyPlan, std::less<>> by_type;
  };

  EventEncoder(const EventFields& fields, absl::string_view operator_name, const LogIdentity& log, FeedMetrics& metrics)
      : fields_(fields), log_(log), operator_name_(operator_name), unrecognized_(metrics.unrecognized) {}

  absl::Status Plan(const google::protobuf::DescriptorPool& pool, OperationSet::Shared set);

  // Returns the fields before the body.
  std::string FieldsBeforeBody(const LoggedEvent& logged) const;

  struct Decoded {
    std::string fields;       // of the decoded body, or those that state why it is omitted
    std::string activity_id;  // as in EncodedEvent
  };

  // Decodes the body, if its fields have at most `room` bytes.
  Decoded Decode(const Event& event, size_t room) const;
  std::string Omitted(int reason) const;

  const EventFields fields_;
  const LogIdentity& log_;
  const std::string operator_name_;
  UnrecognizedCounters& unrecognized_;
  Current<const Bodies> bodies_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_ENCODER_H_
