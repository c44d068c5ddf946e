// The state that may change while the gateway runs: the keys, and the callers that may use them.
#ifndef STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
#define STAMPGATE_GATEWAY_CALLERS_ACCESS_H_

#include <memory>
#include <string>

#include "gateway/callers/directory.h"
#include "gateway/policy/key_ring.h"
#include "gateway/tokens/verifier.h"
#include "webhooks/threads/current.h"

namespace stampgate {

// One consistent state: a call uses the same one from beginning to end. Immutable.
struct Access {
  std::string version;  // hex; differs if any part of the state differs
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
};

// The state that new calls use. A replaced state lives until its last call ends. Then the gateway wipes the keys that
// no later state has.
using CurrentAccess = Current<const Access>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
