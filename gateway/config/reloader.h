// Applies changes of the config while the gateway runs.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADER_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/settled_file.h"
#include "gateway/config/snapshot.h"
#include "gateway/metrics/metrics.h"
#include "gateway/process/log.h"
#include "gateway/process/periodic_task.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {

// Works on its own thread until it is destroyed. Thread-safe.
class Reloader {
 public:
  struct Options {
    SettledFile file;          // the config file; the gateway must make this object before it loads the config
    Config config;             // the config with which the gateway started
    TokenKeyPool& token_keys;  // the pool with which the config was loaded; only the reloader may use the pool now
    // Reloads other files, such as certificates, and does other work of the same interval, each time the reloader
    // checks the config. If it returns an error, the reloader logs the error and continues.
    std::function<absl::Status()> reload_more;
    // Called before new calls use `access`, whose operations can differ from those of the state before. An error
    // refuses the new config.
    std::function<absl::Status(const Access& access)> prepare = {};
    Metrics* metrics = nullptr;  // if not null, counts the reloads
    std::function<absl::Time()> now = absl::Now;
    std::function<SettledFile::Time()> steady_now = std::chrono::steady_clock::now;
  };

  // Every `reload_interval`, and after each Wake(), reads the config file and the files that the reloaded part of the
  // config names. If the last reading had no fault, and the bytes have not changed since then, does nothing more.
  // Otherwise parses the bytes. If the result differs from `current`, sets `current`. A config with a fault does not
  // change `current`.
  //
  // Logs each change. Logs each fault once, with the time at which the last good config was applied. If a setting has
  // changed that takes effect only at the next start, logs once that a restart is needed. Does not read the files of
  // the fixed part.
  //
  // While the config file can be half-written (see SettledFile), the reloader reads neither the config file nor the
  // files that the config names, not even after Wake(). The reloader logs that it waits, and reads the config file as
  // soon as SettledFile allows it.
  Reloader(Options options, CurrentAccess& current);

  // Checks the config without waiting for the interval.
  void Wake() { task_.Wake(); }

 private:
  void Look();
  // While the config file can be half-written, plans the next check and does nothing else.
  void LookAtConfig();
  // Applies the config, unless it has a fault. Returns the fault.
  absl::Status Take(const absl::StatusOr<Loaded>& loaded);
  void Apply(const Loaded& loaded);
  void LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged);

  Options options_;
  CurrentAccess& current_;
  ConfigSource source_;
  std::optional<ConfigSnapshot::Digest> good_digest_;  // the digest of the last reading, if that reading had no fault
  const std::string fixed_part_;                       // the fixed part of the config at the gateway's start
  absl::Time taken_;                                   // when the current config was applied
  bool unsettled_ = false;     // whether the reloader has logged that it waits for the config file
  std::string logged_access_;  // the fault that was logged last; empty after a success
  std::string logged_more_;
  std::string logged_restart_;
  PeriodicTask task_;  // destroyed first, because it uses the other members
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
