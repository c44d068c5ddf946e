// The gRPC services grpc.reflection.v1.ServerReflection and grpc.reflection.v1alpha.ServerReflection.
#ifndef STAMPGATE_GATEWAY_REFLECTION_SERVICE_H_
#define STAMPGATE_GATEWAY_REFLECTION_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server_context.h>

#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/trace_context.h"
#include "gateway/process/periodic_task.h"
#include "gateway/reflection/environment.h"
#include "gateway/reflection/open_streams.h"

namespace stampgate {

// Serves both services for callers of the gateway. Thread-safe. Destroy it after the server.
class ReflectionService : public grpc::Service {
 public:
  struct Options {
    const CurrentAccess& access;
    CallRecorders recorders;  // the audit log must be null
    CallsInFlight<grpc::CallbackServerContext>& in_flight;
    RandomNumber random;
    size_t max_streams = 1000;
    size_t max_streams_per_caller = 250;
    OpenStreams::Options streams = {};
    absl::Duration end_of_streams = absl::InfiniteDuration();  // see ConnectionAges
  };

  explicit ReflectionService(Options options);

  // Ends all streams with UNAVAILABLE (SHUTTING_DOWN), each as soon as it is not sending a response.
  void Drain() { streams_.Drain(); }

 private:
  OpenStreams streams_;
  CallerQuota quota_;
  const ReflectionEnvironment environment_;
  PeriodicTask expiry_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_SERVICE_H_
