// The gateway's config: read, checked and complete.
#ifndef STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
#define STAMPGATE_GATEWAY_CONFIG_CONFIG_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/config/caller_rules.h"
#include "gateway/config/snapshot.h"
#include "gateway/tokens/key_set.h"
#include "stamp/signer.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// A config that keeps every rule, as far as files were looked at. Immutable.
class Config {
 public:
  // Every field with a default is set, and `events.file` too if there is a store. Paths of files do not depend on the
  // config file's folder any more.
  const config::v1::Config& operator*() const { return values_; }
  const config::v1::Config* operator->() const { return &values_; }

  // Empty unless it was read with kPolicy. The grants have no organizations then.
  const std::vector<UnreadOrganizations>& unread() const { return unread_; }

  // What is allowed and cannot be meant, such as a caller without grants: lines in the form of ParseConfig's errors.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend absl::StatusOr<struct ParsedConfig> ParseConfig(const ConfigSnapshot& snapshot);

  Config(config::v1::Config values, std::vector<UnreadOrganizations> unread, std::vector<std::string> warnings)
      : values_(std::move(values)), unread_(std::move(unread)), warnings_(std::move(warnings)) {}

  config::v1::Config values_;
  std::vector<UnreadOrganizations> unread_;
  std::vector<std::string> warnings_;
};

// A config and what its files hold. The two lists are empty with kPolicy.
struct ParsedConfig {
  Config config;
  std::vector<std::shared_ptr<const Signer>> signers;  // one for each key, in their order
  // One for each token issuer, in their order: the keys in its file; nothing if it has none, because they are fetched.
  std::vector<std::optional<TokenKeySet>> key_sets;
};

// Checks a config. Depends on the snapshot alone: reads no file and no clock.
//
// Errors: kInvalidArgument. The message names every fault at once, one a line, in the order of the file:
//
//   stampgate.yaml:12:13: upstream.base_url: must start with https://
//
// Line and column count from 1. A field that is missing has the place of the mapping that it is missing from. No values
// are quoted.
absl::StatusOr<ParsedConfig> ParseConfig(const ConfigSnapshot& snapshot);

// The file of idempotency keys and timestamps; empty if the config has no store.
std::string CallStoreFile(const config::v1::Config& config);

TlsFiles FilesOf(const config::v1::Tls& tls);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
