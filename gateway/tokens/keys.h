// Where the keys of one token issuer come from: a file, or the issuer's server.
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

// Thread-safe.
class TokenKeys {
 public:
  using OnKey = absl::AnyInvocable<void(absl::StatusOr<TokenKey>)>;

  virtual ~TokenKeys() = default;

  // Calls `done` once with what TokenKeySet::Find gives: at once, or on another thread if keys have to be fetched.
  // Errors: kUnauthenticated if there is no such key; kUnavailable if that cannot be known now.
  virtual void Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) = 0;
};

// Of a set that does not change.
std::shared_ptr<TokenKeys> MakeFixedTokenKeys(TokenKeySet set);

// Of a set that its server may change. Limits: see CachedKeySet.
class FetchedTokenKeys : public TokenKeys {
 public:
  using Options = CachedKeySet<TokenKeySet>::Options;

  // `options.parse` need not be set.
  FetchedTokenKeys(Options options, FetchKeySet fetch);

  void Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id, OnKey done) override;

  // See CachedKeySet.
  void Refresh() { set_.Refresh(); }
  void Close() { set_.Close(); }

 private:
  CachedKeySet<TokenKeySet> set_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEYS_H_
