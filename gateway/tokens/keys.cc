#include "gateway/tokens/keys.h"

#include <utility>

#include "absl/status/status.h"

namespace stampgate {
namespace {

absl::StatusOr<TokenKey> KeyOf(const TokenKeySet& set, TokenAlgorithm algorithm,
                               const std::optional<std::string>& key_id) {
  const TokenKey* key = set.Find(algorithm, key_id);
  if (key == nullptr) return absl::UnauthenticatedError("the token's key is not known");
  return *key;
}

class FixedTokenKeys : public TokenKeys {
 public:
  explicit FixedTokenKeys(TokenKeySet set) : set_(std::move(set)) {}

  void Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) override {
    done(KeyOf(set_, algorithm, key_id));
  }

 private:
  const TokenKeySet set_;
};

}  // namespace

std::shared_ptr<TokenKeys> MakeFixedTokenKeys(TokenKeySet set) {
  return std::make_shared<FixedTokenKeys>(std::move(set));
}

FetchedTokenKeys::FetchedTokenKeys(Options options, FetchKeySet fetch)
    : set_({.min_refetch_interval = options.min_refetch_interval,
            .now = std::move(options.now),
            .parse = &TokenKeySet::Parse,
            .observe = std::move(options.observe)},
           std::move(fetch)) {}

void FetchedTokenKeys::Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) {
  set_.Get([algorithm, key_id](const TokenKeySet& set) { return set.Find(algorithm, key_id) != nullptr; },
           [algorithm, key_id, done = std::move(done)](const CachedKeySet<TokenKeySet>::View& view) mutable {
             absl::StatusOr<TokenKey> key = absl::UnavailableError("the keys of the token's issuer are not available");
             if (view.set != nullptr) {
               absl::StatusOr<TokenKey> known = KeyOf(*view.set, algorithm, key_id);
               // If the last fetch failed, the set may be outdated: a key that is in the set exists, but a key that is
               // missing from the set may exist too.
               if (known.ok() || !view.is_failing) key = std::move(known);
             }
             done(std::move(key));
           });
}

}  // namespace stampgate
