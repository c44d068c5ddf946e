#include "webhooks/keys/key_set_cache.h"

#include <utility>

namespace stampgate {

KeySetCache::KeySetCache(Options options, FetchKeySet fetch)
    : keys_({.min_refetch_interval = options.min_refetch_interval,
             .max_fetches_in_a_row = kMaxKeySetFetchesInARow,
             .now = std::move(options.now),
             .parse = [name = std::move(options.operator_name)](
                          std::string json) { return KeySet::Parse(std::move(json), name); },
             .observe = std::move(options.observe)},
            std::move(fetch)) {}

void KeySetCache::Find(absl::string_view key_id, OnKey done) {
  const std::string id(key_id);
  keys_.Get([id](const KeySet& set) { return set.Find(id) != nullptr; },
            [id, done = std::move(done)](const CachedKeySet<KeySet>::View& view) mutable {
              const VerificationKey* key = view.set == nullptr ? nullptr : view.set->Find(id);
              done(key == nullptr ? std::nullopt : std::optional<VerificationKey>(*key));
            });
}

}  // namespace stampgate
