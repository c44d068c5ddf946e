#include "gateway/operations/unary_call.h"

#include <grpc/support/time.h>

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/peer_of_call.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"

namespace stampgate {
namespace {

// Returns how long the caller still waits, or infinity if the caller has set no deadline. Uses the monotonic clock,
// because the wall clock can be set.
absl::Duration TimeLeft(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  if (gpr_time_cmp(left, gpr_inf_future(GPR_TIMESPAN)) == 0) return absl::InfiniteDuration();
  return absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

// Connects a call of gRPC with its handler. gRPC needs this object until OnDone. The handler can live longer, because
// an exchange with upstream can continue after the reply.
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const CallEnvironment& environment, absl::string_view method, grpc::CallbackServerContext& context,
            grpc::ByteBuffer& response, MakeHandler make_handler)
      : environment_(environment),
        method_(method),
        context_(context),
        response_(response),
        trace_(TraceOf(context, environment.random)),
        handler_(make_handler(trace_, [this](const absl::Status& status, const grpc::ByteBuffer& bytes) {
          response_ = bytes;
          Finish(ToGrpcStatus(status));
        })) {}

  void Start(const grpc::ByteBuffer& request) {
    Authenticate(environment_.access, context_,
                 [this, handler = handler_, &request](absl::StatusOr<KnownCaller> caller) {
                   if (caller.ok()) {
                     const std::string& name = caller->caller->name();
                     const absl::Status counted = environment_.in_flight.SetCaller(context_, name);
                     if (!counted.ok()) return Refuse(name, counted);
                   }
                   const std::string stranger = caller.ok() ? "" : StrangerName(PeerOf(context_));
                   handler->Start(std::move(caller), stranger, request, TimeLeft(context_));
                 });
  }

 private:
  // Ends the call without its handler.
  void Refuse(const std::string& caller, const absl::Status& status) {
    CallRecord(environment_.recorders, method_, trace_).EndRefused(caller, status);
    Finish(ToGrpcStatus(status));
  }

  void OnCancel() override { handler_->Cancel(); }

  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  // Lets gRPC run OnCancel and OnDone on its current thread. Otherwise gRPC would pass each of them to another thread,
  // which takes a sixth of a call's CPU time. Both functions must be short and must not block: OnCancel only queues a
  // task, and OnDone only frees memory.
  bool InternalInlineable() override { return true; }

  const CallEnvironment& environment_;
  const absl::string_view method_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  const TraceContext trace_;
  const std::shared_ptr<UnaryHandler> handler_;
};

}  // namespace

grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, absl::string_view method,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, MakeHandler make_handler) {
  if (const absl::Status admitted = environment.in_flight.Begin(*context, request->Length()); !admitted.ok()) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, *context, method, admitted);
  }
  auto* call = new UnaryCall(environment, method, *context, *response, make_handler);
  call->Start(*request);
  return call;
}

}  // namespace stampgate
