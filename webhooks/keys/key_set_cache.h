// Finds, in upstream's key set, the public key that verifies a delivery. Fetches and caches the key set.
#ifndef STAMPGATE_WEBHOOKS_KEYS_KEY_SET_CACHE_H_
#define STAMPGATE_WEBHOOKS_KEYS_KEY_SET_CACHE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "webhooks/keys/cached_key_set.h"
#include "webhooks/keys/key_set.h"

namespace stampgate {

// The number of fetches that may follow each other without a pause if a key is unknown. With more than one such fetch,
// the gateway finds a key that upstream published just after a fetch. A peer that sends invented key ids can cause only
// these fetches, and one more fetch in each interval.
inline constexpr int kMaxKeySetFetchesInARow = 3;

// A CachedKeySet of upstream's keys, with the limits that are described there. Thread-safe.
class KeySetCache {
 public:
  using OnKey = absl::AnyInvocable<void(std::optional<VerificationKey>)>;

  struct Options {
    std::string operator_name = "Service";
    absl::Duration min_refetch_interval = kMinKeySetInterval;
    std::function<absl::Time()> now;  // must not call this object
    // Receives the outcome of every fetch: OK and the key set, or the error and null. Called on the thread of the
    // fetch. This function is optional.
    std::function<void(const absl::Status& status, const KeySet* keys)> observe;
  };

  KeySetCache(Options options, FetchKeySet fetch);

  // See CachedKeySet.
  void Refresh() { keys_.Refresh(); }

  // If the key with this id is cached, calls `done` with the key before returning. Otherwise, if a fetch is in progress
  // or allowed now, calls `done` after the fetch, with the key or with nothing. If no fetch is possible, calls `done`
  // with nothing before returning.
  void Find(absl::string_view key_id, OnKey done);

 private:
  CachedKeySet<KeySet> keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_KEY_SET_CACHE_H_
