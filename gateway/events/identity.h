// How a call shows who makes it.
#ifndef STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_
#define STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_

#include <grpcpp/server_context.h>

#include <functional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"

namespace stampgate {

// The identity of one call. Valid as long as the call.
struct CallIdentity {
  // Finds the caller by the policy that is current now. Calls `done` once, at once or on another thread. Errors: those
  // of Authenticate.
  std::function<void(absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done)> find;

  // The name of an unknown caller in the log and in the audit: see StrangerName.
  std::function<std::string()> stranger;
};

// The identity that the connection and the metadata of a gRPC call show. `current` and `context` must outlive it.
CallIdentity IdentityOf(const CurrentAccess& current, const grpc::CallbackServerContext& context);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_IDENTITY_H_
