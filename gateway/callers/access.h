// The state that may change while the gateway runs: the keys, and the callers that may use them.
#ifndef STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
#define STAMPGATE_GATEWAY_CALLERS_ACCESS_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "gateway/callers/directory.h"
#include "gateway/policy/key_ring.h"
#include "gateway/tokens/verifier.h"

namespace stampgate {

// One consistent state: a call uses the same one from beginning to end. Immutable.
struct Access {
  std::string version;  // hex; differs if any part of the state differs
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
};

// The state that new calls use. Thread-safe. A replaced state lives until its last call ends; then keys that no later
// state has are wiped.
class CurrentAccess {
 public:
  explicit CurrentAccess(std::shared_ptr<const Access> access) : access_(std::move(access)) {}

  std::shared_ptr<const Access> Get() const {
    std::lock_guard lock(mutex_);
    return access_;
  }

  void Set(std::shared_ptr<const Access> access) {
    {
      std::lock_guard lock(mutex_);
      access_.swap(access);
    }
    // The previous state may be destroyed here, after the lock is released.
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Access> access_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
