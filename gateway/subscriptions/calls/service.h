// The gRPC service SubscriptionService, through which the consumers of shared subscriptions receive and settle events.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SERVICE_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <atomic>

#include "gateway/subscriptions/calls/environment.h"

namespace stampgate {

// Registers each of its methods explicitly, because they are not operations. Each call uses the environment that is
// current when the call begins. `current` and each environment to which it points must outlive the service.
class SubscriptionService : public grpc::Service {
 public:
  explicit SubscriptionService(const std::atomic<const SubscriptionEnvironment*>& current);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SERVICE_H_
