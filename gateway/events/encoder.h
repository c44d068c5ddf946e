// An event of the log as the bytes that callers get.
#ifndef STAMPGATE_GATEWAY_EVENTS_ENCODER_H_
#define STAMPGATE_GATEWAY_EVENTS_ENCODER_H_

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

// No message of a stream is larger: clients refuse those over 4 MiB by default.
inline constexpr size_t kMaxEventMessageBytes = 3 << 20;

// Immutable, so that one serves all subscribers.
struct EncodedEvent {
  Position position = 0;
  ChainDigest digest = {};
  // Of the signed body, for filters.
  std::string organization_id;
  std::string parent_organization_id;
  std::string type;
  // The event as field 1 of a response: tag, length and v1::Event. Shorter than kMaxEventMessageBytes by at least
  // kMessageOverheadBytes, so that one event and a cursor always fit.
  grpc::Slice field;
};

inline constexpr size_t kMessageOverheadBytes = 1024;

// Thread-safe.
class EventEncoder {
 public:
  // `log` outlives the encoder. Errors: kFailedPrecondition for protos that say no usable thing about event types.
  static absl::StatusOr<std::unique_ptr<const EventEncoder>> Create(absl::string_view operator_name,
                                                                    const LogIdentity& log);

  // With the decoded body where its type is known, and without what would not fit or cannot be read.
  EncodedEvent Encode(LoggedEvent logged) const;

 private:
  struct Decoded {
    const google::protobuf::FieldDescriptor* field;
    const MessagePlan* plan;
  };

  EventEncoder(absl::string_view operator_name, const LogIdentity& log)
      : operator_name_(operator_name), plans_(operator_name), log_(log) {}

  // Sets the body's message. This API knows the event's type.
  void Decode(const Event& event, v1::Event& message) const;

  const std::string operator_name_;
  MessagePlans plans_;
  const LogIdentity& log_;
  std::map<std::string, Decoded, std::less<>> by_type_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ENCODER_H_
