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
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/events.pb.h"
#include "translate/message_plan.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The maximum size of a message with events. It is below 4 MiB, because by default clients reject larger messages.
inline constexpr size_t kMaxEventMessageBytes = 3 << 20;

// An encoded event. Immutable, because all subscribers share it.
struct EncodedEvent {
  Position position = 0;
  ChainDigest digest = {};
  // These members come from the signed body. Filters use them.
  std::string organization_id;
  std::string parent_organization_id;
  std::string type;
  // The event as field 1 of a response: tag, length and v1::Event. This field is at least kMessageOverheadBytes shorter
  // than kMaxEventMessageBytes, so that one event and a cursor always fit into a message.
  grpc::Slice field;
};

inline constexpr size_t kMessageOverheadBytes = 1024;

// Thread-safe.
class EventEncoder {
 public:
  // Makes an encoder. `log` must outlive it. Errors: kFailedPrecondition if the protos assign an event type to two
  // fields, or to a field that has no JSON form.
  static absl::StatusOr<std::unique_ptr<const EventEncoder>> Create(absl::string_view operator_name,
                                                                    const LogIdentity& log);

  // Encodes an event with its raw body and, if the protos have a message for the event's type, with the decoded body.
  // Omits the decoded body if the raw body cannot be decoded. If the event would be too large, omits the decoded body,
  // the raw body or both. The encoded event states what was omitted.
  EncodedEvent Encode(LoggedEvent logged) const;

 private:
  struct Decoded {
    const google::protobuf::FieldDescriptor* field;
    const MessagePlan* plan;
  };

  EventEncoder(absl::string_view operator_name, const LogIdentity& log)
      : operator_name_(operator_name), plans_(operator_name), log_(log) {}

  // Sets the decoded body in `message`. Requires that by_type_ contains the event's type.
  void Decode(const Event& event, v1::Event& message) const;

  const std::string operator_name_;
  MessagePlans plans_;
  const LogIdentity& log_;
  std::map<std::string, Decoded, std::less<>> by_type_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_ENCODER_H_
