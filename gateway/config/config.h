// The gateway's config: read, checked and complete.
#ifndef STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
#define STAMPGATE_GATEWAY_CONFIG_CONFIG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/config/caller_rules.h"
#include "google/protobuf/duration.pb.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/http/tls_files.h"

namespace stampgate {

// Reads the key file that `key` names and gives the public half in hex. The error's message goes into the report: it
// holds no key material.
using OpenKey = absl::FunctionRef<absl::StatusOr<std::string>(const config::v1::Key& key)>;

// Which of the files that a config names are looked at. Its text is checked whole in any case.
enum class ConfigFiles {
  kAll,
  // Those of what a running gateway takes anew: keys, callers and token_issuers. A fault in another file, such as a
  // certificate that has expired, must not stand in the way of revoking a caller.
  kReloaded,
  // Those of the policy: the organizations of grants, where their file can be read. Nothing secret is opened, for
  // a reviewer of a policy has no secrets.
  kPolicy,
};

// A config that keeps every rule, as far as files were looked at. Immutable.
class Config {
 public:
  // Every field with a default is set, and `events.file` too if there is a store. Paths of files do not depend on the
  // config file's folder any more.
  const config::v1::Config& operator*() const { return values_; }
  const config::v1::Config* operator->() const { return &values_; }

  // Empty unless it was read with kPolicy. The grants have no organizations then.
  const std::vector<UnreadOrganizations>& unread() const { return unread_; }

  // What is allowed and cannot be meant, such as a caller without grants: lines in the form of LoadConfig's errors.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend absl::StatusOr<Config> ParseConfig(absl::string_view text, const std::string& path, OpenKey open_key,
                                            ConfigFiles files);

  Config(config::v1::Config values, std::vector<UnreadOrganizations> unread, std::vector<std::string> warnings)
      : values_(std::move(values)), unread_(std::move(unread)), warnings_(std::move(warnings)) {}

  config::v1::Config values_;
  std::vector<UnreadOrganizations> unread_;
  std::vector<std::string> warnings_;
};

// Reads and checks the file at `path`. `open_key` is called once for each key whose `file` is well formed, in the order
// of the file, whether or not there are faults elsewhere; with kPolicy never.
//
// Errors: kInvalidArgument. The message names every fault at once, one a line, in the order of the file:
//
//   stampgate.yaml:12:13: upstream.base_url: must start with https://
//
// Line and column count from 1. A field that is missing has the place of the mapping that it is missing from. No values
// are quoted.
absl::StatusOr<Config> LoadConfig(const std::string& path, OpenKey open_key, ConfigFiles files = ConfigFiles::kAll);

// LoadConfig for a text that is already read from `path`.
absl::StatusOr<Config> ParseConfig(absl::string_view text, const std::string& path, OpenKey open_key,
                                   ConfigFiles files = ConfigFiles::kAll);

// The file of idempotency keys and timestamps; empty if the config has no store.
std::string CallStoreFile(const config::v1::Config& config);

TlsFiles FilesOf(const config::v1::Tls& tls);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
