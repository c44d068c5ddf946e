#include "gateway/deliveries/pipeline.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/secret/settled_file.h"
#include "base/time/duration.h"
#include "gateway/config/reloader.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/deliveries/log_opening.h"
#include "gateway/process/descriptor_limit.h"
#include "gateway/process/log.h"
#include "gateway/upstream/key_set_fetch.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {
namespace {

// Two threads read, so that one can read while the other waits for the disk or decodes a large event.
constexpr int kReaderThreads = 2;

// Anybody may connect to the webhook port, and verifying a large delivery takes milliseconds. On loops of its own, the
// port delays no call.
constexpr size_t kWebhookLoops = 2;

constexpr absl::Duration kMeasureInterval = absl::Seconds(1);

// Returns upstream's path of the key set. It is the path of the operation that returns the key set to callers.
std::string KeySetPath(const google::protobuf::DescriptorPool& pool) {
  const google::protobuf::MethodDescriptor* method =
      pool.FindMethodByName("stampgate.v1.WebhookService.GetWebhookKeySet");
  return method->options().GetExtension(v1::operation).path();
}

void LogKeySet(const absl::Status& status, const KeySet* keys) {
  if (!status.ok()) return Log(Severity::kWarning, "key_set_not_fetched", {{"message", std::string(status.message())}});
  Log(Severity::kInfo, "key_set_fetched", {});
  for (const std::string& why : keys->refused()) Log(Severity::kWarning, "key_refused", {{"message", why}});
}

ReceiverOptions ReceiverOptionsOf(const config::v1::Config& config, const CurrentAccess& access) {
  const config::v1::Webhooks& webhooks = config.webhooks();
  ReceiverOptions options;
  options.listen_address = webhooks.listen_address();
  options.paths = [&access] {
    const std::shared_ptr<const Access> current = access.Get();
    const auto& paths = current->settings.webhooks().paths();
    return std::vector<std::string>(paths.begin(), paths.end());
  };
  options.max_body_bytes = webhooks.max_body_bytes();
  const ConnectionBounds bounds(config);
  options.max_connections = bounds.webhooks;
  options.max_descriptor = bounds.max_descriptor;
  options.request_timeout = ToDuration(webhooks.request_timeout());
  options.idle_timeout = ToDuration(webhooks.idle_timeout());
  options.min_bytes_per_second = webhooks.min_bytes_per_second();
  options.max_bytes = webhooks.max_bytes();
  options.tls_certificate_file = webhooks.tls_certificate_file();
  options.tls_private_key_file = webhooks.tls_private_key_file();
  options.secret_owners = SecretOwnersOf(config);
  // ParseConfig has checked the blocks.
  for (const std::string& block : webhooks.proxy_protocol_from()) static_cast<void>(options.proxies.Add(block));
  options.on_shrunk_file = [](const SettledFile& file) {
    LogShrunk({file.path(), true, file.former_size(), file.size()});
  };
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventPipeline>> EventPipeline::Start(const config::v1::Config& config,
                                                                    const CurrentAccess& access,
                                                                    const google::protobuf::DescriptorPool& pool,
                                                                    UpstreamClient& upstream, Observers observers,
                                                                    DeliveryMetrics& metrics, FeedMetrics& feed_metrics,
                                                                    Tracer* tracer) {
  std::unique_ptr<EventPipeline> pipeline(new EventPipeline(config.events(), metrics));
  absl::StatusOr<std::unique_ptr<EventLog>> log =
      OpenEventLog(config, {std::move(observers.on_fatal), std::move(observers.on_reachable)}, metrics);
  if (!log.ok()) return log.status();
  pipeline->log_ = *std::move(log);
  pipeline->watch_.emplace(HangWatch::Options{
      .what = "event_log",
      .waits_for = "the disk or the server of the event log",
      .under_way = [log = pipeline->log_.get()] { return log->WriteUnderWay(); },
      .observe =
          [&metrics](absl::Duration under_way) { metrics.log_write_seconds.Set(absl::ToDoubleSeconds(under_way)); },
      .on_change = std::move(observers.on_hanging)});
  pipeline->watch_->Look();
  pipeline->watcher_ = std::make_unique<PeriodicTask>("log-watch", HangWatch::kInterval,
                                                      [watch = &*pipeline->watch_] { watch->Look(); });
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<EventEncoder> encoder,
                        EventEncoder::Create(pool, config.operator_name(), pipeline->log_->identity(), feed_metrics));
  pipeline->encoder_ = std::move(encoder);
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<EventFeed> feed,
                        EventFeed::Start(*pipeline->log_, *pipeline->encoder_, kReaderThreads, feed_metrics));
  pipeline->feed_ = std::move(feed);
  pipeline->gauges_ =
      std::make_unique<EventGauges>(*pipeline->feed_, pipeline->subscriptions_, metrics, [] { return absl::Now(); });
  pipeline->measurer_ = std::make_unique<PeriodicTask>("log-gauges", kMeasureInterval, [pipeline = pipeline.get()] {
    pipeline->gauges_->Look();
    pipeline->ReportPeers();
  });
  pipeline->measurer_->Wake();
  if (config.webhooks().listen_address().empty()) return pipeline;

