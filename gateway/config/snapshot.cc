#include "gateway/config/snapshot.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/secret/file.h"
#include "base/secret/sha256.h"
#include "gateway/config/settings/organizations_file.h"
#include "gateway/config/settings/yaml_reader.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {
namespace {

// Returns the files that the config `text` names. If `text` has faults, returns the files that the readable part of
// `text` names. ParseConfig reports the faults later.
std::vector<NamedFile> FilesNamedIn(const std::string& text, const std::string& path, ConfigFiles files) {
  config::v1::Config config;
  Locations locations;
  ReadYaml(text, &config, &locations);
  ResolveFiles(path, config);
  return FilesToRead(std::move(config), files);
}

absl::StatusOr<std::string> ReadPublic(const std::string& path) { return ReadPublicFile(path); }

absl::string_view AsText(const std::array<uint8_t, 32>& digest) {
  return absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
}

// Returns a digest of the file's content and of whether it is held.
std::array<uint8_t, 32> DigestOf(const std::string& path, const OrganizationsFile& file) {
  return Sha256(absl::StrCat(path.size(), path, file.is_held ? "held" : "whole", file.ids.status().ToString(),
                             file.ids.ok() ? AsText((*file.ids)->digest()) : ""));
}

// Reduces `*wait` to `other`, unless `*wait` is shorter. Zero means that there is nothing to wait for.
void Reduce(std::chrono::nanoseconds* wait, std::chrono::nanoseconds other) {
  if (wait->count() == 0 || other < *wait) *wait = other;
}

template <typename File>
void NoteHeld(const File& file, std::vector<HeldFile>* held, std::chrono::nanoseconds* wait) {
  if (file.is_whole()) return;
  held->push_back({file.file().path(), file.shrank(), file.file().former_size(), file.file().size()});
  Reduce(wait, file.wait());
}

}  // namespace

ConfigSource::ConfigSource(std::string path, Options options)
    : path_(std::move(path)),
      options_(std::move(options)),
      config_(SettledFile(path_, SettledFile::First::kAsFound, options_.state_of), ReadPublic) {}

absl::StatusOr<ConfigSource::Reading> ConfigSource::Read(ConfigFiles files, bool asked) {
  constexpr int kMostReadings = 10;
  int readings = 0;
  do {
    if (++readings > kMostReadings) {
      return absl::AbortedError(absl::StrCat(path_, ": the config or its files change faster than they can be read"));
    }
    if (!which_.has_value()) {  // what has changed since the last try is still used as it is found
      config_.BeginAgain();
      files_.clear();
    }
    LookAtAll(files, asked);
  } while (HasChanged(/*or_is_held=*/!which_.has_value()));
  which_ = files;
  Reading reading;
  NoteHeld(config_, &reading.held, &reading.wait);
  for (const NamedFile& named : named_) {
    std::visit([&](const auto& file) { NoteHeld(file, &reading.held, &reading.wait); }, files_.at(named));
  }
  std::optional<FileContents> contents = WholeContents(named_);
  if (contents.has_value()) {
    Base base{contents->Digest(), named_};
    if (!MustWait(base, &reading.wait)) {
      reading.snapshot = SnapshotOf(*std::move(contents), base.digest, files);
      last_ = files == ConfigFiles::kAll ? BaseOfReload() : std::move(base);
    }
  }
  for (auto& [named, file] : files_) {
    if (auto* secret = std::get_if<Secret>(&file)) secret->Free();
  }
  return reading;
}

void ConfigSource::SetInForce() { in_force_ = last_; }

