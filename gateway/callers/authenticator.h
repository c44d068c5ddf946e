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
  // When the caller's token expires, leeway included; never for a caller without a token that expires.
  absl::Time until = absl::InfiniteFuture();
};

// Identifies the caller of `context`, which must stay valid until `done` is called: before this returns or, if keys of
// a token issuer must be fetched, later on another thread. Errors: those of CheckMetadata; UNAUTHENTICATED
// (CALLER_NOT_RECOGNIZED), which states what is missing and has in its metadata, as "seen", the name that StrangerName
// gives the connection; or UNAVAILABLE with the same reason while those keys cannot be fetched.
void Authenticate(const CurrentAccess& current, const grpc::CallbackServerContext& context,
                  absl::AnyInvocable<void(absl::StatusOr<KnownCaller>)> done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_AUTHENTICATOR_H_
