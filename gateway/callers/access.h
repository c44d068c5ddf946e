// The state that a reload replaces while the gateway runs: the operations, the keys, and the callers that may use them.
#ifndef STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
#define STAMPGATE_GATEWAY_CALLERS_ACCESS_H_

#include <memory>
#include <string>

#include "base/threads/current.h"
#include "gateway/callers/directory.h"
#include "gateway/policy/key_ring.h"
#include "gateway/tokens/verifier.h"
#include "translate/operation_table.h"

namespace stampgate {

// A consistent state of operations, keys and callers. A call uses one state from its beginning to its end. Immutable.
struct Access {
  std::string version;                               // in hex; two different states have different versions
  std::shared_ptr<const OperationTable> operations;  // never null
  std::string operations_sha256;                     // in hex; the digest of `operations`
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
};

// The state that new calls use. After a reload has replaced a state, the gateway keeps the old state until the last
// call that uses it ends. The gateway then wipes the keys that no later state contains.
using CurrentAccess = Current<const Access>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
