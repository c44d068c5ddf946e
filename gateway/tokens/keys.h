// The keys of one token issuer, which come from a file or from the issuer's server.
#ifndef STAMPGATE_GATEWAY_TOKENS_KEYS_H_
#define STAMPGATE_GATEWAY_TOKENS_KEYS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "gateway/tokens/jwt.h"
#include "gateway/tokens/key_set.h"
#include "webhooks/keys/cached_key_set.h"

namespace stampgate {

// Finds keys of one issuer. Thread-safe.
class TokenKeys {
 public:
  using OnKey = absl::AnyInvocable<void(absl::StatusOr<TokenKey>)>;

  virtual ~TokenKeys() = default;

  // Calls `done` once, with the key that TokenKeySet::Find returns. If the keys must be fetched first, another thread
  // calls `done`. Otherwise Find calls `done` before it returns. Errors: kUnauthenticated if the issuer has no such
  // key; kUnavailable if the issuer's keys are not available.
  virtual void Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) = 0;
};

// Returns an object that finds keys in `set`, which never changes.
std::shared_ptr<TokenKeys> MakeFixedTokenKeys(TokenKeySet set);

// Keys that are fetched from the issuer's server. The issuer can change the keys. CachedKeySet defines the limits of
// fetches.
class FetchedTokenKeys : public TokenKeys {
 public:
  using Options = CachedKeySet<TokenKeySet>::Options;

  // Ignores `options.parse`.
  FetchedTokenKeys(Options options, FetchKeySet fetch);

  void Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) override;

  // See the functions of CachedKeySet.
  void Refresh() { set_.Refresh(); }
  void Close() { set_.Close(); }

 private:
  CachedKeySet<TokenKeySet> set_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEYS_H_
