// What may change while the gateway runs: the keys, and who may use them.
#ifndef STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
#define STAMPGATE_GATEWAY_CALLERS_ACCESS_H_

#include <memory>
#include <string>

#include "gateway/callers/directory.h"
#include "gateway/policy/key_ring.h"
#include "gateway/tokens/verifier.h"
#include "webhooks/threads/current.h"

namespace stampgate {

// Immutable. A call uses one state from its beginning to its end.
struct Access {
  std::string version;  // hex; differs if anything here does
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
};

// The state that new calls use. Keys that no later state has are wiped when the last call that uses them ends.
using CurrentAccess = Current<const Access>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
