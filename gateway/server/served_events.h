// The event log that the server serves: opens it, at once or as soon as its server can be reached, and closes it.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVED_EVENTS_H_
#define STAMPGATE_GATEWAY_SERVER_SERVED_EVENTS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/config/config.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "gateway/deliveries/pipeline.h"
#include "gateway/events/environment.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/process/periodic_task.h"
#include "gateway/server/late_event_log.h"
#include "gateway/server/store_preparation.h"
#include "gateway/upstream/client.h"
#include "google/protobuf/descriptor.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Thread-safe, except that Open and OpenLater must not be called after StopOpening.
class ServedEvents {
 public:
  struct Options {
    const google::protobuf::DescriptorPool& pool;  // contains the protos of the API
    UpstreamClient& upstream;
    DeliveryMetrics& metrics;
    FeedMetrics& feed_metrics;
    EventEnvironment environment;  // without a log: that of the calls as long as the log is not open
    EventPipeline::Observers observers = {};
    std::function<void(EventFeed&)> on_open = {};  // called once, when the log is open
  };

  // What the options refer to must outlive this.
  explicit ServedEvents(Options options);

  // Opens the log of the config, and receives deliveries. Errors: those of EventPipeline::Start.
  absl::Status Open(const config::v1::Config& config);

  // Opens the log as soon as its server can be reached, and prepares the store before.
  void OpenLater(Config config);

  // If OpenLater was called, does not open the log any more. Waits for an attempt that is in progress.
  void StopOpening() { opening_.reset(); }

  // The environment for the calls that begin now.
  const std::atomic<const EventEnvironment*>& environment() const { return environment_; }

  // See EventEncoder::Use, EventPipeline::webhook_url, ReloadTls, Drain and Close. Without an open log, they do
  // nothing.
  absl::Status Use(const OperationSet::Shared& operations);
  std::string webhook_url() const;
  ReloadedMore ReloadTls(bool asked);
  void Drain();
  void Close(absl::Duration grace);

 private:
  const Options options_;
  // Both are null as long as the log is not open.
  std::unique_ptr<EventPipeline> owner_;
  std::atomic<EventPipeline*> pipeline_ = nullptr;
  std::optional<ServedEventLog> log_;
  std::optional<EventEnvironment> open_environment_;
  std::atomic<const EventEnvironment*> environment_ = &options_.environment;
  StorePreparation preparation_;      // used only by late_
  std::optional<LateEventLog> late_;  // set by OpenLater
  std::optional<PeriodicTask> opening_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVED_EVENTS_H_
