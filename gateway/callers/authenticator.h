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
  // When the caller's token expires, leeway included. InfiniteFuture if the caller has no token that expires.
  absl::Time until = absl::InfiniteFuture();
};

// Identifies the caller of `context`, and passes it to `done`. Calls `done` once: before Authenticate returns or, if
// keys of a token issuer must be fetched, later on another thread. `context` must stay valid until then.
//
// Errors: those of CheckMetadata; UNAUTHENTICATED (CALLER_NOT_RECOGNIZED), whose message states the missing proof, and
// whose metadata hold, as "seen", the connection's StrangerName; UNAVAILABLE (CALLER_NOT_RECOGNIZED) while the issuer's
// keys cannot be fetched.
void Authenticate(const CurrentAccess& current, const grpc::CallbackServerContext& context,
                  absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
