// Looks again and again at what may change while the gateway runs.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADER_H_

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/config/loader.h"
#include "gateway/config/settled_file.h"
#include "gateway/metrics/metrics.h"
#include "gateway/process/log.h"
#include "gateway/process/periodic_task.h"
#include "gateway/tokens/key_pool.h"

namespace stampgate {

// Thread-safe. Works on a thread of its own, from the beginning to the end of its life.
class Reloader {
 public:
  struct Options {
    SettledFile file;          // of the config, made before it was loaded
    Config config;             // as it was when the gateway started
    TokenKeyPool& token_keys;  // that it was loaded with; nobody else uses it meanwhile
    // Further files that are looked at each time, such as certificates: an error is logged and changes nothing.
    std::function<absl::Status()> reload_more;
    Metrics* metrics = nullptr;  // if not null: reloads are counted here
    std::function<absl::Time()> now = absl::Now;
    std::function<SettledFile::Time()> steady_now = std::chrono::steady_clock::now;
  };

  // Every `reload_interval` of the config, and after each Wake(): reads the config file and what it names, and sets
  // `current` to it if it differs. A config with a fault changes nothing. Both are logged, the same fault
  // once, with the time of the last good config. A change that takes effect at the next start only is logged too; its
  // files are not looked at.
  //
  // While the config file may be half-written (see SettledFile), neither it nor what it names is read: not after Wake()
  // either. The log says so, and it is looked at again as soon as it may be read.
  Reloader(Options options, CurrentAccess& current);

  // Looks at once.
  void Wake() { task_.Wake(); }

 private:
  void Look();
  // Unless the config file is being written.
  void LookAtConfig();
  void Take(const absl::StatusOr<Loaded>& loaded, const std::string& former_version);
  void LogOnce(const absl::Status& status, const char* event, const LogFields& more, std::string& logged);

  Options options_;
  CurrentAccess& current_;
  absl::Time taken_;           // when the config that is in force was
  bool unsettled_ = false;     // as was logged last
  std::string logged_access_;  // the fault that was logged last; empty after a success
  std::string logged_more_;
  std::string logged_restart_;
  PeriodicTask task_;  // the last: it uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADER_H_
