#include "gateway/config/testing.h"

#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "gateway/config/settings/organizations_file.h"
#include "gateway/config/settings/yaml_reader.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

SecretBytes TestSecret(absl::string_view text) {
  SecretBytes bytes = SecretBytes::Create(text.size()).value();
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

ConfigSnapshot ReadTestSnapshot(absl::string_view text, const std::string& path, ConfigFiles files) {
  return TestSnapshot(text, path, files, "");
}

ConfigSnapshot TestSnapshot(absl::string_view text, const std::string& path, ConfigFiles files,
                            absl::string_view key_text) {
  ConfigSnapshot snapshot;
  snapshot.path = path;
  snapshot.files = files;
  snapshot.now = absl::Now();
  snapshot.contents.PutPublic(path, std::string(text));
  config::v1::Config config;
  Locations locations;
  ReadYaml(text, &config, &locations);
  ResolveFiles(path, config);
  for (const NamedFile& named : FilesToRead(config, files)) {
    switch (named.kind) {
      case NamedFile::Kind::kPublic:
        snapshot.contents.ReadPublic(named.path);
        break;
      case NamedFile::Kind::kSecret:
        snapshot.contents.ReadSecret(named.path, named.owners);
        break;
      case NamedFile::Kind::kOrganizations:
        snapshot.organizations[named.path] = {ReadOrganizationsFile(named.path), false};
        break;
    }
  }
  if (files == ConfigFiles::kPolicy || key_text.empty()) return snapshot;
  for (const config::v1::Key& key : config.keys()) snapshot.contents.PutSecret(key.file(), TestSecret(key_text));
  const std::string& store_key = config.store().postgresql().key_file();
  if (!store_key.empty()) snapshot.contents.PutSecret(store_key, TestSecret(key_text));
  return snapshot;
}

}  // namespace stampgate
