// A config and the files that it names, read into memory.
#ifndef STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_
#define STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gateway/config/named_files.h"
#include "stamp/secret/file_contents.h"

namespace stampgate {

// All that ParseConfig depends on.
struct ConfigSnapshot {
  using Digest = std::array<uint8_t, 32>;

  std::string path;  // of the config
  ConfigFiles files = ConfigFiles::kAll;
  absl::Time now;         // certificates must be valid then
  FileContents contents;  // of the config, and of FilesToRead(its text, files)
  Digest digest = {};     // of the contents; differs if they do
};

// Reads the config again and again. One thread at a time.
class ConfigSource {
 public:
  ConfigSource(std::string path, ConfigFiles files, std::function<absl::Time()> now = absl::Now)
      : path_(std::move(path)), files_(files), now_(std::move(now)) {}

  // Reads the config and the files that it names, as of one moment: again, until two readings agree, so that files that
  // are replaced meanwhile give no mixture of old and new. A reading that agrees with `known` is good at once. A file
  // that cannot be read is no error here: the snapshot has the file's error. Errors: kAborted if the files change
  // faster than they can be read.
  absl::StatusOr<ConfigSnapshot> Read(const std::optional<ConfigSnapshot::Digest>& known = std::nullopt);

 private:
  ConfigSnapshot ReadOnce();

  const std::string path_;
  const ConfigFiles files_;
  const std::function<absl::Time()> now_;
  std::string text_;              // of the last reading
  std::vector<NamedFile> named_;  // by that text
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_
