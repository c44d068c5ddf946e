// What the calls of operations use: creates it from the config, and closes it.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVED_OPERATIONS_H_
#define STAMPGATE_GATEWAY_SERVER_SERVED_OPERATIONS_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_budget.h"
#include "gateway/audit/log.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/feed/feed.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/operations/timestamp_reserve.h"
#include "gateway/process/periodic_task.h"
#include "gateway/process/worker_threads.h"
#include "gateway/server/hang_watches.h"
#include "gateway/server/rate_sharing.h"
#include "gateway/server/room_metrics.h"
#include "gateway/server/server_parts.h"
#include "gateway/store/call_store.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Thread-safe. After Close, no call may begin; what the environment refers to can still be used.
class ServedOperations {
 public:
  // Opens the call store and the shares of upstream's rates. What `parts` refers to must outlive the result. Errors:
  // those of OpenCallStore and RateSharing::Start.
  static absl::StatusOr<std::unique_ptr<ServedOperations>> Open(const config::v1::Config& config,
                                                                const ServerParts& parts,
                                                                std::shared_ptr<Admission> admission,
                                                                std::unique_ptr<UpstreamClient> upstream);
  ~ServedOperations();

  // Watches for hanging disks, and reserves timestamps. Call it once, before the first call. Errors: those of
  // TimestampReserve::Start.
  absl::Status Start(const config::v1::Config& config);

  const CallEnvironment& environment() const { return environment_; }

  // The waits of activities end when `feed` delivers the events of these activities.
  void Watch(EventFeed& feed) { waits_->Watch(feed); }

  // Ends the waits of activities, and lets no new ones begin.
  void EndActivityWaits() { waits_->Drain(); }

  // Refuses new calls. Those that wait for their turn within upstream's rates get it only within `last_words`.
  void Refuse(absl::Duration last_words);

  // See DiskWaits::EndAll.
  void EndDiskWaits() { disk_waits_.EndAll(); }

  // Ends the watch for hanging disks.
  void StopWatching() { hang_watches_.Stop(); }

  // Gives the shares of upstream's rates back, and closes the call store. If the disk of the store hangs, this function
  // hangs too. A second call does nothing.
  void Close();

 private:
  struct Opened {
    std::shared_ptr<Admission> admission;
    std::unique_ptr<UpstreamClient> upstream;
    std::unique_ptr<CallStore> store;  // null if the config has no store
    std::unique_ptr<RateSharing> rate_sharing;
  };

  ServedOperations(const config::v1::Config& config, const ServerParts& parts, Opened opened);

  CallEnvironment EnvironmentOf(const config::v1::Config& config, const ServerParts& parts);
  void WatchForHangs(AuditLog* audit);

  const std::shared_ptr<EventLoops> loops_;
  RoomMetrics& metrics_;
  CallLines lines_;
  PeriodicTask lines_report_;
  const std::shared_ptr<Admission> admission_;
  const std::unique_ptr<CallStore> store_;  // null if the config has no store
  TimestampAllocator timestamps_;
  std::unique_ptr<TimestampReserve> timestamp_reserve_;
  CallsInFlight<grpc::CallbackServerContext> in_flight_;
  DiskWaits disk_waits_;
  std::unique_ptr<RateSharing> rate_sharing_;  // null after Close
  RetryBudget retries_;
  Breaker submit_breaker_;
  Breaker query_breaker_;
  const std::unique_ptr<UpstreamClient> upstream_;
  WorkerThreads signing_;
  const std::shared_ptr<ActivityWaits> waits_;
  const CallEnvironment environment_;
  HangWatches hang_watches_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVED_OPERATIONS_H_
