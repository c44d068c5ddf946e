// Handles one call of SubscriptionService.Consume. Does not depend on gRPC's server.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_CONSUME_CALL_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_CONSUME_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/access.h"
#include "gateway/events/identity.h"
#include "gateway/events/stream_call.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/subscriptions/calls/environment.h"
#include "gateway/subscriptions/served_subscription.h"
#include "gateway/subscriptions/subscription_set.h"

namespace stampgate {

// Must be made with std::make_shared, because the call keeps itself alive while a callback can still use it. No
// function blocks. A slow caller occupies the memory of one batch.
class ConsumeCall : public StreamCall, public Dismissable, public std::enable_shared_from_this<ConsumeCall> {
 public:
  // `environment` and the objects to which `identity` refers must outlive the call. Each record of the call contains
  // the id of `trace`.
  ConsumeCall(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
              Output& output);

  void Start(const grpc::ByteBuffer& request) override;
  void OnSent(bool ok) override;
  void Cancel() override;
  // Makes the call authorize its caller again at once, by the new policy.
  void Dismiss() override;

 private:
  using Clock = std::chrono::steady_clock;
  using Batch = ServedSubscription::Batch;

  // What a request asks for.
  struct Request {
    size_t max_unsettled = 0;
    std::vector<DeliveryId> held;
  };

  absl::StatusOr<Request> Read(const grpc::ByteBuffer& bytes);
  void Begin(const Request& request);
  void Wait();
  void CancelWait();
  void OnBatch(absl::StatusOr<Batch> batch);
  void Reauthorize();
  void Deliver();
  void Send(const grpc::ByteBuffer& message);
  absl::Duration SinceSent() const { return absl::FromChrono(environment_.events.steady_now() - sent_); }
  bool HasTokenEnded() const { return access_.HasTokenEnded(environment_.events.now()); }
  void EndAsLeft();
  void End(const absl::Status& status);

  const SubscriptionEnvironment& environment_;
  const CallIdentity identity_;
  Output& output_;
  CallRecord record_;
  EventAccess access_;
  std::shared_ptr<const DeclaredSubscription> subscription_;
  std::unique_ptr<StreamSlot> slot_;
  // Set when the consumer joins, and never changed.
  std::shared_ptr<ServedSubscription> joined_;
  ServedSubscription::ConsumerId consumer_ = 0;
  std::atomic<bool> has_joined_ = false;
  Batch batch_;                         // what the consumer has got and was not sent
  Clock::time_point sent_;              // when the last message was sent
  HeldBytes unsent_{identity_.holder};  // the message that is being sent
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> dismissed_ = false;  // whether Dismiss wants an authorization that has not begun
  bool was_left_ = false;                // whether the call ends because it was cancelled
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_CONSUME_CALL_H_
