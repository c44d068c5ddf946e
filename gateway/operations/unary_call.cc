#include "gateway/operations/unary_call.h"

#include <grpc/support/time.h>

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/peer.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/shutting_down.h"

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
  UnaryCall(const CallEnvironment& environment, grpc::CallbackServerContext& context, grpc::ByteBuffer& response,
            MakeHandler make_handler)
      : environment_(environment),
        context_(context),
        response_(response),
        handler_(make_handler(TraceOf(context, environment.random),
                              [this](const absl::Status& status, const grpc::ByteBuffer& bytes) {
                                response_ = bytes;
                                Finish(ToGrpcStatus(status));
                              })) {}

  void Start(const grpc::ByteBuffer& request) {
    Authenticate(environment_.access, context_,
                 [this, handler = handler_, &request](absl::StatusOr<KnownCaller> caller) {
                   const std::string stranger = caller.ok() ? "" : StrangerName(PeerOf(context_));
                   handler->Start(std::move(caller), stranger, request, TimeLeft(context_));
                 });
  }

 private:
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
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  const std::shared_ptr<UnaryHandler> handler_;
};

}  // namespace

grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, absl::string_view method,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, MakeHandler make_handler) {
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, *context, method, ShuttingDown());
  }
  auto* call = new UnaryCall(environment, *context, *response, make_handler);
  call->Start(*request);
  return call;
}

}  // namespace stampgate
