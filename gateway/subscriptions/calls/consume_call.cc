#include "gateway/subscriptions/calls/consume_call.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/request.h"
#include "gateway/feed/error.h"
#include "gateway/subscriptions/calls/delivery_token.h"
#include "gateway/subscriptions/calls/encoding.h"
#include "gateway/subscriptions/calls/method.h"
#include "gateway/subscriptions/calls/subscription_access.h"
#include "translate/error.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

constexpr size_t kDefaultMaxUnsettled = 100;

}  // namespace

ConsumeCall::ConsumeCall(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                         Output& output)
    : environment_(environment),
      identity_(std::move(identity)),
      output_(output),
      record_(environment.events.recorders, kConsume, trace) {}

void ConsumeCall::Start(const grpc::ByteBuffer& request) {
  AdmitEvents(identity_, record_, weak_from_this(),
              [self = shared_from_this(), &request](absl::StatusOr<EventAccess> access) {
                if (!access.ok()) return self->End(access.status());
                self->access_ = *std::move(access);
                absl::StatusOr<Request> read = self->Read(request);
                if (!read.ok()) return self->End(read.status());
                self->record_.audit().AllowRead(self->access_.caller,
                                                [self, read = *std::move(read)](const absl::Status& allowed) {
                                                  if (!allowed.ok()) return self->End(allowed);
                                                  self->Begin(read);
                                                });
              });
}

absl::StatusOr<ConsumeCall::Request> ConsumeCall::Read(const grpc::ByteBuffer& bytes) {
  const ConsumeFields& fields = environment_.messages.consume();
  EventRequest message;
  ABSL_RETURN_IF_ERROR(message.Read(environment_.events, bytes, *fields.plan));
  ABSL_ASSIGN_OR_RETURN(subscription_, FindSubscription(environment_.subscriptions, message->Text(*fields.subscription),
                                                        access_.caller, record_));
  Request request;
  request.max_unsettled =
      message->Has(*fields.max_unsettled) ? message->Number(*fields.max_unsettled) : kDefaultMaxUnsettled;
  ABSL_ASSIGN_OR_RETURN(request.held, ReadDeliveryTokens(environment_.events.log->identity,
                                                         subscription_->served->name(), *fields.held_tokens, *message));
  ABSL_ASSIGN_OR_RETURN(slot_, environment_.events.log->consumers->Take(access_.caller.caller->name()));
  return request;
}

// The first message shows the caller that it consumes, which deliveries it does not hold any more, and how long it has
// the others.
void ConsumeCall::Begin(const Request& request) {
  joined_ = subscription_->served;
  std::vector<size_t> superseded;
  consumer_ = joined_->Join(request.max_unsettled, request.held, &superseded);
  has_joined_ = true;
  const DeliveryTokens tokens(environment_.events.log->identity, joined_->name());
  WireWriter out;
  for (const size_t index : superseded) {
    out.String(environment_.messages.responses().consume.superseded_tokens, tokens.Encode(request.held[index]));
  }
  out.Varint(environment_.messages.responses().consume.settle_within_ms,
             static_cast<uint64_t>(absl::ToInt64Milliseconds(joined_->settle_within())));
  Send(BufferOf(out.Take()));
}

void ConsumeCall::OnSent(bool ok) {
  unsent_.Free();
  sent_ = environment_.events.steady_now();
  if (!ok) return EndAsLeft();
  Wait();
}

void ConsumeCall::Wait() {
  if (HasTokenEnded()) return End(ToStatus(TokenExpired()));
  if (environment_.events.steady_now() >= identity_.stream_end) return End(ConnectionTooOld());
  const absl::Duration to_heartbeat = environment_.events.heartbeat_interval - SinceSent();
  const absl::Duration to_stream_end = absl::FromChrono(identity_.stream_end - environment_.events.steady_now());
  const absl::Time until = environment_.events.now() + std::min(to_heartbeat, to_stream_end);
  // `self` keeps this object alive until Next has returned, because the batch can arrive, and the call can end, before
  // that.
  const std::shared_ptr<ConsumeCall> self = shared_from_this();
  joined_->Next(consumer_, std::min(until, access_.caller.until),
                [self](absl::StatusOr<Batch> batch) { self->OnBatch(std::move(batch)); });
  // If Cancel or Dismiss ran before Next, it had no Next that it could end. So Wait cancels the Next.
  if (cancelled_ || dismissed_) CancelWait();
}

