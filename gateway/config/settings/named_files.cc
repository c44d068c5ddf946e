#include "gateway/config/settings/named_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "gateway/config/settings/setting_rule.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "stampgate/config/v1/setting.pb.h"

namespace stampgate {
namespace {

using config::v1::FileKind;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A setting that names a file.
struct Setting {
  std::string& path;  // never empty
  FileKind kind;
  bool reloaded;  // whether a reload applies the setting
};

using Visit = absl::FunctionRef<void(const Setting& setting)>;

void VisitFile(Message& message, const FieldDescriptor& field, int i, bool reloaded, Visit visit) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  std::string path =
      repeated ? reflection.GetRepeatedString(message, &field, i) : reflection.GetString(message, &field);
  const FileKind kind = RuleOf(field).file();
  if (path.empty() || (kind == config::v1::FILE_KIND_SIGNING_KEY && HoldsKey(path))) return;
  visit({path, kind, reloaded});
  if (repeated) {
    reflection.SetRepeatedString(&message, &field, i, std::move(path));
  } else {
    reflection.SetString(&message, &field, std::move(path));
  }
}

// Calls `visit` with every setting in `message` that names a file: with those whose option `file` says so. `visit` may
// change the path. `reloaded` is whether a reload applies all settings in `message`.
void ForEachFile(Message& message, bool reloaded, Visit visit) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const bool applied = reloaded || RuleOf(*field).reloaded();
    for (int i = 0; i < (repeated ? reflection.FieldSize(message, field) : 1); ++i) {
      if (HoldsSettings(*field)) {
        ForEachFile(repeated ? *reflection.MutableRepeatedMessage(&message, field, i)
                             : *reflection.MutableMessage(&message, field),
                    applied, visit);
      } else if (RuleOf(*field).file() != config::v1::FILE_KIND_UNSPECIFIED) {
        VisitFile(message, *field, i, applied, visit);
      }
    }
  }
}

bool IsRead(const Setting& setting, ConfigFiles files) {
  if (setting.kind == config::v1::FILE_KIND_OTHER) return false;
  switch (files) {
    case ConfigFiles::kAll:
      return true;
    case ConfigFiles::kReloaded:
      return setting.reloaded;
    case ConfigFiles::kPolicy:
      return setting.kind == config::v1::FILE_KIND_OPERATIONS || setting.kind == config::v1::FILE_KIND_ORGANIZATIONS;
  }
  return false;
}

NamedFile::Kind KindOf(FileKind kind) {
  switch (kind) {
    case config::v1::FILE_KIND_SECRET:
    case config::v1::FILE_KIND_SIGNING_KEY:
      return NamedFile::Kind::kSecret;
    case config::v1::FILE_KIND_ORGANIZATIONS:
      return NamedFile::Kind::kOrganizations;
    default:
      return NamedFile::Kind::kPublic;
  }
}

}  // namespace

void ResolveFiles(const std::string& config_file, config::v1::Config& config) {
  const std::filesystem::path folder = std::filesystem::path(config_file).parent_path();
  ForEachFile(config, /*reloaded=*/false,
              [&folder](const Setting& setting) { setting.path = (folder / setting.path).string(); });
  if (config.store().has_sqlite() && config.events().file().empty()) {
    const std::filesystem::path store = config.store().sqlite().folder();
    config.mutable_events()->set_file((store / "events.db").string());
  }
}

std::vector<NamedFile> FilesToRead(config::v1::Config config, ConfigFiles files) {
  const SecretOwners owners = SecretOwnersOf(config);
  std::vector<NamedFile> named;
  ForEachFile(config, /*reloaded=*/false, [&](const Setting& setting) {
    if (!IsRead(setting, files)) return;
    const NamedFile::Kind kind = KindOf(setting.kind);
    named.push_back({setting.path, kind, kind == NamedFile::Kind::kSecret ? owners : SecretOwners()});
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
