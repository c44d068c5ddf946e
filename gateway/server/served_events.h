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
#include "gateway/metrics/registry.h"
#include "gateway/process/periodic_task.h"
#include "gateway/server/late_event_log.h"
#include "gateway/server/store_preparation.h"
#include "gateway/subscriptions/calls/departures.h"
#include "gateway/subscriptions/calls/environment.h"
#include "gateway/subscriptions/calls/messages.h"
#include "gateway/subscriptions/configured_subscriptions.h"
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
    MetricRegistry& registry;      // for the metrics of shared subscriptions
    EventEnvironment environment;  // without a log: that of the calls as long as the log is not open
    const SubscriptionMessages& subscription_messages;
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

  const std::atomic<const SubscriptionEnvironment*>& subscription_environment() const {
    return subscription_environment_;
  }

  // See EventEncoder::Use, EventPipeline::webhook_url, ReloadTls, Drain and Close. Without an open log, they do
  // nothing.
  absl::Status Use(const OperationSet::Shared& operations);
  std::string webhook_url() const;
  ReloadedMore ReloadTls(bool asked);
  void Drain();
  void Close(absl::Duration grace);

 private:
  // How often the gateway looks how consumers have left.
  static constexpr absl::Duration kLookInterval = absl::Milliseconds(100);

  const Options options_;
  // Both are null as long as the log is not open.
  std::unique_ptr<EventPipeline> owner_;
  std::atomic<EventPipeline*> pipeline_ = nullptr;
  std::optional<ServedEventLog> log_;
  std::optional<EventEnvironment> open_environment_;
  std::atomic<const EventEnvironment*> environment_ = &options_.environment;
  Departures departures_;
  PeriodicTask look_{"departures", kLookInterval, [this] { departures_.Look(); }};
  const SubscriptionEnvironment closed_subscriptions_;
  std::unique_ptr<ConfiguredSubscriptions> subscriptions_;  // null as long as the log is not open
  std::optional<SubscriptionEnvironment> open_subscriptions_;
  std::atomic<const SubscriptionEnvironment*> subscription_environment_ = &closed_subscriptions_;
  StorePreparation preparation_;      // used only by late_
  std::optional<LateEventLog> late_;  // set by OpenLater
  std::optional<PeriodicTask> opening_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVED_EVENTS_H_
