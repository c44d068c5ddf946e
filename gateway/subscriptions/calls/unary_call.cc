#include "gateway/subscriptions/calls/unary_call.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/subscriptions/calls/subscription_access.h"

namespace stampgate {

void UnaryCall::Start(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                      const grpc::ByteBuffer& request, OnEventResponse on_response, const Method& method) {
  const auto call =
      std::make_shared<UnaryCall>(environment, std::move(identity), trace, std::move(on_response), method);
  AdmitEvents(call->identity_, call->record_, {}, [call, &request](absl::StatusOr<EventAccess> access) {
    if (!access.ok()) return call->End(access.status());
    call->access_ = *std::move(access);
    call->Begin(request);
  });
}

UnaryCall::UnaryCall(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                     OnEventResponse on_response, const Method& method)
    : environment_(environment),
      identity_(std::move(identity)),
      on_response_(std::move(on_response)),
      method_(method),
      record_(environment.events.recorders, method.name, trace) {
  response_.held = HeldBytes(identity_.holder);
}

void UnaryCall::Begin(const grpc::ByteBuffer& bytes) {
  if (absl::Status status = Read(bytes); !status.ok()) return End(status);
  auto run = [self = shared_from_this()](const absl::Status& recorded) {
    if (!recorded.ok()) return self->End(recorded);
    self->method_.step(self);
  };
  switch (method_.recorded) {
    case Recorded::kNot:
      return run(absl::OkStatus());
    case Recorded::kAsRead:
      return record_.audit().AllowRead(access_.caller, std::move(run));
    case Recorded::kAsChange:
      AuditDecision decision;
      decision.subscription = name();
      return record_.audit().Allow(access_.caller, std::move(decision), std::move(run));
  }
}

absl::Status UnaryCall::Read(const grpc::ByteBuffer& bytes) {
  // The request exists until the call ends.
  ABSL_RETURN_IF_ERROR(response_.held.Resize(bytes.Length()));
  ABSL_RETURN_IF_ERROR(request_.Read(environment_.events, bytes, *method_.request.plan));
  if (method_.request.subscription == nullptr) return absl::OkStatus();
  if (!method_.is_about_declared) return AdmitUndeclared(name(), access_.caller, record_);
  ABSL_ASSIGN_OR_RETURN(subscription_, FindSubscription(environment_.subscriptions, name(), access_.caller, record_));
  return absl::OkStatus();
}

absl::Status UnaryCall::TakeQuery() {
  ABSL_ASSIGN_OR_RETURN(CallerShare query, log().queries->TakeFor(access_.caller.caller->name()));
  response_.query = std::move(query);
  return absl::OkStatus();
}

void UnaryCall::Run(absl::AnyInvocable<void(EventReader& reader)> on_reader) {
  log().source->Run(
      [self = shared_from_this(), on_reader = std::move(on_reader)](absl::StatusOr<EventReader*> reader) mutable {
        if (!reader.ok()) return self->End(ShuttingDown());
        on_reader(**reader);
      });
}

void UnaryCall::End(const absl::StatusOr<grpc::ByteBuffer>& message) {
  const absl::Status status = message.ok() ? Hold(*message) : message.status();
  record_.End(status);
  if (!status.ok()) return on_response_(status);
  on_response_(std::move(response_));
}

void UnaryCall::Respond(const std::string& message) { End(BufferOf(message)); }

absl::Status UnaryCall::Hold(const grpc::ByteBuffer& message) {
  ABSL_RETURN_IF_ERROR(response_.held.Resize(message.Length()));
  response_.message = message;
  return absl::OkStatus();
}

}  // namespace stampgate
