// The gRPC service EventService, through which callers read events.
#ifndef STAMPGATE_GATEWAY_EVENTS_SERVICE_H_
#define STAMPGATE_GATEWAY_EVENTS_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <atomic>

#include "gateway/events/environment.h"

namespace stampgate {

inline constexpr char kEventServiceName[] = "stampgate.v1.EventService";

// Registers each of its methods explicitly, because they are not operations. Each call uses the environment that is
// current when the call begins. `current` and each environment to which it points must outlive the service.
class EventService : public grpc::Service {
 public:
  explicit EventService(const std::atomic<const EventEnvironment*>& current);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SERVICE_H_
