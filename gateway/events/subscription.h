// Handles one call of EventService.Subscribe. Does not depend on gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_
#define STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/access.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/request.h"
#include "gateway/events/stream_call.h"
#include "gateway/feed/page.h"
#include "gateway/feed/source.h"
#include "gateway/memory/held_bytes.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Must be made with std::make_shared, because the call keeps itself alive while a callback can still use it. No
// function blocks. A slow caller occupies the memory of one point and one page.
class Subscription : public StreamCall, public Dismissable, public std::enable_shared_from_this<Subscription> {
 public:
  // `environment` and the objects to which `identity` refers must outlive the call. Each record of the call contains
  // the id of `trace`.
  Subscription(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace, Output& output);

  void Start(const grpc::ByteBuffer& request) override;
  void OnSent(bool ok) override;
  void Cancel() override;
  // Makes the call authorize its caller again at once, by the new policy.
  void Dismiss() override;

 private:
  using Clock = std::chrono::steady_clock;

  void Read(const grpc::ByteBuffer& bytes);
  void Begin(const EventStart& start, EventReader& reader);
  void ReadOn();
  void OnPage(absl::StatusOr<EventPage> page);
  void Reauthorize();
  void Send(const EventPage& page);
  absl::Duration SinceSent() const { return absl::FromChrono(environment_.steady_now() - sent_); }
  bool HasTokenEnded() const { return access_.HasTokenEnded(environment_.now()); }
  // Returns the error with which the call must end now; OK if it may continue.
  absl::Status EndOfTime() const;
  absl::Status ExpiredAtPoint() const;
  void End(const absl::Status& status);

  const EventEnvironment& environment_;
  const CallIdentity identity_;
  Output& output_;
  CallRecord record_;
  EventAccess access_;
  std::shared_ptr<const EventFilter> filter_;
  std::unique_ptr<StreamSlot> slot_;
  EventSource::ReaderId reader_ = 0;
  LogPoint point_;                      // the caller has received every event up to this point that passes `filter_`
  Clock::time_point sent_;              // when the last message was sent
  HeldBytes held_{identity_.holder};    // the filter
  HeldBytes unsent_{identity_.holder};  // the message that is being sent
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> dismissed_ = false;  // whether Dismiss wants an authorization that has not begun
};

// Returns the error for a subscription that CallsInFlight::Begin has refused with `why`. While the gateway drains, the
// error contains the cursor of the request, just as the error that ends a running subscription contains a cursor. So a
// caller continues in the same way after both errors. The error contains nothing else from the request.
absl::Status SubscriptionRefusal(const EventEnvironment& environment, const grpc::ByteBuffer& request,
                                 const absl::Status& why);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_
