// The state that a reload replaces while the gateway runs: the operations, the keys, the callers that may use them, and
// other settings.
#ifndef STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
#define STAMPGATE_GATEWAY_CALLERS_ACCESS_H_

#include <memory>
#include <string>

#include "base/threads/current.h"
#include "gateway/callers/directory.h"
#include "gateway/policy/key_ring.h"
#include "gateway/tokens/verifier.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// A consistent state of operations, keys, callers and other settings. A call uses one state from its beginning to its
// end. Immutable.
struct Access {
  std::string version;                               // in hex; two different states have different versions
  std::shared_ptr<const OperationTable> operations;  // never null
  std::string operations_sha256;                     // in hex; the digest of `operations`
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
  config::v1::Config settings;            // those that a reload applies, and no others
};

// The state that new calls use. After a reload has replaced a state, the gateway keeps the old state until the last
// call that uses it ends. The gateway then wipes the keys that no later state contains.
using CurrentAccess = Current<const Access>;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
