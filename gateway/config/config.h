// Parses and checks the gateway's config, and sets the defaults of missing fields.
#ifndef STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
#define STAMPGATE_GATEWAY_CONFIG_CONFIG_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/http/tls_files.h"
#include "gateway/config/rules/grant_organizations.h"
#include "gateway/config/snapshot.h"
#include "gateway/tokens/key_set.h"
#include "stamp/signer.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// A config without faults. The files that the snapshot contains have no faults either. Immutable.
class Config {
 public:
  // Returns the values. Every field with a default is set. If the store has SQLite files, `events.file` is set too. If
  // the config has `webhooks.paths_file`, `webhooks.paths` has the paths in that file, unless the config was read with
  // kPolicy. The paths of files no longer depend on the folder of the config file.
  const config::v1::Config& operator*() const { return values_; }
  const config::v1::Config* operator->() const { return &values_; }

  // Returns the operations that callers can be granted. Never null.
  const std::shared_ptr<const OperationTable>& operations() const { return operations_; }

  // Returns the ids in the organizations files of the grants.
  const FileOrganizations& organizations() const { return organizations_.ids; }

  // Returns the grants whose organizations_file could not be read. Such grants have no organizations. The list is empty
  // unless the config was read with kPolicy.
  const std::vector<UnreadOrganizations>& unread() const { return organizations_.unread; }

  // Returns a line for each grant whose organizations_file cannot be used, and the number of grants whose organizations
  // are not those that the file contains now: see GrantOrganizations. Both are empty unless a reload made the config.
  const std::vector<std::string>& not_applied() const { return organizations_.not_applied; }
  int without_their_file() const { return static_cast<int>(organizations_.not_applied.size()) + organizations_.held; }

  // Returns warnings about settings that are valid but have no effect, such as a caller without grants, and about
  // subscriptions that a reload has removed. Each warning is a line in the form of ParseConfig's errors.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  friend absl::StatusOr<struct ParsedConfig> ParseConfig(const ConfigSnapshot& snapshot, OperationSet::Shared set,
                                                         const Config* in_force);

  Config(config::v1::Config values, std::shared_ptr<const OperationTable> operations, GrantOrganizations organizations,
         std::vector<std::string> warnings)
      : values_(std::move(values)),
        operations_(std::move(operations)),
        organizations_(std::move(organizations)),
        warnings_(std::move(warnings)) {}

  config::v1::Config values_;
  std::shared_ptr<const OperationTable> operations_;
  GrantOrganizations organizations_;
  std::vector<std::string> warnings_;
};

// A config and the objects made from its files. If the config was read with kPolicy, `signers` and `key_sets` are
// empty.
struct ParsedConfig {
  Config config;
  std::vector<std::shared_ptr<const Signer>> signers;  // one for each key, in the order of the config
  // One entry for each token issuer, in the order of the config: the keys in the issuer's file, or nullopt if the
  // gateway fetches the issuer's keys.
  std::vector<std::optional<TokenKeySet>> key_sets;
};

// Checks a config, whose grants are for the operations of `set`. The result depends only on the arguments, because the
// function reads no file and no clock.
//
// Errors: kInvalidArgument. The message contains all faults, one in each line, in the order of the file. For example:
//
//   stampgate.yaml:12:13: upstream.base_url: must start with https://
//
// Lines and columns count from 1. If a field is missing, the fault has the location of the mapping that should contain
// the field. The message quotes no values.
//
// A gateway that runs passes the config that it uses as `in_force`. Then an organizations file that cannot be used is
// no fault: see FindGrantOrganizations.
absl::StatusOr<ParsedConfig> ParseConfig(const ConfigSnapshot& snapshot,
                                         OperationSet::Shared set = OperationSet::BuiltIn(),
                                         const Config* in_force = nullptr);

// Returns the path of the call store's file, which contains idempotency keys and timestamps. Returns an empty text if
// the config has no store in SQLite files.
std::string CallStoreFile(const config::v1::Config& config);

// Returns the path of upstream's operation with this name, such as "submit/eth_send_transaction".
std::string OperationPath(absl::string_view name);

// Returns the TLS files of the gRPC port.
TlsFiles FilesOf(const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CONFIG_H_
