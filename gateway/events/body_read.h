// One call of EventService.ReadEventBody, without gRPC.
#ifndef STAMPGATE_GATEWAY_EVENTS_BODY_READ_H_
#define STAMPGATE_GATEWAY_EVENTS_BODY_READ_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_record.h"
#include "gateway/events/access.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/stream_call.h"
#include "gateway/events/stream_slots.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Made by std::make_shared: the call keeps itself alive while a callback may need it. No call blocks. The event is read
// again for each piece of its body, so a slow caller costs one piece; and no piece is read for a caller that may not
// see the event any more.
class EventBodyRead : public StreamCall, public std::enable_shared_from_this<EventBodyRead> {
 public:
  static constexpr size_t kPieceBytes = 1 << 20;

  // `environment` and what `identity` refers to must outlive the call. `request_id` is in each record of the call.
  EventBodyRead(const EventEnvironment& environment, CallIdentity identity, absl::string_view request_id,
                Output& output);

  void Start(const grpc::ByteBuffer& request) override;
  void OnSent(bool ok) override;
  // Does nothing: a read of one event does not wait, and the Send that follows it fails.
  void Cancel() override {}

 private:
  void Begin(const grpc::ByteBuffer& bytes);
  void ReadOn();
  void OnEvent(absl::StatusOr<std::optional<LoggedEvent>> found, EventReader& reader);
  void Reauthorize();
  absl::Status ExpiredAtOffset() const;
  void End(const absl::Status& status);

  const EventEnvironment& environment_;
  const CallIdentity identity_;
  Output& output_;
  CallRecord record_;
  EventAccess access_;
  EventName name_;
  std::unique_ptr<StreamSlot> slot_;
  uint64_t offset_ = 0;  // of the next piece
  bool whole_ = false;   // the piece that is being sent is the last
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_BODY_READ_H_
