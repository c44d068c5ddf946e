#include "gateway/events/body_read.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/events/method.h"
#include "gateway/events/request.h"
#include "gateway/feed/error.h"
#include "translate/error.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

// Returns a serialized ReadEventBodyResponse.
grpc::ByteBuffer PieceOf(const EventMessages& messages, absl::string_view piece) {
  if (piece.empty()) return BufferOf("");
  WireWriter prefix;
  prefix.Prefix(messages.chunk(), piece.size());
  const grpc::Slice slices[] = {grpc::Slice(prefix.Take()), grpc::Slice(piece.data(), piece.size())};
  return grpc::ByteBuffer(slices, 2);
}

}  // namespace

EventBodyRead::EventBodyRead(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                             Output& output)
    : environment_(environment),
      identity_(std::move(identity)),
      output_(output),
      record_(environment.recorders, kReadEventBody, trace) {}

void EventBodyRead::Start(const grpc::ByteBuffer& request) {
  BeginEvents(identity_, record_, {}, [self = shared_from_this(), &request](absl::StatusOr<EventAccess> access) {
    if (!access.ok()) return self->End(access.status());
    self->access_ = *std::move(access);
    self->Begin(request);
  });
}

void EventBodyRead::Begin(const grpc::ByteBuffer& bytes) {
  const EventMessages& messages = environment_.messages;
  EventRequest request;
  if (absl::Status status = request.Read(environment_, bytes, *messages.read_event_body().plan); !status.ok()) {
    return End(status);
  }
  name_ = NameOf(messages.read_event_body(), *request);
  offset_ = request->Number(messages.offset_bytes());
  absl::StatusOr<std::unique_ptr<StreamSlot>> slot = environment_.log->body_reads->Take(access_.caller.caller->name());
  if (!slot.ok()) return End(slot.status());
  slot_ = *std::move(slot);
  ReadOn();
}

void EventBodyRead::ReadOn() {
  if (environment_.ending) return End(ShuttingDown());
  if (environment_.steady_now() >= identity_.stream_end) {
    return End(ConnectionTooOld("offset_bytes", absl::StrCat(offset_)));
  }
  if (access_.HasTokenEnded(environment_.now())) return End(ExpiredAtOffset());
  environment_.log->source->Run([self = shared_from_this()](absl::StatusOr<EventReader*> reader) {
    if (!reader.ok()) return self->End(ShuttingDown());
    self->OnEvent((*reader)->Find(self->name_, self->access_.Filter()), **reader);
  });
}

void EventBodyRead::OnEvent(absl::StatusOr<std::optional<LoggedEvent>> found, EventReader& reader) {
  if (!found.ok()) return End(ToCallerError(found.status(), reader, environment_.log->identity));
  if (environment_.access.Get() != access_.caller.access) return Reauthorize();
  if (!found->has_value()) return End(EventNotFound());
  const Event& event = (*found)->event;
  // All pieces must come from the same event. After a change of the policy, the first event with this id that the
  // caller may see could be another one.
  name_.organization_id = IdScopeOf(event);
  if (offset_ > event.body.size()) {
    return End(ToStatus(GatewayError(absl::StatusCode::kOutOfRange, v1::ERROR_REASON_INVALID_REQUEST,
                                     "offset_bytes is beyond the end of the body")));
  }
  const absl::string_view piece = absl::string_view(event.body).substr(offset_, kPieceBytes);
  offset_ += piece.size();
  whole_ = offset_ == event.body.size();
  const grpc::ByteBuffer message = PieceOf(environment_.messages, piece);
  if (absl::Status status = unsent_.Resize(message.Length()); !status.ok()) return End(status);
  output_.Send(message);
}

// The call runs this function if the policy has changed since this caller was authorized. Authorizes the caller again,
// and reads the event again by the new policy.
void EventBodyRead::Reauthorize() {
  AuthorizeEvents(identity_, record_, [self = shared_from_this()](absl::StatusOr<EventAccess> access) {
    if (!access.ok()) {
      const bool expired = self->access_.HasTokenEnded(self->environment_.now());
      return self->End(expired ? self->ExpiredAtOffset() : access.status());
    }
    self->access_ = *std::move(access);
    self->ReadOn();
  });
}

absl::Status EventBodyRead::ExpiredAtOffset() const {
  Error error = TokenExpired();
  error.metadata.emplace_back("offset_bytes", absl::StrCat(offset_));
  return ToStatus(error);
}

void EventBodyRead::OnSent(bool ok) {
  unsent_.Free();
  if (!ok) return End(absl::CancelledError("the caller has left"));
  if (whole_) return End(absl::OkStatus());
  ReadOn();
}

void EventBodyRead::End(const absl::Status& status) {
  record_.End(status);
  slot_ = nullptr;
  output_.End(status);
}

}  // namespace stampgate
