// The keys that sign deliveries, from a key set that is kept as long as upstream allows.
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

// So many fetches may follow each other at once when a key is not known: one that upstream published a moment after a
// fetch is found, and a peer that makes keys up gets no more than these and one in each interval.
inline constexpr int kMaxKeySetFetchesInARow = 3;

// Thread-safe: a CachedKeySet, which states the limits, asked for single keys.
class KeySetCache {
 public:
  using OnKey = absl::AnyInvocable<void(std::optional<VerificationKey>)>;

  struct Options {
    std::string operator_name = "Service";
    absl::Duration min_refetch_interval = kMinKeySetInterval;
    std::function<absl::Time()> now;  // calls nothing here
    // Gets every fetch that ended: OK with what was refused in it, or the error. Called on the fetch's thread.
    // May be empty.
    std::function<void(const absl::Status& status, const KeySet* keys)> observe;
  };

  KeySetCache(Options options, FetchKeySet fetch);

  // See CachedKeySet.
  void Refresh() { keys_.Refresh(); }

  // Calls `done` with the key of that id: at once if it is known, otherwise with the outcome of the fetch that is in
  // progress or allowed now. If there is no such fetch, calls it at once with nothing.
  void Find(absl::string_view key_id, OnKey done);

 private:
  CachedKeySet<KeySet> keys_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_KEY_SET_CACHE_H_
