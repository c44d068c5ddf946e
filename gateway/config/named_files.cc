#include "gateway/config/named_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace stampgate {
namespace {

using Kind = NamedFile::Kind;

// A setting that contains a file's name. If `kind` is set, a reading with kAll includes the file.
// `reloaded` and `policy` state whether readings with kReloaded and kPolicy include the file too.
struct Setting {
  std::string* path;
  std::optional<Kind> kind = std::nullopt;
  bool reloaded = false;
  bool policy = false;
};

// Calls `visit` with every setting that contains a file's name. This is the only list of these settings.
void ForEachFile(config::v1::Config& config, absl::FunctionRef<void(const Setting& setting)> visit) {
  visit({config.mutable_upstream()->mutable_ca_file(), Kind::kPublic});
  for (config::v1::Key& key : *config.mutable_keys()) {
    if (!HoldsKey(key.file())) visit({key.mutable_file(), Kind::kSecret, true});
  }
  visit({config.mutable_events()->mutable_file()});
  if (config.store().has_sqlite()) visit({config.mutable_store()->mutable_sqlite()->mutable_folder()});
  if (config.store().has_postgresql()) {
    config::v1::PostgresqlStore& store = *config.mutable_store()->mutable_postgresql();
    for (std::string* file : {store.mutable_password_file(), store.mutable_ca_file(), store.mutable_certificate_file(),
                              store.mutable_private_key_file()}) {
      visit({file});  // libpq reads these files for each connection
    }
    visit({store.mutable_key_file(), Kind::kSecret});
  }
  visit({config.mutable_webhooks()->mutable_tls_certificate_file(), Kind::kPublic});
  visit({config.mutable_webhooks()->mutable_tls_private_key_file(), Kind::kSecret});
  if (config.has_tls()) {
    visit({config.mutable_tls()->mutable_certificate_file(), Kind::kPublic});
    visit({config.mutable_tls()->mutable_private_key_file(), Kind::kSecret});
    visit({config.mutable_tls()->mutable_client_ca_file(), Kind::kPublic});
  }
  visit({config.mutable_audit()->mutable_file()});
  visit({config.mutable_audit()->mutable_key_file(), Kind::kSecret});
  if (config.has_telemetry()) {
    visit({config.mutable_telemetry()->mutable_ca_file(), Kind::kPublic});
    visit({config.mutable_telemetry()->mutable_headers_file(), Kind::kSecret});
  }
  for (std::string& file : *config.mutable_operations()) visit({&file, Kind::kPublic, true, true});
  for (config::v1::TokenIssuer& issuer : *config.mutable_token_issuers()) {
    visit({issuer.mutable_ca_file(), Kind::kPublic, true});
    visit({issuer.mutable_jwks_file(), Kind::kPublic, true});
  }
  for (config::v1::Caller& caller : *config.mutable_callers()) {
    for (config::v1::Grant& grant : *caller.mutable_grants()) {
      visit({grant.mutable_organizations_file(), Kind::kOrganizations, true, true});
    }
  }
}

bool IsRead(const Setting& setting, ConfigFiles files) {
  if (!setting.kind.has_value() || setting.path->empty()) return false;
  switch (files) {
    case ConfigFiles::kAll:
      return true;
    case ConfigFiles::kReloaded:
      return setting.reloaded;
    case ConfigFiles::kPolicy:
      return setting.policy;
  }
  return false;
}

}  // namespace

void ResolveFiles(const std::string& config_file, config::v1::Config& config) {
  const std::filesystem::path folder = std::filesystem::path(config_file).parent_path();
  ForEachFile(config, [&folder](const Setting& setting) {
    if (!setting.path->empty()) *setting.path = (folder / *setting.path).string();
  });
  if (config.store().has_sqlite() && config.events().file().empty()) {
    const std::filesystem::path store = config.store().sqlite().folder();
    config.mutable_events()->set_file((store / "events.db").string());
  }
}

std::vector<NamedFile> FilesToRead(config::v1::Config config, ConfigFiles files) {
  const SecretOwners owners = SecretOwnersOf(config);
  std::vector<NamedFile> named;
  ForEachFile(config, [&](const Setting& setting) {
    if (!IsRead(setting, files)) return;
    named.push_back({*setting.path, *setting.kind, *setting.kind == Kind::kSecret ? owners : SecretOwners()});
  });
  return named;
}

SecretOwners SecretOwnersOf(const config::v1::Config& config) {
  return {config.secret_file_owners().begin(), config.secret_file_owners().end()};
}

bool HoldsKey(absl::string_view file) {
  constexpr size_t kHexKeyDigits = 64;
  const absl::string_view digits = file.substr(0, file.find(':'));
  return absl::StrContains(file, "-----BEGIN") ||
         (digits.size() >= kHexKeyDigits && std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit));
}

}  // namespace stampgate
