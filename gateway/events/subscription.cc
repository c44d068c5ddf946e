#include "gateway/events/subscription.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/access.h"
#include "gateway/events/error.h"
#include "gateway/events/page.h"
#include "gateway/events/request.h"
#include "stampgate/v1/event_service.pb.h"
#include "translate/error.h"
#include "webhooks/log/cursor.h"

namespace stampgate {
namespace {

using absl::StatusCode;

// One thing is under way at any time: a read of the log or a write to the caller; each ends with the other. Nothing is
// queued here, so that a slow caller is a position and one page. Finish is called between the two, never beside one.
class Subscription : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                     public std::enable_shared_from_this<Subscription> {
 public:
  Subscription(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment),
        context_(context),
        id_(environment.next_reader.fetch_add(1)),
        trace_(TraceOf(context, environment.random)),
        record_(environment.recorders, kSubscribe, trace_.trace_id()) {}

  void Start(const grpc::ByteBuffer& bytes) {
    self_ = shared_from_this();
    BeginEvents(environment_.access, context_, record_, [call = self_, &bytes](absl::StatusOr<EventAccess> access) {
      if (!access.ok()) return call->End(access.status());
      call->access_ = *std::move(access);
      call->Read(bytes);
    });
  }

 private:
  void Read(const grpc::ByteBuffer& bytes) {
    v1::SubscribeRequest request;
    if (absl::Status status = ReadEventRequest(environment_, bytes, request); !status.ok()) {
      return End(status);
    }
    absl::StatusOr<std::shared_ptr<const EventFilter>> filter = FilterOf(request.filter(), access_.visible);
    if (!filter.ok()) return End(filter.status());
    filter_ = *std::move(filter);
    absl::StatusOr<EventStart> start = StartOf(environment_.log, request);
    if (!start.ok()) return End(start.status());
    counted_ = true;
    if (environment_.recorders.metrics != nullptr) environment_.recorders.metrics->SubscriberCame();
    if (environment_.subscribers.fetch_add(1) >= environment_.max_subscribers) return End(TooMany());
    environment_.feed->Run(
        [call = shared_from_this(), start = *std::move(start)](EventReader& reader) { call->Begin(start, reader); });
  }

  static absl::Status TooMany() {
    Error error = GatewayError(StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
                               "there are as many subscribers as the gateway is configured to have");
    error.retry_delay = absl::Seconds(10);
    return ToStatus(error);
  }

  void Begin(const EventStart& start, EventReader& reader) {
    const absl::StatusOr<EventPlace> place = Locate(start, reader);
    if (!place.ok()) return End(ToCallerError(place.status(), reader, environment_.log));
    environment_.feed->places().Set(id_, place->position);
    Write({{}, *place});
  }

  // The place moves only now: an error before it names what the caller does not have yet.
  void Write(const EventPage& page) {
    place_ = page.through;
    message_ = EncodePage(environment_.log, page);
    StartWrite(&message_);
  }

  void OnWriteDone(bool ok) override {
    message_.Clear();
    written_ = Clock::now();
    if (!ok) return End(absl::CancelledError("the caller has gone"));
    ReadOn();
  }

  void ReadOn() {
    if (HasTokenEnded()) return End(ExpiredAtPlace());
    environment_.feed->places().Set(id_, place_.position);
    // The call may end while it is being read for.
    const std::shared_ptr<Subscription> self = shared_from_this();
    EventFeed::Request request;
    request.after = place_;
    request.filter = filter_;
    const absl::Duration to_heartbeat = environment_.heartbeat_interval - absl::FromChrono(Clock::now() - written_);
    const absl::Duration to_end = access_.caller.until - environment_.now();
    request.patience = std::max(std::min(to_heartbeat, to_end), absl::Milliseconds(1));
    environment_.feed->Next(id_, std::move(request),
                            [self](absl::StatusOr<EventPage> page) { self->OnPage(std::move(page)); });
    if (cancelled_) environment_.feed->Cancel(id_);
  }

  void OnPage(absl::StatusOr<EventPage> page) {
    if (absl::IsAborted(page.status())) return End(ShuttingDown(EncodeCursor(environment_.log, place_)));
    if (!page.ok()) return End(page.status());
    if (cancelled_) return End(absl::CancelledError("the caller has gone"));
    if (HasTokenEnded()) return End(ExpiredAtPlace());
    if (environment_.access.Get() != access_.caller.access) return Reauthorize();
    // A stretch of the log without anything for this caller: it is sent only when it is time for a heartbeat.
    const bool silent = page->events.empty() && page->through.position > place_.position;
    if (silent && absl::FromChrono(Clock::now() - written_) < environment_.heartbeat_interval) {
      place_ = page->through;
      return ReadOn();
    }
    Write(*page);
  }

  // Who may see what has changed since: what was read for this caller may not be for it any more.
  void Reauthorize() {
    AuthorizeEvents(environment_.access, context_, record_, [call = self_](absl::StatusOr<EventAccess> access) {
      if (!access.ok()) return call->End(call->HasTokenEnded() ? call->ExpiredAtPlace() : access.status());
      call->access_ = *std::move(access);
      auto filter = std::make_shared<EventFilter>(*call->filter_);
      filter->visible = call->access_.visible;
      call->filter_ = std::move(filter);
      call->ReadOn();
    });
  }

  bool HasTokenEnded() const { return environment_.now() >= access_.caller.until; }

  absl::Status ExpiredAtPlace() const {
    Error error = TokenExpired();
    error.metadata.emplace_back("cursor", EncodeCursor(environment_.log, place_));
    return ToStatus(error);
  }

  void OnCancel() override {
    cancelled_ = true;
    if (environment_.feed != nullptr) environment_.feed->Cancel(id_);
  }

  void End(const absl::Status& status) {
    record_.End(status);
    Finish(ToGrpcStatus(status));
  }

  void OnDone() override {
    if (counted_) {
      environment_.subscribers.fetch_sub(1);
      environment_.feed->places().Remove(id_);
      if (environment_.recorders.metrics != nullptr) environment_.recorders.metrics->SubscriberLeft();
    }
    environment_.in_flight.End(context_);
    self_.reset();
  }

  using Clock = std::chrono::steady_clock;

  const EventEnvironment& environment_;
  const grpc::CallbackServerContext& context_;
  const EventFeed::ReaderId id_;
  const TraceContext trace_;
  CallRecord record_;
  EventAccess access_;
  std::shared_ptr<const EventFilter> filter_;
  bool counted_ = false;
  EventPlace place_;  // everything up to here is with the caller, or was not for it
  grpc::ByteBuffer message_;
  Clock::time_point written_;
  std::atomic<bool> cancelled_ = false;
  std::shared_ptr<Subscription> self_;  // until OnDone
};

// A subscription that came with a cursor gets it back, as those do that end: so there is one way to go on. Only a
// cursor of ours: what else a caller sends is not repeated to it.
absl::Status Refusal(const EventEnvironment& environment, const grpc::ByteBuffer& bytes) {
  v1::SubscribeRequest request;
  if (environment.feed == nullptr || !DecodeRequest(bytes, environment.max_request_bytes, request).ok() ||
      !DecodeCursor(environment.log, request.cursor()).ok()) {
    return ShuttingDown();
  }
  return ShuttingDown(request.cursor());
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartSubscription(const EventEnvironment& environment,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request) {
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerWriteReactor<grpc::ByteBuffer>>(environment, *context, kSubscribe,
                                                                       Refusal(environment, *request));
  }
  auto call = std::make_shared<Subscription>(environment, *context);
  call->Start(*request);
  return call.get();
}

}  // namespace stampgate
