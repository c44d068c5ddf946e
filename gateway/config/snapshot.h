// Reads into memory a config and the files that the config names.
#ifndef STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_
#define STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/secret/bytes.h"
#include "base/secret/file_contents.h"
#include "base/secret/settled_file.h"
#include "base/secret/watched_file.h"
#include "gateway/config/rules/grant_organizations.h"
#include "gateway/config/settings/named_files.h"

namespace stampgate {

// The complete input of ParseConfig.
struct ConfigSnapshot {
  using Digest = std::array<uint8_t, 32>;

  std::string path;  // the path of the config file
  ConfigFiles files = ConfigFiles::kAll;
  absl::Time now;         // the time at which certificates must be valid
  FileContents contents;  // the contents of the config file and of the files that FilesToRead returns, except the next
  OrganizationsFiles organizations;  // the organizations files
  Digest digest = {};                // snapshots with different contents have different digests
};

// A file that has changed, but is not used yet, because it can be half-written: see SettledFile.
struct HeldFile {
  std::string path;
  bool shrank = false;
  off_t former_bytes = 0;
  off_t bytes = 0;
};

// Reads a config repeatedly. Not thread-safe.
class ConfigSource {
 public:
  struct Options {
    std::function<absl::Time()> now = absl::Now;
    std::function<SettledFile::Time()> steady_now = std::chrono::steady_clock::now;
    SettledFile::StateOf state_of = FileStateOf;
  };

  // How long a changed config waits for an organizations file that is being written.
  static constexpr std::chrono::seconds kMostWait{10};

  explicit ConfigSource(std::string path) : ConfigSource(std::move(path), Options()) {}
  ConfigSource(std::string path, Options options);

  struct Reading {
    std::optional<ConfigSnapshot> snapshot;  // not set while a file is held for which the others must wait
    std::vector<HeldFile> held;
    std::chrono::nanoseconds wait = {};  // the time until a held file may be read; zero if no file is held
  };

  // Reads those files that have changed and are whole. The files in `snapshot` are of one moment: if a file changes
  // while other files are read, Read starts again. `asked` is whether an operator has asked for the files as they are
  // now.
  //
  // The first reading uses all files as it finds them. Later:
  // - Organizations files are used independently of each other and of all other files. `snapshot` contains the last
  //   whole content of each, and states whether the file is held.
  // - All other files are used together, so that a key never signs under a policy that was written for another one.
  //   While one of them is held, there is no snapshot.
  // - If one of these has changed, they wait up to kMostWait for organizations files that are held.
  //
  // If a file cannot be read, Read returns no error: the snapshot contains the error for this file. Errors: kAborted if
  // the files change faster than they can be read.
  absl::StatusOr<Reading> Read(ConfigFiles files, bool asked = false);

  // Records that the contents of the last snapshot are in force now, so that a later reading finds out what has
  // changed.
  void SetInForce();

  const std::string& path() const { return path_; }

 private:
  using Public = WatchedFile<std::string>;
  using Secret = WatchedFile<SecretBytes>;
  using Organizations = WatchedFile<std::shared_ptr<const OrganizationIds>>;
  using AnyFile = std::variant<Public, Secret, Organizations>;
  using Digest = ConfigSnapshot::Digest;

  // A state of all files but the organizations files.
  struct Base {
    Digest digest = {};
    std::vector<NamedFile> named;  // the files that the config names, among them organizations files
  };

  // Whether a whole file has changed since it was looked at or, with `or_is_held`, whether a file is held.
  bool HasChanged(bool or_is_held) const;
  void LookAtAll(ConfigFiles files, bool asked);
  void FindNames(ConfigFiles files);
  // Returns the contents of the config and of the files `named`, or nullopt if one of them is held.
  std::optional<FileContents> WholeContents(const std::vector<NamedFile>& named) const;
  // Whether the config must still wait for an organizations file. Reduces `*wait` to the rest of this time.
  bool MustWait(const Base& base, std::chrono::nanoseconds* wait);
  // Returns what a reading with kReloaded would find now. Requires that no file is held.
  Base BaseOfReload() const;
  ConfigSnapshot SnapshotOf(FileContents contents, const Digest& digest, ConfigFiles files) const;

  const std::string path_;
  const Options options_;
  Public config_;
  std::map<NamedFile, AnyFile> files_;  // the files that the config names, or that the config in force names
  std::vector<NamedFile> named_;        // the files that the config names
  std::string text_;                    // the config's text from which `named_` was made
  std::optional<ConfigFiles> which_;    // and the set of files; not set before the first reading
  std::optional<Digest> pending_;       // of the config that waits for an organizations file
  SettledFile::Time pending_since_;
  std::optional<Base> last_;  // of the last snapshot
  std::optional<Base> in_force_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SNAPSHOT_H_