void ConsumeCall::OnBatch(absl::StatusOr<Batch> batch) {
  if (absl::IsAborted(batch.status())) return End(ShuttingDown());
  if (absl::IsNotFound(batch.status())) return End(SubscriptionNotFound(joined_->name(), *access_.caller.caller));
  if (cancelled_) return EndAsLeft();
  // A Dismiss can cancel a Next that began after the authorization which this Dismiss wants.
  const bool is_dismissed = dismissed_.exchange(false) || absl::IsCancelled(batch.status());
  if (absl::IsCancelled(batch.status())) batch = Batch();
  if (!batch.ok()) return End(batch.status());
  batch_ = *std::move(batch);
  const bool is_changed = environment_.events.access.Get() != access_.caller.access ||
                          environment_.subscriptions->Find(joined_->name()) != subscription_;
  if (is_dismissed || is_changed) return Reauthorize();
  Deliver();
}

// The call runs this function if the policy or the subscription has changed since this caller was authorized.
void ConsumeCall::Reauthorize() {
  AuthorizeEvents(identity_, record_, [self = shared_from_this()](absl::StatusOr<EventAccess> access) {
    if (!access.ok()) return self->End(self->HasTokenEnded() ? ToStatus(TokenExpired()) : access.status());
    self->access_ = *std::move(access);
    absl::StatusOr<std::shared_ptr<const DeclaredSubscription>> found =
        FindSubscription(self->environment_.subscriptions, self->joined_->name(), self->access_.caller, self->record_);
    if (!found.ok()) return self->End(found.status());
    self->subscription_ = *std::move(found);
    self->Deliver();
  });
}

void ConsumeCall::Deliver() {
  if (HasTokenEnded()) return End(ToStatus(TokenExpired()));
  // The subscription can have read an event before a reload took its organization away from the subscription and from
  // the caller. The consumer then does not get it, and does not settle it.
  const EventFilter visible = access_.Filter();
  std::erase_if(batch_, [&visible](const ServedSubscription::Sent& sent) {
    return !visible.Matches(sent.event->organization_id, sent.event->parent_organization_id, sent.event->type);
  });
  if (batch_.empty() && SinceSent() < environment_.events.heartbeat_interval) return Wait();
  const Batch batch = std::exchange(batch_, {});
  Send(EncodeDeliveries(environment_, joined_->name(), batch));
}

void ConsumeCall::Send(const grpc::ByteBuffer& message) {
  if (absl::Status status = unsent_.Resize(message.Length()); !status.ok()) return End(status);
  output_.Send(message);
}

void ConsumeCall::Cancel() {
  cancelled_ = true;
  CancelWait();
}

void ConsumeCall::Dismiss() {
  dismissed_ = true;
  CancelWait();
}

void ConsumeCall::CancelWait() {
  if (has_joined_) joined_->CancelNext(consumer_);
}

void ConsumeCall::EndAsLeft() {
  // When a drain is nearly over, the gateway itself cancels the calls.
  was_left_ = !environment_.events.ending;
  End(absl::CancelledError("the caller has left"));
}

void ConsumeCall::End(const absl::Status& status) {
  record_.End(status);
  slot_ = nullptr;
  batch_.clear();
  if (has_joined_) {
    auto leave = [joined = joined_, consumer = consumer_](bool is_cancelled) { joined->Leave(consumer, is_cancelled); };
    was_left_ ? environment_.departures.Add(identity_.connection, std::move(leave)) : leave(false);
  }
  output_.End(status);
}

}  // namespace stampgate
