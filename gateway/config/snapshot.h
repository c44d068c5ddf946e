// Reads into memory a config and the files that the config names.
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
#include "stamp/secret/file.h"
#include "stamp/secret/file_contents.h"

namespace stampgate {

// The complete input of ParseConfig.
struct ConfigSnapshot {
  using Digest = std::array<uint8_t, 32>;

  std::string path;  // the path of the config file
  ConfigFiles files = ConfigFiles::kAll;
  absl::Time now;         // the time at which certificates must be valid
  FileContents contents;  // the contents of the config file and of the files that FilesToRead returns
  Digest digest = {};     // the digest of `contents`; different contents have different digests
};

// Reads a config repeatedly. Not thread-safe.
class ConfigSource {
 public:
  ConfigSource(std::string path, ConfigFiles files, std::function<absl::Time()> now = absl::Now)
      : path_(std::move(path)), files_(files), now_(std::move(now)) {}

  // Reads the config and the files that the config names. Reads all of them again until two readings in a row agree, so
  // that the snapshot never mixes old and new files. If the first reading has the digest `known`, Read does not repeat
  // it.
  //
  // If a file cannot be read, Read returns no error: the snapshot contains the error for this file. Errors: kAborted if
  // the files change faster than they can be read.
  absl::StatusOr<ConfigSnapshot> Read(const std::optional<ConfigSnapshot::Digest>& known = std::nullopt);

 private:
  ConfigSnapshot ReadOnce();

  const std::string path_;
  const ConfigFiles files_;
  const std::function<absl::Time()> now_;
  std::string text_;              // the config's text in the last reading
  std::vector<NamedFile> named_;  // the files that `text_` names
  SecretOwners owners_;           // the owners of secret files that `text_` lists
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_
