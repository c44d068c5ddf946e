// Ends a call that arrives while the gateway drains, or while too many calls are in flight.
#ifndef STAMPGATE_GATEWAY_CALLS_REFUSED_CALL_H_
#define STAMPGATE_GATEWAY_CALLS_REFUSED_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/peer_of_call.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/grpc_status.h"

namespace stampgate {

// `Reactor` is gRPC's reactor class for unary calls or for streams. The object deletes itself when gRPC no longer needs
// it. The object does not read the caller's token, so the log names the caller by the identity of the connection. The
// audit log has no record of the call, because the gateway made no decision about it.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  // Ends a call that `environment.in_flight` has refused. `Environment` is CallEnvironment or EventEnvironment.
  template <typename Environment>
  RefusedCall(const Environment& environment, grpc::CallbackServerContext& context, absl::string_view method,
              const absl::Status& status)
      : in_flight_(environment.in_flight) {
    CallRecord(environment.recorders, method, TraceOf(context, environment.random))
        .EndRefused(StrangerName(PeerOf(context)), status);
    this->Finish(ToGrpcStatus(status));
  }

 private:
  void OnDone() override {
    in_flight_.EndRefused();
    delete this;
  }

  CallsInFlight<grpc::CallbackServerContext>& in_flight_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_REFUSED_CALL_H_
