// The key sets that are fetched, kept over reloads of the config.
#ifndef STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_
#define STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "gateway/tokens/keys.h"
#include "gateway/upstream/client.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// For one thread at a time; what it gives out is thread-safe. Outlives every use of that, not the objects: an HTTP
// client must not be destroyed on its own thread, where the last user of keys may end, so only the pool does.
class TokenKeyPool {
 public:
  TokenKeyPool() = default;
  ~TokenKeyPool();

  TokenKeyPool(const TokenKeyPool&) = delete;
  TokenKeyPool& operator=(const TokenKeyPool&) = delete;

  // The keys at `issuer.jwks_url()`: those given out before, if that, the issuer's name and `ca_file` are the same.
  // Fetches nothing yet. Errors: those of UpstreamClient::Create.
  absl::StatusOr<std::shared_ptr<TokenKeys>> Get(const config::v1::TokenIssuer& issuer);

  // Releases the keys that no state uses, and refetches keys past their time, so that tokens need not wait for it.
  void Tidy();

 private:
  struct Source {
    std::unique_ptr<UpstreamClient> client;
    std::shared_ptr<FetchedTokenKeys> keys;  // fetches through it

    void Close();
  };

  std::map<std::tuple<std::string, std::string, std::string>, Source> sources_;  // by name, jwks_url and ca_file
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_
