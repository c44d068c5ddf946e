// Applies changes of the config while the gateway runs.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADER_H_

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/config/config_metrics.h"
#include "gateway/config/loader.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/config/snapshot.h"
#include "gateway/process/log.h"
#include "gateway/process/periodic_task.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {

// Logs that the gateway waits for a file that has become much shorter.
void LogShrunk(const HeldFile& file);

// Logs the warnings about a config, the first ones of many, in one line. Logs nothing if there are none.
void LogWarnings(const Config& config);

// Works on its own thread until it is destroyed. Thread-safe.
class Reloader {
 public:
  struct Options {
    ConfigSource source;       // from which `config` was loaded
    Config config;             // the config with which the gateway started
    TokenKeyPool& token_keys;  // the pool with which the config was loaded; only the reloader may use the pool now
    ConfigMetrics& metrics;    // must outlive the reloader
    // Reloads other files, such as certificates, and does other work of the same interval, each time the reloader
    // checks the config. `asked` is that of ConfigSource::Read. If it returns an error, the reloader logs the error and
    // continues.
    std::function<ReloadedMore(bool asked)> reload_more;
    // Called before new calls use `access`, whose operations can differ from those of the state before. An error
    // refuses the new config.
    std::function<absl::Status(const Access& access)> prepare = {};
    std::function<absl::Time()> now = absl::Now;
  };

  // Every `reload_interval`, and after each Wake(), reads those of the config file and the files that the reloaded part
  // of the config names that have changed. If the last reading had no fault, and the contents have not changed since
  // then, does nothing more. Otherwise parses the contents. If the result differs from `current`, sets `current`. A
  // config with a fault does not change `current`.
  //
  // Logs each change, and the warnings about the config whenever they or their lines have changed. Logs each fault
  // once, with the time at which the last good config was applied. If a setting has changed that takes effect only at
  // the next start, logs once that a restart is needed. Does not read the files of the fixed part.
  //
  // A file that can be half-written (see SettledFile) is not used, not even after Wake(). The reloader logs that it
  // waits for the file, and uses it as soon as SettledFile allows it. An organizations file that cannot be used does
  // not block other changes (see FindGrantOrganizations): the reloader logs it once.
  Reloader(Options options, CurrentAccess& current);

  // Checks the files without waiting for the interval. An operator asks for this, so the reloader also uses a file that
  // has become much shorter, if it is still.
  void Wake() {
    asked_ = true;
    task_.Wake();
  }

 private:
  void Look();
  // Returns how long a file must still stay as it is until it may be read; zero if there is no such file.
  absl::Duration LookAtConfig(bool asked);
  void LogHeld(const std::vector<HeldFile>& held);
  // Applies the config, unless it has a fault. Returns the fault.
  absl::Status Take(const absl::StatusOr<Loaded>& loaded);
  void Apply(const Loaded& loaded);
  void ShowTaken();
  void LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged);

  Options options_;
  CurrentAccess& current_;
  std::optional<ConfigSnapshot::Digest> good_digest_;  // the digest of the last reading, if that reading had no fault
  const std::string fixed_part_;                       // the fixed part of the config at the gateway's start
  absl::Time taken_;                                   // when the current config was applied
  Config in_force_;                                    // the config that was applied last
  std::map<std::string, HeldFile> held_;  // the files for which the reloader has logged that it waits, by path
  std::atomic<bool> asked_ = false;       // whether Wake was called since the last check
  std::string logged_access_;             // the fault that was logged last; empty after a success
  std::string logged_more_;
  std::string logged_not_applied_;
  std::string logged_restart_;
  PeriodicTask task_;  // destroyed first, because it uses the other members
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
