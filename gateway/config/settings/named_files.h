// Finds and reads the files that a config names.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_NAMED_FILES_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_NAMED_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/secret/file.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// The set of the files to read, among those that a config names. The gateway always checks the text of the config
// completely.
enum class ConfigFiles {
  kAll,
  // The files of the reloaded part (see reloaded_part.h). A fault in another file, such as an expired certificate, must
  // not prevent the operator from revoking a caller.
  kReloaded,
  // The files with operations, and the organizations files of grants. A file that cannot be read is not a fault. The
  // gateway does not open secret files, because a reviewer of a policy has no secrets.
  kPolicy,
};

// The users that `secret_file_owners` lists.
SecretOwners SecretOwnersOf(const config::v1::Config& config);

struct NamedFile {
  enum class Kind { kPublic, kSecret, kOrganizations };

  std::string path;
  Kind kind = Kind::kPublic;
  SecretOwners owners = {};  // who else may own the file, if it is a secret one

  friend auto operator<=>(const NamedFile&, const NamedFile&) = default;
};

// Prefixes each relative path in `config` with the folder of `config_file`. If the config has a store and `events.file`
// is empty, sets `events.file`.
void ResolveFiles(const std::string& config_file, config::v1::Config& config);

// Returns those files of the set `files` that `config` names, in the order of the config. A file that the gateway
// writes is not one of them. Requires that ResolveFiles has been called for `config`.
std::vector<NamedFile> FilesToRead(config::v1::Config config, ConfigFiles files);

// Whether `file` looks like a private key, and not like the name of a key file. The gateway never opens a file of such
// a name, because the system's error could quote the key.
bool HoldsKey(absl::string_view file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_NAMED_FILES_H_
