#include "gateway/server/served_events.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "gateway/calls/descriptors_line.h"
#include "gateway/calls/handshake_line.h"
#include "gateway/process/log.h"

namespace stampgate {
namespace {

// Adds the lines about clients of the webhook port.
EventPipeline::Observers WithLines(EventPipeline::Observers observers, CallLines& lines) {
  observers.on_failed_handshake = [&lines](const std::string& address, const std::string& why) {
    LogFailedHandshake(lines,
                       {.port = "webhooks", .address = address, .reason = "", .certificate = "", .message = why});
  };
  observers.on_no_descriptor = [&lines] { LogDescriptorsShort(lines, "webhooks"); };
  return observers;
}

}  // namespace

ServedEvents::ServedEvents(Options options)
    : options_(std::move(options)),
      closed_subscriptions_{
          .events = options_.environment, .messages = options_.subscription_messages, .departures = departures_} {}

absl::Status ServedEvents::Open(const config::v1::Config& config) {
  const CallRecorders& recorders = options_.environment.recorders;
  ABSL_ASSIGN_OR_RETURN(owner_, EventPipeline::Start(config, options_.environment.access, options_.pool,
                                                     options_.upstream, WithLines(options_.observers, *recorders.lines),
                                                     options_.metrics, options_.feed_metrics, recorders.tracer));
  log_.emplace(ServedEventLog{.source = &owner_->feed(),
                              .encoder = &owner_->encoder(),
                              .subscriptions = &owner_->subscriptions(),
                              .consumers = &owner_->consumers(),
                              .body_reads = &owner_->body_reads(),
                              .queries = &owner_->queries(),
                              .identity = owner_->log_identity()});
  open_environment_.emplace(options_.environment);
  open_environment_->log = &*log_;
  if (SubscriptionStore* const store = owner_->log().subscriptions(); store != nullptr) {
    ABSL_ASSIGN_OR_RETURN(subscriptions_, ConfiguredSubscriptions::Open({.log = &owner_->log(),
                                                                         .store = store,
                                                                         .holds = owner_->log().holds(),
                                                                         .source = &owner_->feed(),
                                                                         .access = &options_.environment.access,
                                                                         .metrics = &options_.registry,
                                                                         .now = options_.environment.now}));
  }
  open_subscriptions_.emplace(SubscriptionEnvironment{.events = *open_environment_,
                                                      .messages = options_.subscription_messages,
                                                      .departures = departures_,
                                                      .subscriptions = subscriptions_.get()});
  pipeline_ = owner_.get();
  environment_ = &*open_environment_;
  subscription_environment_ = &*open_subscriptions_;
  options_.on_open(owner_->feed());
  return absl::OkStatus();
}

void ServedEvents::OpenLater(Config config) {
  options_.metrics.log_failing.Set(1);
  options_.observers.on_reachable(false);
  late_.emplace(LateEventLog::Options{
      .open = [this, config = std::move(config)]() -> absl::Status {
        ABSL_RETURN_IF_ERROR(preparation_.Run(*config));
        return Open(*config);
      },
      .on_open =
          [this] {
            Log(Severity::kInfo, "event_log_opened", {{"webhooks", webhook_url()}});
            options_.observers.on_reachable(true);
          },
      .on_new_fault =
          [](const absl::Status& fault) {
            Log(Severity::kWarning, "event_log_unreachable", {{"message", std::string(fault.message())}});
          }});
  opening_.emplace("event-log-opening", LateEventLog::kInterval, [this] { late_->Try(); });
  opening_->Wake();
}

absl::Status ServedEvents::Use(const OperationSet::Shared& operations) {
  EventPipeline* const pipeline = pipeline_;
  return pipeline == nullptr ? absl::OkStatus() : pipeline->encoder().Use(operations);
}

std::string ServedEvents::webhook_url() const {
  const EventPipeline* const pipeline = pipeline_;
  return pipeline == nullptr ? std::string() : pipeline->webhook_url();
}

ReloadedMore ServedEvents::ReloadTls(bool asked) {
  EventPipeline* const pipeline = pipeline_;
  return pipeline == nullptr ? ReloadedMore() : pipeline->ReloadTls(asked);
}

void ServedEvents::Drain() {
  EventPipeline* const pipeline = pipeline_;
  if (pipeline == nullptr) return;
  if (subscriptions_ != nullptr) subscriptions_->Drain();
  pipeline->Drain();
}

void ServedEvents::Close(absl::Duration grace) {
  departures_.Close();
  EventPipeline* const pipeline = pipeline_;
  if (pipeline == nullptr) return;
  if (subscriptions_ != nullptr) subscriptions_->Close();
  pipeline->Close(grace);
}

}  // namespace stampgate
