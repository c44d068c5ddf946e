// The path of events through the process: from webhook deliveries through the event log to the calls that read it.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_PIPELINE_H_
#define STAMPGATE_GATEWAY_DELIVERIES_PIPELINE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "gateway/callers/access.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "gateway/deliveries/delivery_spans.h"
#include "gateway/deliveries/gauges.h"
#include "gateway/deliveries/rejected_delivery_log.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/process/hang_watch.h"
#include "gateway/process/periodic_task.h"
#include "gateway/telemetry/tracer.h"
#include "gateway/upstream/client.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/keys/key_set_cache.h"
#include "webhooks/log/event_log.h"
#include "webhooks/receiver/intake.h"
#include "webhooks/receiver/receiver.h"
#include "webhooks/verification/verifier.h"

namespace stampgate {

// Thread-safe.
class EventPipeline {
 public:
  // The observers of the event log's state. The gateway calls them on any thread. They must not block.
  struct Observers {
    std::function<void()> on_fatal;  // called once, when the log has failed permanently: the process must end
    std::function<void(bool hangs)> on_hanging;  // called when the log's disk begins to hang and when it works again
    // Called when the gateway can no longer use the server of the log, and when it can use the server again.
    std::function<void(bool reachable)> on_reachable;
    // Called when a TLS handshake of the webhook port has failed; see ReceiverOptions::on_failed_handshake.
    std::function<void(const std::string& address, const std::string& why)> on_failed_handshake = {};
    // Called when the webhook port has closed a connection at once; see ReceiverOptions::on_no_descriptor.
    std::function<void()> on_no_descriptor = {};
  };

  // Opens the log of `config.events()`. If `config.webhooks()` has a listen address, also receives deliveries at the
  // paths in the settings of `access`, and fetches the key set through `upstream`. `pool` contains the protos of the
  // API. If `tracer` is null, deliveries are not traced. `access`, `pool`, `upstream`, `metrics`, `feed_metrics` and
  // `tracer` must outlive the pipeline. Errors: those of OpenEventLog, EventEncoder::Create, EventFeed::Start and
  // Receiver::Start.
  static absl::StatusOr<std::unique_ptr<EventPipeline>> Start(const config::v1::Config& config,
                                                              const CurrentAccess& access,
                                                              const google::protobuf::DescriptorPool& pool,
                                                              UpstreamClient& upstream, Observers observers,
                                                              DeliveryMetrics& metrics, FeedMetrics& feed_metrics,
                                                              Tracer* tracer);

  // Closes the pipeline without a grace period.
  ~EventPipeline();

  EventLog& log() { return *log_; }
  EventFeed& feed() { return *feed_; }
  StreamSlots& subscriptions() { return subscriptions_; }
  StreamSlots& consumers() { return consumers_; }
  StreamSlots& body_reads() { return body_reads_; }
  CallerQuota& queries() { return queries_; }
  EventEncoder& encoder() { return *encoder_; }
  const LogIdentity& log_identity() const { return log_->identity(); }

  // Returns a URL such as "http://0.0.0.0:8080", or an empty text if the gateway receives no deliveries.
  std::string webhook_url() const { return receiver() == nullptr ? std::string() : receiver()->url(); }

  // Reads the receiver's TLS files again: see Receiver::ReloadTls. Does nothing without a receiver, without TLS, or
  // after Close.
  ReloadedMore ReloadTls(bool asked);

  // From now on, the receiver responds 503 to deliveries, and each subscription ends with an error that contains its
  // cursor. Does not wait.
  void Drain();

  // Must be called only after every call that reads events has ended. Waits until the receiver has responded to every
  // delivery, or until `grace` has passed. Then closes the log, which takes as long as the log's disk needs.
  void Close(absl::Duration grace);

 private:
  EventPipeline(const config::v1::Events& config, DeliveryMetrics& metrics);

  void ReportCertificate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reloading_);
  void ReportPeers();
  // Returns null without a receiver, and after Close. Only the thread that starts and closes the pipeline may call it:
  // no other one sets receiver_, so it needs no lock, and a slow reload does not delay Drain.
  Receiver* receiver() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return receiver_.get(); }

  DeliveryMetrics& metrics_;
  // The loops of the webhook port. They outlive the log and the verifier, which hold the answers of deliveries.
  std::shared_ptr<EventLoops> webhook_loops_;
  Mutex reloading_;  // held during a reload, and while receiver_ is set or destroyed

  // Each member may use the members above it.
  StreamSlots subscriptions_;
  StreamSlots consumers_;  // of shared subscriptions
  StreamSlots body_reads_;
  CallerQuota queries_;
  DeliveryLog delivery_log_;
  std::optional<DeliverySpans> delivery_spans_;  // nullopt if deliveries are not traced
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<EventEncoder> encoder_;
  std::unique_ptr<EventFeed> feed_;
  std::unique_ptr<KeySetCache> keys_;
  std::unique_ptr<Verifier> verifier_;
  std::unique_ptr<Intake> intake_;
  std::unique_ptr<Receiver> receiver_ ABSL_GUARDED_BY(reloading_);
  std::optional<HangWatch> watch_;
  std::unique_ptr<PeriodicTask> watcher_;
  std::unique_ptr<EventGauges> gauges_;
  std::unique_ptr<PeriodicTask> measurer_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_PIPELINE_H_
