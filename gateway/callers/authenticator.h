// Who calls: what the connection shows, and the bearer token on top.
#ifndef STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
#define STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"

namespace stampgate {

// A caller that is known, and the state of keys and grants that its call goes by.
struct KnownCaller {
  std::shared_ptr<const Access> access;
  const Caller* caller = nullptr;  // in `access`
  // When the caller's token is no longer good, leeway included; never for a caller without a token that ends.
  absl::Time until = absl::InfiniteFuture();
};

// Finds out who makes the call of `context`, which stays until `done` was called: at once, or on another thread if keys
// of a token issuer have to be fetched. Errors: those of CheckMetadata; UNAUTHENTICATED (CALLER_NOT_RECOGNIZED), which
// says what is missing, and in its metadata, as "seen", what the connection showed, as StrangerName names it; or
// UNAVAILABLE with the same reason while those keys cannot be had.
void Authenticate(const CurrentAccess& current, const grpc::CallbackServerContext& context,
                  absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
