#include "gateway/events/query.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/access.h"
#include "gateway/events/method.h"
#include "gateway/events/request.h"
#include "gateway/feed/error.h"
#include "gateway/feed/page.h"
#include "gateway/memory/held_bytes.h"

namespace stampgate {
namespace {

constexpr size_t kDefaultPageSize = 100;

// One unary call of the event service. The callbacks of the call keep this object alive until the call has ended.
class EventQuery : public std::enable_shared_from_this<EventQuery> {
 public:
  EventQuery(const EventEnvironment& environment, CallIdentity identity, const char* method, const TraceContext& trace,
             OnEventResponse on_response)
      : environment_(environment),
        identity_(std::move(identity)),
        on_response_(std::move(on_response)),
        record_(environment.recorders, method, trace) {
    response_.held = HeldBytes(identity_.holder);
  }

  // Runs `step` if a grant allows the caller to see events by this method.
  void Start(void (EventQuery::*step)(const grpc::ByteBuffer&), const grpc::ByteBuffer& request) {
    BeginEvents(identity_, record_, {},
                [self = shared_from_this(), step, &request](absl::StatusOr<EventAccess> access) {
                  if (!access.ok()) return self->End(access.status());
                  self->access_ = *std::move(access);
                  ((*self).*step)(request);
                });
  }

  void List(const grpc::ByteBuffer& bytes) {
    const StartFields& fields = environment_.messages.list_events();
    EventRequest request;
    if (absl::Status status = Read(bytes, *fields.plan, request); !status.ok()) return End(status);
    absl::StatusOr<std::shared_ptr<const EventFilter>> filter = FilterOf(fields, *request, access_.visible);
    if (!filter.ok()) return End(filter.status());
    if (absl::Status status = response_.held.Resize((*filter)->bytes()); !status.ok()) return End(status);
    absl::StatusOr<EventStart> start = StartOf(environment_.log->identity, fields.start, *request);
    if (!start.ok()) return End(start.status());
    EventSource::Request read;
    read.filter = *std::move(filter);
    const FieldPlan& page_size = environment_.messages.page_size();
    read.limits.max_events = request->Has(page_size) ? request->Number(page_size) : kDefaultPageSize;
    read.limits.max_bytes = kMaxEventMessageBytes - kMessageOverheadBytes;
    environment_.log->source->Run([self = shared_from_this(), start = *std::move(start),
                                   read = std::move(read)](absl::StatusOr<EventReader*> reader) mutable {
      if (!reader.ok()) return self->End(ShuttingDown());
      const absl::StatusOr<LogPoint> point = Locate(start, **reader);
      if (!point.ok()) return self->End(ToCallerError(point.status(), **reader, self->environment_.log->identity));
      read.after = *point;
      EventSource& source = *self->environment_.log->source;
      source.Next(source.NewReaderId(), std::move(read),
                  [self](absl::StatusOr<EventPage> page) { self->OnPage(std::move(page)); });
    });
  }

  void Get(const grpc::ByteBuffer& bytes) {
    const NameFields& fields = environment_.messages.get_event();
    EventRequest request;
    if (absl::Status status = Read(bytes, *fields.plan, request); !status.ok()) return End(status);
    environment_.log->source->Run(
        [self = shared_from_this(), name = NameOf(fields, *request)](absl::StatusOr<EventReader*> reader) {
          if (!reader.ok()) return self->End(ShuttingDown());
          absl::StatusOr<std::optional<LoggedEvent>> found = (*reader)->Find(name, self->access_.Filter());
          if (!found.ok()) return self->End(ToCallerError(found.status(), **reader, self->environment_.log->identity));
          if (!found->has_value()) return self->End(EventNotFound());
          const EncodedEvent event = self->environment_.log->encoder->Encode(*std::move(*found));
          self->End(grpc::ByteBuffer(&event.field, 1));
        });
  }

 private:
  absl::Status Read(const grpc::ByteBuffer& bytes, const MessagePlan& plan, EventRequest& request) {
    ABSL_RETURN_IF_ERROR(request.Read(environment_, bytes, plan));
    ABSL_ASSIGN_OR_RETURN(CallerShare query, environment_.log->queries->TakeFor(access_.caller.caller->name()));
    response_.query = std::move(query);
    return absl::OkStatus();
  }

  void OnPage(absl::StatusOr<EventPage> page) {
    if (absl::IsAborted(page.status())) return End(ShuttingDown());
    if (!page.ok()) return End(page.status());
    End(EncodePage(*environment_.log->encoder, *page, page->through.position >= environment_.log->source->latest()));
  }

  void End(const absl::StatusOr<grpc::ByteBuffer>& message) {
    const absl::Status status = message.ok() ? Hold(*message) : message.status();
    record_.End(status);
    if (!status.ok()) return on_response_(status);
    on_response_(std::move(response_));
  }

  absl::Status Hold(const grpc::ByteBuffer& message) {
    ABSL_RETURN_IF_ERROR(response_.held.Resize(message.Length()));
    response_.message = message;
    return absl::OkStatus();
  }

  const EventEnvironment& environment_;
  const CallIdentity identity_;
  OnEventResponse on_response_;
  CallRecord record_;
  EventAccess access_;
  EventResponse response_;
};

}  // namespace

void ListEvents(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response) {
  std::make_shared<EventQuery>(environment, std::move(identity), kListEvents, trace, std::move(on_response))
      ->Start(&EventQuery::List, request);
}

void GetEvent(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
              const grpc::ByteBuffer& request, OnEventResponse on_response) {
  std::make_shared<EventQuery>(environment, std::move(identity), kGetEvent, trace, std::move(on_response))
      ->Start(&EventQuery::Get, request);
}

}  // namespace stampgate
