// A call that comes while the gateway drains: it ends at once.
#ifndef STAMPGATE_GATEWAY_REFUSED_CALL_H_
#define STAMPGATE_GATEWAY_REFUSED_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/call_metrics.h"
#include "gateway/calls_in_flight.h"
#include "gateway/grpc_status.h"
#include "gateway/metrics.h"

namespace stampgate {

// `Reactor` is gRPC's class for this kind of call. Deletes itself when gRPC needs it no longer. Nobody is asked who the
// caller is, and nothing goes into the audit: nothing is decided.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  // Ends a call that `in_flight` has refused. `metrics` may be null.
  RefusedCall(CallsInFlight<grpc::CallbackServerContext>& in_flight, Metrics* metrics, absl::string_view method,
              const absl::Status& status)
      : in_flight_(in_flight) {
    CallMetrics(metrics, method).End(status);
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

#endif  // STAMPGATE_GATEWAY_REFUSED_CALL_H_
