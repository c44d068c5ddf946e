// What may change while the gateway runs: the keys, and who may use them.
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

// One state of it, whole: a call uses one from its beginning to its end. Immutable.
struct Access {
  std::string version;  // hex; differs if anything here does
  KeyRing keys;
  CallerDirectory callers;
  std::shared_ptr<TokenVerifier> tokens;  // null if no token issuer is configured
};

// The state that new calls use. Thread-safe. A state that is replaced lives until its last call ends; keys that no
// later state has are wiped then.
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
    // The former state may end here, outside of the lock.
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Access> access_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_ACCESS_H_
