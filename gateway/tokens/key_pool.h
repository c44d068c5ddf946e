// Keeps the fetched key sets of token issuers when the config is reloaded.
#ifndef STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_
#define STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/statusor.h"
#include "base/loop/event_loops.h"
#include "gateway/metrics/registry.h"
#include "gateway/tokens/keys.h"
#include "gateway/upstream/client.h"
#include "gateway/upstream/upstream_metrics.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Creates, keeps and releases the keys of issuers. Only one thread may use the pool at a time, but any thread may use
// the keys that it returns. Nobody may use these keys after the pool is destroyed. The pool owns the HTTP clients that
// fetch keys, and the keys do not: an HTTP client must not be destroyed on its own thread, but the last user of the
// keys may run on that thread.
class TokenKeyPool {
 public:
  // The keys are fetched on `loops`, which must run until this object is destroyed.
  explicit TokenKeyPool(std::shared_ptr<EventLoops> loops) : loops_(std::move(loops)) {}
  ~TokenKeyPool();

  TokenKeyPool(const TokenKeyPool&) = delete;
  TokenKeyPool& operator=(const TokenKeyPool&) = delete;

  // Returns the keys that are fetched from `issuer.jwks_url()`. If the pool already has keys for the same name, URL and
  // `ca_file`, returns these keys. Does not start a fetch. Errors: kInvalidArgument if the URL is malformed; those of
  // UpstreamClient::Create.
  absl::StatusOr<std::shared_ptr<TokenKeys>> Get(const config::v1::TokenIssuer& issuer);

  // Releases the keys that nobody except the pool uses. Fetches expired keys again, so that the next token does not
  // wait for the fetch.
  void Tidy();

 private:
  struct Source {
    std::unique_ptr<UpstreamClient> client;
    std::shared_ptr<FetchedTokenKeys> keys;  // use `client` to fetch

    void Close();
  };

  const std::shared_ptr<EventLoops> loops_;
  // Nobody reads these: the metrics of upstream do not contain the fetches of keys from other servers.
  MetricRegistry registry_;
  UpstreamMetrics metrics_{registry_};
  std::map<std::tuple<std::string, std::string, std::string>, Source> sources_;  // by name, jwks_url and ca_file
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_POOL_H_
