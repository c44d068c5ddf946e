// Handles one call of EventService.ReadEventBody. Does not depend on gRPC's server.
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
#include "gateway/calls/stream_slots.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/access.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/stream_call.h"
#include "gateway/memory/held_bytes.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Must be made with std::make_shared, because the call keeps itself alive while a callback can still use it. No
// function blocks. For each piece of the body, the call reads the event again. So a slow caller occupies the memory of
// only one piece, and a caller that may no longer see the event gets no further piece.
class EventBodyRead : public StreamCall, public std::enable_shared_from_this<EventBodyRead> {
 public:
  static constexpr size_t kPieceBytes = 1 << 20;

  // `environment` and the objects to which `identity` refers must outlive the call. Each record of the call contains
  // the id of `trace`.
  EventBodyRead(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace, Output& output);

  void Start(const grpc::ByteBuffer& request) override;
  void OnSent(bool ok) override;
  // Does nothing, because the read of one event does not wait, and because the Send after the read fails anyway.
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
  HeldBytes unsent_{identity_.holder};  // the message that is being sent
  uint64_t offset_ = 0;                 // the offset at which the next piece begins
  bool whole_ = false;                  // whether the piece that is being sent is the last
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_BODY_READ_H_
