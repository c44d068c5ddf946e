// Watches the disks and servers that the gateway waits for, and ends the calls that wait for one that hangs.
#ifndef STAMPGATE_GATEWAY_SERVER_HANG_WATCHES_H_
#define STAMPGATE_GATEWAY_SERVER_HANG_WATCHES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/process/hang_watch.h"
#include "gateway/process/periodic_task.h"

namespace stampgate {

// Add and AddQuotas must be called before Start.
class HangWatches {
 public:
  struct Options {
    DiskWaits& disk_waits;  // the calls that wait
    LateGauge& quotas_failing;
    // See ServerParts::on_hanging. May be empty.
    std::function<void(DiskWaits::Writer writer, bool hangs)> on_hanging = {};
  };

  explicit HangWatches(Options options) : options_(std::move(options)) {}

  // Watches a writer: its name and what it waits for (see HangWatch::Options), the metric of its present wait, and how
  // long this wait has taken so far. Ends the calls that wait for `writer` when it begins to hang.
  void Add(std::string what, std::string waits_for, LateGauge& write_seconds, DiskWaits::Writer writer,
           std::function<absl::Duration()> under_way);

  // Watches the store of the quotas. No call waits for it.
  void AddQuotas(std::function<absl::Duration()> under_way);

  // Looks now, which shows the metrics from the start, and then again and again on a thread of its own.
  void Start();

  // Ends the thread.
  void Stop() { watcher_.reset(); }

 private:
  void Look();

  const Options options_;
  std::vector<HangWatch> watches_;
  std::optional<PeriodicTask> watcher_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_HANG_WATCHES_H_
