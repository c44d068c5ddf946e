// Looks again and again at what may change while the gateway runs.
#ifndef STAMPGATE_GATEWAY_RELOADER_H_
#define STAMPGATE_GATEWAY_RELOADER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "gateway/access.h"
#include "gateway/config.h"
#include "gateway/metrics.h"
#include "gateway/periodic_task.h"
#include "gateway/token_key_pool.h"

namespace stampgate {

// Thread-safe. Works on a thread of its own, from the beginning to the end of its life.
class Reloader {
 public:
  struct Options {
    std::string path;          // of the config file
    Config config;             // as it was when the gateway started
    TokenKeyPool& token_keys;  // that it was loaded with; nobody else uses it meanwhile
    // Further files that are looked at each time, such as certificates: an error is told and nothing else.
    std::function<absl::Status()> reload_more;
    Metrics* metrics = nullptr;  // if not null: reloads are counted here
  };

  // Every `reload_interval` of the config, and after each Wake(): reads the config file and what it names, and sets
  // `current` to it if it differs. A config with a fault changes nothing. Both are told in the log, the same fault
  // once. What changed but takes effect at the next start only is told too; its files are not looked at.
  Reloader(Options options, CurrentAccess& current);

  // Looks at once.
  void Wake() { task_.Wake(); }

 private:
  void Look();
  void Count(bool ok);
  void Tell(const absl::Status& status, const char* event, std::string& told);

  const Options options_;
  CurrentAccess& current_;
  std::string told_access_;  // the fault that was told last; empty after a success
  std::string told_more_;
  std::string told_restart_;
  PeriodicTask task_;  // the last: it uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_RELOADER_H_
