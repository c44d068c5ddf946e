#include "gateway/events/body_call.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/access.h"
#include "gateway/events/error.h"
#include "gateway/events/request.h"
#include "stampgate/v1/event_service.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

// For each piece the event is read again: a caller that is slow then holds no body.
class EventBodyCall : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  EventBodyCall(const EventEnvironment& environment, grpc::CallbackServerContext& context)
      : environment_(environment),
        context_(context),
        trace_(TraceOf(context, environment.random)),
        record_(environment.recorders, kReadEventBody, trace_.trace_id()) {}

  void Start(const grpc::ByteBuffer& bytes) {
    BeginEvents(environment_.access, context_, record_, [this, &bytes](absl::StatusOr<EventAccess> access) {
      if (!access.ok()) return End(access.status());
      access_ = *std::move(access);
      Begin(bytes);
    });
  }

 private:
  void Begin(const grpc::ByteBuffer& bytes) {
    v1::ReadEventBodyRequest request;
    if (absl::Status status = ReadEventRequest(environment_, bytes, request); !status.ok()) {
      return End(status);
    }
    name_ = NameOf(request);
    offset_ = request.offset_bytes();
    // A caller may take as long as it likes.
    counted_ = true;
    if (environment_.body_readers.fetch_add(1) >= environment_.max_subscribers) return End(TooMany());
    ReadOn();
  }

  static absl::Status TooMany() {
    Error error = GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
                               "as many bodies are being read as the gateway is configured to have subscribers");
    error.retry_delay = absl::Seconds(10);
    return ToStatus(error);
  }

  void ReadOn() {
    if (environment_.ending) return End(ShuttingDown());
    if (environment_.now() >= access_.caller.until) return End(ExpiredAtOffset());
    environment_.feed->Run([this](EventReader& reader) { Send(reader.Find(name_, access_.Filter()), reader); });
  }

  absl::Status ExpiredAtOffset() const {
    Error error = TokenExpired();
    error.metadata.emplace_back("offset_bytes", absl::StrCat(offset_));
    return ToStatus(error);
  }

  void Send(absl::StatusOr<std::optional<LoggedEvent>> found, EventReader& reader) {
    if (!found.ok()) return End(ToCallerError(found.status(), reader, environment_.log));
    if (environment_.access.Get() != access_.caller.access) return Reauthorize();
    if (!found->has_value()) return End(EventNotFound());
    // A caller that may see other events than before is given no piece of another one.
    name_.organization_id = IdScopeOf((*found)->event);
    const std::string& body = (*found)->event.body;
    if (offset_ > body.size()) {
      return End(ToStatus(GatewayError(absl::StatusCode::kOutOfRange, v1::ERROR_REASON_INVALID_REQUEST,
                                       "offset_bytes is behind the end of the body")));
    }
    v1::ReadEventBodyResponse response;
    response.set_chunk(body.substr(offset_, kChunkBytes));
    offset_ += response.chunk().size();
    whole_ = offset_ == body.size();
    message_ = EncodeResponse(response);
    StartWrite(&message_);
  }

  // Who may see what has changed since.
  void Reauthorize() {
    AuthorizeEvents(environment_.access, context_, record_, [this](absl::StatusOr<EventAccess> access) {
      if (!access.ok()) return End(access.status());
      access_ = *std::move(access);
      ReadOn();
    });
  }

  void OnWriteDone(bool ok) override {
    message_.Clear();
    if (!ok) return End(absl::CancelledError("the caller has gone"));
    if (whole_) return End(absl::OkStatus());
    ReadOn();
  }

  void End(const absl::Status& status) {
    record_.End(status);
    Finish(ToGrpcStatus(status));
  }

  void OnDone() override {
    if (counted_) environment_.body_readers.fetch_sub(1);
    environment_.in_flight.End(context_);
    delete this;
  }

  const EventEnvironment& environment_;
  const grpc::CallbackServerContext& context_;
  const TraceContext trace_;
  CallRecord record_;
  EventAccess access_;
  EventName name_;
  bool counted_ = false;
  uint64_t offset_ = 0;
  bool whole_ = false;
  grpc::ByteBuffer message_;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartEventBodyCall(const EventEnvironment& environment,
                                                               grpc::CallbackServerContext* context,
                                                               const grpc::ByteBuffer* request) {
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerWriteReactor<grpc::ByteBuffer>>(environment, *context, kReadEventBody,
                                                                       ShuttingDown());
  }
  auto* call = new EventBodyCall(environment, *context);  // until OnDone
  call->Start(*request);
  return call;
}

}  // namespace stampgate
