// The files that a config names.
#ifndef STAMPGATE_GATEWAY_CONFIG_NAMED_FILES_H_
#define STAMPGATE_GATEWAY_CONFIG_NAMED_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "stamp/secret/file_contents.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Which of the files that a config names are read. Its text is checked whole in any case.
enum class ConfigFiles {
  kAll,
  // Those of the reloaded part (see reloaded_part.h). A fault in another file, such as a certificate that has expired,
  // must not prevent an operator from revoking a caller.
  kReloaded,
  // The organizations of grants, where their file can be read. Nothing secret is opened: a reviewer of a policy has no
  // secrets.
  kPolicy,
};

struct NamedFile {
  std::string path;
  bool secret = false;

  friend bool operator==(const NamedFile&, const NamedFile&) = default;
};

// Makes the paths in `config` independent of the folder of `config_file`, from which they start. Sets `events.file` if
// there is a store and the file has no name.
void ResolveFiles(const std::string& config_file, config::v1::Config& config);

// The files that the gateway reads whole, in the order of the config. The paths of `config` have been resolved.
std::vector<NamedFile> FilesToRead(config::v1::Config config, ConfigFiles files);

// Reads the files, unless `contents` has them.
void ReadFiles(const std::vector<NamedFile>& files, FileContents& contents);

// Whether `file` is itself a key, written where the name of the key's file belongs. Such a file is never opened: an
// error of the system could quote its name.
bool HoldsKey(absl::string_view file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_NAMED_FILES_H_
