// Takes changes of the config while the gateway runs.
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

// Thread-safe. Works on a thread of its own until it is destroyed.
class Reloader {
 public:
  struct Options {
    SettledFile file;          // of the config, made before it was loaded
    Config config;             // with which the gateway started
    TokenKeyPool& token_keys;  // with which it was loaded; nobody else uses the pool meanwhile
    // Reloads other files at each look, such as certificates. An error is logged and changes nothing.
    std::function<absl::Status()> reload_more;
    Metrics* metrics = nullptr;  // if not null: reloads are counted here
    std::function<absl::Time()> now = absl::Now;
    std::function<SettledFile::Time()> steady_now = std::chrono::steady_clock::now;
  };

  // Every `reload_interval` of the config, and after each Wake(), reads the config file and the files of its reloaded
  // part. If their bytes are those of the last look, that is all. Otherwise parses them, and sets `current` if the
  // result differs. A config with a fault changes nothing. Logs both: a fault once, with the time of the last good
  // config. Also logs a change that takes effect at the next start only; files of the fixed part are not read.
  //
  // While the config file may be half-written (see SettledFile), nothing is read, not after Wake() either. The log says
  // so, and the next look follows as soon as the file may be read.
  Reloader(Options options, CurrentAccess& current);

  // Looks at once.
  void Wake() { task_.Wake(); }

 private:
  void Look();
  // Unless the config file is being written.
  void LookAtConfig();
  void Take(const absl::StatusOr<Loaded>& loaded);
  void LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged);

  Options options_;
  CurrentAccess& current_;
  ConfigSource source_;
  std::optional<ConfigSnapshot::Digest> good_digest_;  // of the last look, if it found no fault
  const std::string fixed_part_;                       // of the config that the gateway started with
  absl::Time taken_;                                   // when the config that is in force was
  bool unsettled_ = false;                             // as was logged last
  std::string logged_access_;                          // the fault that was logged last; empty after a success
  std::string logged_more_;
  std::string logged_restart_;
  PeriodicTask task_;  // the last: it uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
