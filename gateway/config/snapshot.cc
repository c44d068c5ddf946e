#include "gateway/config/snapshot.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gateway/config/yaml_reader.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {
namespace {

// Returns the config in `text`. If `text` has faults, returns the readable part. ParseConfig reports the faults later.
config::v1::Config ReadablePart(const std::string& text, const std::string& path) {
  config::v1::Config config;
  Places places;
  ReadYaml(text, &config, &places);
  ResolveFiles(path, config);
  return config;
}

}  // namespace

absl::StatusOr<ConfigSnapshot> ConfigSource::Read(const std::optional<ConfigSnapshot::Digest>& known) {
  constexpr int kMostReadings = 10;
  std::optional<ConfigSnapshot::Digest> former = known;
  for (int readings = 0; readings < kMostReadings; ++readings) {
    ConfigSnapshot snapshot = ReadOnce();
    if (snapshot.digest == former) return snapshot;
    former = snapshot.digest;
  }
  return absl::AbortedError(absl::StrCat(path_, ": the config or its files change faster than they can be read"));
}

ConfigSnapshot ConfigSource::ReadOnce() {
  ConfigSnapshot snapshot;
  snapshot.path = path_;
  snapshot.files = files_;
  snapshot.now = now_();
  snapshot.contents.ReadPublic(path_);
  const absl::StatusOr<std::string>& text = snapshot.contents.Public(path_);
  if (text.ok() && *text != text_) {
    text_ = *text;
    config::v1::Config config = ReadablePart(text_, path_);
    owners_ = SecretOwnersOf(config);
    named_ = FilesToRead(std::move(config), files_);
  }
  if (text.ok()) ReadFiles(named_, owners_, snapshot.contents);
  snapshot.digest = snapshot.contents.Digest();
  return snapshot;
}

}  // namespace stampgate
