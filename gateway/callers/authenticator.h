// Identifies the caller of a call by its connection and its bearer token.
#ifndef STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
#define STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"

namespace stampgate {

// A known caller, and the state of keys and grants that its call uses.
struct KnownCaller {
  std::shared_ptr<const Access> access;
  const Caller* caller = nullptr;  // a caller of `access`
  // When the gateway stops accepting the caller's token: its expiry plus the leeway. InfiniteFuture if the caller has
  // sent no token that expires.
  absl::Time until = absl::InfiniteFuture();
};

// Identifies the caller of `context`, and passes the caller to `done`. Calls `done` once: before Authenticate returns
// or, if the gateway must first fetch keys of a token issuer, later on another thread. `context` must stay valid until
// `done` is called.
//
// Errors: those of CheckMetadata; UNAUTHENTICATED (CALLER_NOT_RECOGNIZED) if the caller is not known; UNAVAILABLE
// (CALLER_NOT_RECOGNIZED) while the gateway cannot fetch the issuer's keys. The message of UNAUTHENTICATED states the
// missing proof. In UNAUTHENTICATED, the member `seen` of ErrorInfo.metadata contains the StrangerName of the
// connection's peer.
void Authenticate(const CurrentAccess& current, const grpc::CallbackServerContext& context,
                  absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