void ConfigSource::LookAtAll(ConfigFiles files, bool asked) {
  const SettledFile::Time now = options_.steady_now();
  config_.Look(now, asked);
  FindNames(files);
  std::set<NamedFile> wanted(named_.begin(), named_.end());
  if (in_force_.has_value()) wanted.insert(in_force_->named.begin(), in_force_->named.end());
  std::erase_if(files_, [&wanted](const auto& file) { return !wanted.contains(file.first); });
  const auto first = which_.has_value() ? SettledFile::First::kWhenStill : SettledFile::First::kAsFound;
  for (const NamedFile& named : wanted) {
    auto found = files_.find(named);
    if (found == files_.end()) {
      SettledFile file(named.path, first, options_.state_of);
      switch (named.kind) {
        case NamedFile::Kind::kPublic:
          found = files_.emplace(named, Public(std::move(file), ReadPublic)).first;
          break;
        case NamedFile::Kind::kSecret:
          found = files_
                      .emplace(named, Secret(std::move(file),
                                             [owners = named.owners](const std::string& path) {
                                               return ReadSecretFile(path, owners);
                                             }))
                      .first;
          break;
        case NamedFile::Kind::kOrganizations:
          found = files_.emplace(named, Organizations(std::move(file), ReadOrganizationsFile)).first;
          break;
      }
    }
    std::visit([now, asked](auto& file) { file.Look(now, asked); }, found->second);
  }
}

void ConfigSource::FindNames(ConfigFiles files) {
  const std::shared_ptr<const absl::StatusOr<std::string>>& content = config_.content();
  const std::string text = content != nullptr && content->ok() ? **content : "";
  if (text == text_ && files == which_) return;
  text_ = text;
  named_ = FilesNamedIn(text_, path_, files);
}

bool ConfigSource::HasChanged(bool or_is_held) const {
  const auto has_changed = [or_is_held](const auto& file) {
    return file.is_whole() ? !file.file().IsAsSeen() : or_is_held;
  };
  return has_changed(config_) || std::any_of(files_.begin(), files_.end(), [&has_changed](const auto& file) {
           return std::visit(has_changed, file.second);
         });
}

std::optional<FileContents> ConfigSource::WholeContents(const std::vector<NamedFile>& named) const {
  if (!config_.is_whole()) return std::nullopt;
  FileContents contents;
  contents.PutPublic(path_, config_.content());
  for (const NamedFile& each : named) {
    const AnyFile& any = files_.at(each);
    if (const auto* file = std::get_if<Public>(&any)) {
      if (!file->is_whole()) return std::nullopt;
      contents.PutPublic(each.path, file->content());
    } else if (const auto* secret = std::get_if<Secret>(&any)) {
      if (!secret->is_whole()) return std::nullopt;
      contents.PutSecret(each.path, secret->content());
    }
  }
  return contents;
}

ConfigSource::Base ConfigSource::BaseOfReload() const {
  Base base;
  base.named = FilesNamedIn(text_, path_, ConfigFiles::kReloaded);
  base.digest = WholeContents(base.named)->Digest();
  return base;
}

bool ConfigSource::MustWait(const Base& base, std::chrono::nanoseconds* wait) {
  const bool is_held = std::any_of(base.named.begin(), base.named.end(), [this](const NamedFile& named) {
    const auto* file = std::get_if<Organizations>(&files_.at(named));
    return file != nullptr && !file->is_whole();
  });
  if (!is_held || !in_force_.has_value() || base.digest == in_force_->digest) {
    pending_.reset();
    return false;
  }
  const SettledFile::Time now = options_.steady_now();
  if (pending_ != base.digest) {
    pending_ = base.digest;
    pending_since_ = now;
  }
  const std::chrono::nanoseconds left = kMostWait - (now - pending_since_);
  if (left.count() <= 0) return false;
  Reduce(wait, left);
  return true;
}

ConfigSnapshot ConfigSource::SnapshotOf(FileContents contents, const Digest& digest, ConfigFiles files) const {
  ConfigSnapshot snapshot;
  snapshot.path = path_;
  snapshot.files = files;
  snapshot.now = options_.now();
  snapshot.contents = std::move(contents);
  std::string digests(AsText(digest));
  for (const NamedFile& named : named_) {
    const auto* file = std::get_if<Organizations>(&files_.at(named));
    if (file == nullptr) continue;
    OrganizationsFile& known = snapshot.organizations[named.path];
    known.ids = file->content() == nullptr ? absl::UnavailableError("it is being written") : *file->content();
    known.is_held = !file->is_whole();
    absl::StrAppend(&digests, AsText(DigestOf(named.path, known)));
  }
  snapshot.digest = Sha256(digests);
  return snapshot;
}

}  // namespace stampgate
