#include "gateway/events/call.h"

#include <optional>
#include <utility>

#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/access.h"
#include "gateway/events/error.h"
#include "gateway/events/page.h"
#include "gateway/events/request.h"
#include "stampgate/v1/event_service.pb.h"

namespace stampgate {
namespace {

constexpr size_t kDefaultPageSize = 100;

// Deletes itself when gRPC is done with it, which is after Finish: a read for it never outlives it.
class EventCall : public grpc::ServerUnaryReactor {
 public:
  EventCall(const EventEnvironment& environment, const char* name, grpc::CallbackServerContext& context,
            grpc::ByteBuffer* response)
      : environment_(environment),
        context_(context),
        response_(response),
        trace_(TraceOf(context, environment.random)),
        record_(environment.recorders, name, trace_.trace_id()) {}

  // Goes on with `method` if the caller may see something by it.
  void Start(void (EventCall::*method)(const grpc::ByteBuffer&), const grpc::ByteBuffer& bytes) {
    BeginEvents(environment_.access, context_, record_, [this, method, &bytes](absl::StatusOr<EventAccess> access) {
      if (!access.ok()) return End(access.status());
      access_ = *std::move(access);
      (this->*method)(bytes);
    });
  }

  void ListEvents(const grpc::ByteBuffer& bytes) {
    v1::ListEventsRequest request;
    if (absl::Status status = ReadEventRequest(environment_, bytes, request); !status.ok()) {
      return End(status);
    }
    absl::StatusOr<std::shared_ptr<const EventFilter>> filter = FilterOf(request.filter(), access_.visible);
    if (!filter.ok()) return End(filter.status());
    absl::StatusOr<EventStart> start = StartOf(environment_.log, request);
    if (!start.ok()) return End(start.status());
    EventFeed::Request read;
    read.filter = *std::move(filter);
    read.limits.max_events = request.has_page_size() ? request.page_size() : kDefaultPageSize;
    read.limits.max_bytes = kMaxEventMessageBytes - kMessageOverheadBytes;
    environment_.feed->Run([this, start = *std::move(start), read = std::move(read)](EventReader& reader) mutable {
      const absl::StatusOr<EventPlace> place = Locate(start, reader);
      if (!place.ok()) return End(ToCallerError(place.status(), reader, environment_.log));
      read.after = *place;
      environment_.feed->Next(environment_.next_reader.fetch_add(1), std::move(read),
                              [this](absl::StatusOr<EventPage> page) { AnswerPage(std::move(page)); });
    });
  }

  void GetEvent(const grpc::ByteBuffer& bytes) {
    v1::GetEventRequest request;
    if (absl::Status status = ReadEventRequest(environment_, bytes, request); !status.ok()) {
      return End(status);
    }
    environment_.feed->Run([this, name = NameOf(request)](EventReader& reader) {
      absl::StatusOr<std::optional<LoggedEvent>> found = reader.Find(name, access_.Filter());
      if (!found.ok()) return End(ToCallerError(found.status(), reader, environment_.log));
      if (!found->has_value()) return End(EventNotFound());
      const EncodedEvent event = environment_.encoder->Encode(*std::move(*found));
      *response_ = grpc::ByteBuffer(&event.field, 1);
      End(absl::OkStatus());
    });
  }

 private:
  void AnswerPage(absl::StatusOr<EventPage> page) {
    if (page.ok())
      *response_ = EncodePage(environment_.log, *page, page->through.position >= environment_.feed->latest());
    End(page.status());
  }

  void End(const absl::Status& status) {
    record_.End(status);
    Finish(ToGrpcStatus(status));
  }

  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  const EventEnvironment& environment_;
  const grpc::CallbackServerContext& context_;
  grpc::ByteBuffer* const response_;
  const TraceContext trace_;
  CallRecord record_;
  EventAccess access_;
};

grpc::ServerUnaryReactor* StartCall(const EventEnvironment& environment, const char* name,
                                    void (EventCall::*method)(const grpc::ByteBuffer&),
                                    grpc::CallbackServerContext& context, const grpc::ByteBuffer& request,
                                    grpc::ByteBuffer* response) {
  if (!environment.in_flight.Begin(context)) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, context, name, ShuttingDown());
  }
  auto* call = new EventCall(environment, name, context, response);
  call->Start(method, request);
  return call;
}

}  // namespace

grpc::ServerUnaryReactor* StartListEvents(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartCall(environment, kListEvents, &EventCall::ListEvents, *context, *request, response);
}

grpc::ServerUnaryReactor* StartGetEvent(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return StartCall(environment, kGetEvent, &EventCall::GetEvent, *context, *request, response);
}

}  // namespace stampgate
