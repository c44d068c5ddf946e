// The numbers of the callers' idempotency keys, and whether a caller has its share of all keys.
#ifndef STAMPGATE_GATEWAY_STORE_KEY_SHARES_H_
#define STAMPGATE_GATEWAY_STORE_KEY_SHARES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Keys must stay until they expire, so no caller can give up keys when others want some. Therefore a store accepts a
// new key beyond its maximum if the key's caller does not have its share. With n callers, a store has at most
// 1 + 1/2 + ... + 1/n times the maximum, if each of them comes when those before it have taken what they can. Not
// thread-safe.
class KeyShares {
 public:
  // Adds keys of a caller; a negative number removes some.
  void Add(absl::string_view caller, int64_t keys);

  // Whether `caller` has its share: `max` keys, divided by the callers that have keys, itself included.
  bool HasShare(absl::string_view caller, int64_t max) const;

 private:
  absl::flat_hash_map<std::string, int64_t> keys_;  // the callers that have keys
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_KEY_SHARES_H_
