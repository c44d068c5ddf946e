#include "gateway/tokens/key_pool.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/time/clock.h"
#include "gateway/process/log.h"
#include "gateway/tokens/key_set_url.h"
#include "gateway/upstream/key_set_fetch.h"
#include "webhooks/keys/jwk_set.h"

namespace stampgate {
namespace {

void LogFetch(const std::string& issuer, const absl::Status& status, const TokenKeySet* set) {
  if (!status.ok()) {
    return Log(Severity::kWarning, "token_keys_not_fetched",
               {{"issuer", issuer}, {"message", std::string(status.message())}});
  }
  Log(Severity::kInfo, "token_keys_fetched", {{"issuer", issuer}});
  for (const std::string& why : set->refused()) {
    Log(Severity::kWarning, "token_key_refused", {{"issuer", issuer}, {"message", why}});
  }
}

absl::StatusOr<std::unique_ptr<UpstreamClient>> MakeClient(const std::string& base_url, const std::string& ca_file,
                                                           std::shared_ptr<EventLoops> loops,
                                                           UpstreamMetrics& metrics) {
  UpstreamClient::Options options;
  options.base_url = base_url;
  options.ca_file = ca_file;
  options.connect_timeout = kKeySetTime;
  options.exchange_timeout = kKeySetTime;
  options.max_response_bytes = kMaxKeySetBytes;
  return UpstreamClient::Create(options, std::move(loops), metrics);
}

}  // namespace

void TokenKeyPool::Source::Close() {
  keys->Close();
  client.reset();
}

TokenKeyPool::~TokenKeyPool() {
  for (auto& [id, source] : sources_) source.Close();
}

absl::StatusOr<std::shared_ptr<TokenKeys>> TokenKeyPool::Get(const config::v1::TokenIssuer& issuer) {
  auto id = std::tuple(issuer.name(), issuer.jwks_url(), issuer.ca_file());
  if (const auto known = sources_.find(id); known != sources_.end()) return known->second.keys;
  ABSL_ASSIGN_OR_RETURN(KeySetUrl url, ParseKeySetUrl(issuer.jwks_url()));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<UpstreamClient> client,
                        MakeClient(url.base_url, issuer.ca_file(), loops_, metrics_));
  FetchedTokenKeys::Options options;
  options.now = [] { return absl::Now(); };
  options.observe = [name = issuer.name()](const absl::Status& status, const TokenKeySet* set) {
    LogFetch(name, status, set);
  };
  auto keys = std::make_shared<FetchedTokenKeys>(std::move(options), FetchKeySetThrough(*client, std::move(url.path)));
  sources_.emplace(std::move(id), Source{std::move(client), keys});
  return keys;
}

void TokenKeyPool::Tidy() {
  for (auto it = sources_.begin(); it != sources_.end();) {
    Source& source = it->second;
    // If only the pool refers to the keys, no other thread can begin to use the keys now.
    if (source.keys.use_count() == 1) {
      source.Close();
      it = sources_.erase(it);
    } else {
      source.keys->Refresh();
      ++it;
    }
  }
}

}  // namespace stampgate
