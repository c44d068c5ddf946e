#include "gateway/events/subscription.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/method.h"
#include "gateway/feed/error.h"
#include "translate/error.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

absl::Status CallerGone() { return absl::CancelledError("the caller has left"); }

}  // namespace

Subscription::Subscription(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                           Output& output)
    : environment_(environment),
      identity_(std::move(identity)),
      output_(output),
      record_(environment.recorders, kSubscribe, trace),
      reader_(environment.log == nullptr ? 0 : environment.log->source->NewReaderId()) {}

void Subscription::Start(const grpc::ByteBuffer& request) {
  BeginEvents(identity_, record_, weak_from_this(),
              [self = shared_from_this(), &request](absl::StatusOr<EventAccess> access) {
                if (!access.ok()) return self->End(access.status());
                self->access_ = *std::move(access);
                self->Read(request);
              });
}

void Subscription::Read(const grpc::ByteBuffer& bytes) {
  const StartFields& fields = environment_.messages.subscribe();
  EventRequest request;
  if (absl::Status status = request.Read(environment_, bytes, *fields.plan); !status.ok()) return End(status);
  absl::StatusOr<std::shared_ptr<const EventFilter>> filter = FilterOf(fields, *request, access_.visible);
  if (!filter.ok()) return End(filter.status());
  filter_ = *std::move(filter);
  if (absl::Status status = held_.Resize(filter_->bytes()); !status.ok()) return End(status);
  absl::StatusOr<EventStart> start = StartOf(environment_.log->identity, fields.start, *request);
  if (!start.ok()) return End(start.status());
  absl::StatusOr<std::unique_ptr<StreamSlot>> slot =
      environment_.log->subscriptions->Take(access_.caller.caller->name());
  if (!slot.ok()) return End(slot.status());
  slot_ = *std::move(slot);
  environment_.log->source->Run(
      [self = shared_from_this(), start = *std::move(start),
       cursor = std::string(request->Text(*fields.start.cursor))](absl::StatusOr<EventReader*> reader) {
        if (!reader.ok()) return self->End(ShuttingDown(cursor));
        self->Begin(start, **reader);
      });
}

void Subscription::Begin(const EventStart& start, EventReader& reader) {
  const absl::StatusOr<LogPoint> point = Locate(start, reader);
  if (!point.ok()) return End(ToCallerError(point.status(), reader, environment_.log->identity));
  slot_->SetPosition(point->position);
  Send({{}, *point});
}

void Subscription::OnSent(bool ok) {
  unsent_.Free();
  sent_ = environment_.steady_now();
  if (!ok) return End(CallerGone());
  ReadOn();
}

void Subscription::ReadOn() {
  if (absl::Status end = EndOfTime(); !end.ok()) return End(end);
  slot_->SetPosition(point_.position);
  EventSource::Request request;
  request.after = point_;
  request.filter = filter_;
  const absl::Duration to_heartbeat = environment_.heartbeat_interval - SinceSent();
  const absl::Duration to_token_end = access_.caller.until - environment_.now();
  const absl::Duration to_stream_end = absl::FromChrono(identity_.stream_end - environment_.steady_now());
  request.patience = std::max(std::min({to_heartbeat, to_token_end, to_stream_end}), absl::Milliseconds(1));
  // `self` keeps this object alive until Next has returned, because the page can arrive, and the call can end, before
  // that.
  const std::shared_ptr<Subscription> self = shared_from_this();
  environment_.log->source->Next(reader_, std::move(request),
                                 [self](absl::StatusOr<EventPage> page) { self->OnPage(std::move(page)); });
  // If Cancel or Dismiss ran before Next, it had no Next that it could end. So ReadOn cancels the Next.
  if (cancelled_ || dismissed_) environment_.log->source->Cancel(reader_);
}

void Subscription::OnPage(absl::StatusOr<EventPage> page) {
  if (absl::IsAborted(page.status())) return End(ShuttingDown(EncodeCursor(environment_.log->identity, point_)));
  // A Dismiss can cancel a Next that began after the authorization which this Dismiss wants.
  if (!cancelled_ && (dismissed_.exchange(false) || absl::IsCancelled(page.status()))) return Reauthorize();
  if (!page.ok()) return End(page.status());
  if (cancelled_) return End(CallerGone());
  if (absl::Status end = EndOfTime(); !end.ok()) return End(end);
  if (environment_.access.Get() != access_.caller.access) return Reauthorize();
  // If the page has no events for this caller and only moves the point, the call sends the page only when a heartbeat
  // is due.
  const bool silent = page->events.empty() && page->through.position > point_.position;
  if (silent && SinceSent() < environment_.heartbeat_interval) {
    point_ = page->through;
    return ReadOn();
  }
  Send(*page);
}

// The call runs this function if the policy has changed since this caller was authorized. The page can contain events
// that the caller may no longer see, so the call discards the page and reads it again.
void Subscription::Reauthorize() {
  AuthorizeEvents(identity_, record_, [self = shared_from_this()](absl::StatusOr<EventAccess> access) {
    if (!access.ok()) return self->End(self->HasTokenEnded() ? self->ExpiredAtPoint() : access.status());
    self->access_ = *std::move(access);
    auto filter = std::make_shared<EventFilter>(*self->filter_);
    filter->visible = self->access_.visible;
    self->filter_ = std::move(filter);
    self->ReadOn();
  });
}

// Only Send moves `point_` past events that this caller receives. So if an error ends the call before the message is
// sent, the cursor in the error is the point up to which the caller has received its events.
void Subscription::Send(const EventPage& page) {
  const grpc::ByteBuffer message = EncodePage(*environment_.log->encoder, page);
  if (absl::Status status = unsent_.Resize(message.Length()); !status.ok()) return End(status);
  point_ = page.through;
  output_.Send(message);
}

absl::Status Subscription::EndOfTime() const {
  if (HasTokenEnded()) return ExpiredAtPoint();
  if (environment_.steady_now() < identity_.stream_end) return absl::OkStatus();
  return ConnectionTooOld("cursor", EncodeCursor(environment_.log->identity, point_));
}

absl::Status Subscription::ExpiredAtPoint() const {
  Error error = TokenExpired();
  error.metadata.emplace_back("cursor", EncodeCursor(environment_.log->identity, point_));
  return ToStatus(error);
}

void Subscription::Cancel() {
  cancelled_ = true;
  if (environment_.log != nullptr) environment_.log->source->Cancel(reader_);
}

void Subscription::Dismiss() {
  dismissed_ = true;
  if (environment_.log != nullptr) environment_.log->source->Cancel(reader_);
}

void Subscription::End(const absl::Status& status) {
  record_.End(status);
  slot_ = nullptr;
  // gRPC destroys the call only when the status is sent.
  filter_ = nullptr;
  held_.Free();
  output_.End(status);
}

absl::Status SubscriptionRefusal(const EventEnvironment& environment, const grpc::ByteBuffer& request,
                                 const absl::Status& why) {
  if (!absl::IsUnavailable(why) || environment.log == nullptr) return why;
  const StartFields& fields = environment.messages.subscribe();
  grpc::Slice joined;
  RequestMemory memory;
  const absl::StatusOr<ParsedMessage> message = ParseRequest(request, *fields.plan, joined, memory);
  if (!message.ok()) return why;
  const std::string cursor(message->Text(*fields.start.cursor));
  return DecodeCursor(environment.log->identity, cursor).ok() ? ShuttingDown(cursor) : why;
}

}  // namespace stampgate