  const auto now = [] { return absl::Now(); };
  const absl::Duration min_interval = ToDuration(config.webhooks().min_key_set_interval());
  pipeline->keys_ =
      std::make_unique<KeySetCache>(KeySetCache::Options{config.operator_name(), min_interval, now, LogKeySet},
                                    FetchKeySetThrough(upstream, KeySetPath(pool)));
  pipeline->keys_->Refresh();
  pipeline->verifier_ = std::make_unique<Verifier>(
      Verifier::Options{config.operator_name(), ToDuration(config.webhooks().max_timestamp_age()), now},
      *pipeline->keys_);
  metrics.ExpectDeliveries();
  if (tracer != nullptr) {
    pipeline->delivery_spans_.emplace(*tracer, !config.webhooks().tls_certificate_file().empty());
  }
  pipeline->intake_ = std::make_unique<Intake>(*pipeline->verifier_, *pipeline->log_,
                                               [&metrics, &deliveries = pipeline->delivery_log_,
                                                &spans = pipeline->delivery_spans_](const Intake::Report& report) {
                                                 deliveries.Add(report);
                                                 metrics.Count(report);
                                                 if (spans.has_value()) spans->Add(report);
                                               });
  ReceiverOptions options = ReceiverOptionsOf(config, access);
  if (const size_t places = PlacesOf(options); places < config.webhooks().max_connections()) {
    Log(Severity::kWarning, "webhook_connections_lowered",
        {{"connections", absl::StrCat(places)}, {"setting", "webhooks.max_bytes"}});
  }
  options.on_failed_handshake = std::move(observers.on_failed_handshake);
  options.on_no_descriptor = std::move(observers.on_no_descriptor);
  options.on_refused = [intake = pipeline->intake_.get()](HttpRefusal refusal) { intake->Refused(refusal); };
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<EventLoops> loops, EventLoops::Start(kWebhookLoops, "webhooks"));
  pipeline->webhook_loops_ = std::move(loops);
  absl::StatusOr<std::unique_ptr<Receiver>> receiver =
      Receiver::Start(std::move(options), pipeline->webhook_loops_,
                      [intake = pipeline->intake_.get()](Delivery delivery, Answer answer) {
                        intake->Take(std::move(delivery), std::move(answer));
                      });
  if (!receiver.ok()) return receiver.status();
  {
    const MutexLock lock(pipeline->reloading_);
    pipeline->receiver_ = *std::move(receiver);
    pipeline->ReportCertificate();
  }
  pipeline->ReportPeers();
  return pipeline;
}

EventPipeline::EventPipeline(const config::v1::Events& config, DeliveryMetrics& metrics)
    : metrics_(metrics),
      subscriptions_(config.max_subscribers(), config.max_subscribers_per_caller(), "subscriptions",
                     [&subscribers = metrics.subscribers](int change) {
                       change > 0 ? subscribers.Increment() : subscribers.Decrement();
                     }),
      consumers_(config.max_subscribers(), config.max_subscribers_per_caller(), "consumers"),
      body_reads_(config.max_subscribers(), config.max_subscribers_per_caller(), "body reads"),
      queries_({.max = config.max_subscribers(),
                .max_per_caller = config.max_subscribers_per_caller(),
                .what = "calls of GetEvent, ListEvents and ListParked",
                .reason = v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
                .retry_delay = absl::Seconds(1)}),
      delivery_log_([] { return absl::Now(); },
                    [](absl::string_view event, const LogFields& fields) { Log(Severity::kWarning, event, fields); }) {}

EventPipeline::~EventPipeline() { Close(absl::ZeroDuration()); }

ReloadedMore EventPipeline::ReloadTls(bool asked) {
  const MutexLock lock(reloading_);
  if (receiver_ == nullptr) return {};
  const absl::StatusOr<bool> changed = receiver_->ReloadTls(absl::Now(), asked);
  if (!changed.ok() || *changed) metrics_.certificate_reloads.Count(changed.ok());
  ReportCertificate();
  return {changed.status(), absl::FromChrono(receiver_->tls_wait())};
}

void EventPipeline::ReportCertificate() {
  const std::optional<absl::Time> not_after = receiver_->certificate_not_after();
  if (!not_after.has_value()) return;
  metrics_.certificate_not_after.Set(static_cast<double>(absl::ToUnixSeconds(*not_after)));
}

void EventPipeline::ReportPeers() {
  const MutexLock lock(reloading_);
  if (receiver_ == nullptr) return;
  metrics_.ShowPeers(receiver_->peers(), receiver_->held_bytes());
}

void EventPipeline::Drain() {
  if (Receiver* const receiving = receiver()) receiving->Drain(absl::ZeroDuration());
  if (feed_ != nullptr) feed_->Drain();
}

void EventPipeline::Close(absl::Duration grace) {
  measurer_.reset();
  if (Receiver* const receiving = receiver()) receiving->Drain(grace);
  {
    const MutexLock lock(reloading_);
    receiver_.reset();
  }
  keys_.reset();
  if (feed_ != nullptr) feed_->Close();  // first, because SQLite deletes its extra files only with the last connection
  if (log_ != nullptr) log_->Close();
  delivery_log_.Finish();
  feed_.reset();  // after log_->Close(), because until then the log reports its growth to the feed
}

}  // namespace stampgate
