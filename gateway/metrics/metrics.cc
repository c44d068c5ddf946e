#include "gateway/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// Returns the bounds of the histograms, in seconds. The smallest bounds are for calls that the gateway itself refuses.
// The largest bounds are for upstream's slowest responses.
const Histogram::BucketBoundaries& DurationBounds() {
  static const auto& bounds =
      *new Histogram::BucketBoundaries{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return bounds;
}

Family<Counter>& AddCounters(Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& AddGauges(Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

Gauge& AddGauge(Registry& registry, const char* name, const char* help) {
  return AddGauges(registry, name, help).Add({});
}

// Returns the reason in the form that ErrorInfo contains: the name of the enum value without the prefix.
std::string ReasonOf(const google::protobuf::EnumValueDescriptor& value) {
  return std::string(absl::StripPrefix(value.name(), "ERROR_REASON_"));
}

}  // namespace

Metrics::Metrics(const std::vector<Method>& methods, absl::string_view version, std::function<SteadyTime()> now)
    : calls_(AddCounters(registry_, "stampgate_calls_total", "Calls that have ended, by method and status code.")),
      durations_(BuildHistogram()
                     .Name("stampgate_call_duration_seconds")
                     .Help("Duration of calls other than streams, by policy class.")
                     .Register(registry_)),
      in_flight_(AddGauge(registry_, "stampgate_calls_in_flight", "Calls in progress, including streams.")),
      subscribers_(AddGauge(registry_, "stampgate_subscribers", "Open subscriptions to events.")),
      deliveries_(
          AddCounters(registry_, "stampgate_deliveries_total", "Webhook deliveries that got a response, by outcome.")),
      latest_position_(AddGauges(registry_, "stampgate_event_log_latest_position",
                                 "Position of the newest event in the event log.")),
      writes_under_way_{
          &AddGauges(registry_, "stampgate_audit_write_seconds",
                     "How long the audit log has waited for its disk, in seconds; 0 if it is not waiting."),
          &AddGauges(registry_, "stampgate_call_store_write_seconds",
                     "How long the store of idempotency keys has waited for its disk or server, in seconds; 0 if it is "
                     "not waiting."),
          &AddGauges(registry_, "stampgate_event_log_write_seconds",
                     "How long the event log has waited for its disk, in seconds; 0 if it is not waiting.")},
      event_log_failing_(AddGauges(registry_, "stampgate_event_log_failing",
                                   "1 while the event log cannot store events, and deliveries are refused.")),
      event_log_bytes_(AddGauges(registry_, "stampgate_event_log_bytes",
                                 "Bytes in use in the event log's file; retention limits them.")),
      event_log_oldest_age_(AddGauges(registry_, "stampgate_event_log_oldest_age_seconds",
                                      "Time since the oldest event of the event log was stored; 0 if there is none.")),
      subscriber_lag_(AddGauges(registry_, "stampgate_subscriber_lag_events",
                                "Events that the slowest subscriber has not received yet.")),
      webhook_peers_(
          AddGauges(registry_, "stampgate_webhook_peers",
                    "Connections to the webhook port; no valid delivery has come from the address of unproven ones.")),
      webhook_peers_displaced_(AddCounters(registry_, "stampgate_webhook_peers_displaced_total",
                                           "Connections to the webhook port that were closed to admit others.")),
      webhook_peers_refused_(AddCounters(registry_, "stampgate_webhook_peers_refused_total",
                                         "Connections to the webhook port that were not admitted.")),
      webhook_held_bytes_(AddGauges(registry_, "stampgate_webhook_held_bytes",
                                    "Memory that connections to the webhook port and their deliveries use.")),
      idempotency_keys_(AddGauges(registry_, "stampgate_idempotency_keys", "Idempotency keys in the store.")),
      call_store_failing_(AddGauges(registry_, "stampgate_call_store_failing",
                                    "1 while the store of idempotency keys cannot be written.")),
      detached_exchanges_(AddGauge(registry_, "stampgate_detached_exchanges",
                                   "Submits in progress at upstream whose callers have left.")),
      oldest_detached_age_(AddGauge(registry_, "stampgate_detached_exchange_oldest_age_seconds",
                                    "Time since the caller of the oldest detached exchange left; 0 if there is none.")),
      lost_events_(AddCounters(registry_, "stampgate_events_lost_total",
                               "Acknowledged events that were lost or damaged on disk when the event log was opened.")
                       .Add({})),
      audit_sequence_(AddGauges(registry_, "stampgate_audit_head_sequence",
                                "Sequence number in the audit log's head that was logged last.")),
      audit_failing_(AddGauges(registry_, "stampgate_audit_failing", "1 while the audit log cannot be written.")),
      audit_file_bytes_(
          AddGauges(registry_, "stampgate_audit_file_bytes", "Size of the audit log's current file, in bytes.")),
      audit_open_allows_(AddGauges(registry_, "stampgate_audit_open_allows",
                                   "Allowed calls, and reads of events, that have no outcome in the audit log yet.")),
      audit_oldest_open_call_ages_(
          AddGauges(registry_, "stampgate_audit_oldest_open_call_seconds",
                    "Time since the oldest call without an outcome in the audit log was allowed; 0 if there is none.")),
      reloads_(
          AddCounters(registry_, "stampgate_reloads_total", "Reloads of changed configs and certificates, by result.")),
      config_taken_(AddGauges(registry_, "stampgate_config_last_reload_success_timestamp_seconds",
                              "When the current config was loaded, at the start or by a reload, in Unix time.")),
      grants_without_their_file_(
          AddGauges(registry_, "stampgate_grants_without_their_file",
                    "Grants whose organizations are not those in their organizations_file, which cannot be used.")),
      certificate_not_after_(AddGauges(registry_, "stampgate_tls_certificate_not_after_timestamp_seconds",
                                       "When the certificate of the gRPC port expires, in Unix time.")),
      webhook_certificate_not_after_(AddGauges(registry_,
                                               "stampgate_webhook_tls_certificate_not_after_timestamp_seconds",
                                               "When the certificate of the webhook port expires, in Unix time.")),
      upstream_rate_(AddGauges(registry_, "stampgate_upstream_rate",
                               "How many requests upstream's rates permit to this gateway now, in a second.")),
      slowed_operations_(AddGauges(
          registry_, "stampgate_upstream_slowed_operations",
          "Operations that this gateway calls more slowly than configured, because upstream refused requests.")),
      rate_share_(AddGauges(registry_, "stampgate_rate_share",
                            "The part of upstream's rate that this gateway may use, up to 1.")),
      rate_replicas_(AddGauges(registry_, "stampgate_rate_replicas",
                               "Gateways that share upstream's rates, including this one; 0 if it does not know.")),
      rate_shares_failing_(AddGauges(registry_, "stampgate_rate_shares_failing",
                                     "1 while this gateway has no share of the rates from the store.")),
      quota_unused_(AddGauges(registry_, "stampgate_quota_unused_calls",
                              "Calls of a quota of upstream that no gateway has taken yet.")),
      quotas_failing_(
          AddGauges(registry_, "stampgate_quotas_failing", "1 while no calls of quotas can be taken from the store.")),
      unread_responses_(AddCounters(registry_, "stampgate_unread_responses_total",
                                    "Responses that the gateway ended because their clients had not read them.")
                            .Add({})),
      connections_(AddGauge(registry_, "stampgate_connections", "Connections to the gRPC port.")),
      handshakes_(AddGauge(registry_, "stampgate_tls_handshakes", "TLS handshakes in progress on the gRPC port.")),
      held_bytes_(AddGauge(registry_, "stampgate_connection_held_bytes",
                           "Memory that the clients of the gRPC port make the gateway hold, in bytes.")),
      waiting_calls_(
          AddGauge(registry_, "stampgate_waiting_calls", "Calls that wait for the end of an activity (wait_until).")),
      dropped_log_lines_(AddCounters(registry_, "stampgate_log_lines_dropped_total",
                                     "Log lines that were dropped because the reader of the log was too slow.")
                             .Add({})),
      telemetry_exports_(AddCounters(registry_, "stampgate_telemetry_exports_total",
                                     "Exports to the collector of telemetry, by signal and result.")),
      lost_spans_(AddCounters(registry_, "stampgate_telemetry_spans_lost_total",
                              "Spans that the collector refused, or that could not be sent to it.")),
      dropped_trace_counters_(
          AddCounters(registry_, "stampgate_telemetry_calls_dropped_total",
                      "Sampled calls and deliveries whose spans were dropped because the collector was too slow.")),
      resident_bytes_(
          AddGauge(registry_, "process_resident_memory_bytes", "Resident memory of the process, in bytes.")),
      open_descriptors_(AddGauge(registry_, "process_open_fds", "Open file descriptors.")),
      max_descriptors_(AddGauge(registry_, "process_max_fds", "Limit on open file descriptors.")),
      cpu_seconds_(
          AddCounters(registry_, "process_cpu_seconds_total", "CPU time that the process has used, in seconds.")
              .Add({})),
      start_time_(AddGauge(registry_, "process_start_time_seconds", "When the process started, in Unix time.")),
      now_(std::move(now)),
      audit_head_(
          AddGauges(registry_, "stampgate_audit_head_info",
                    "The audit log's head (number and MAC of a record) that was logged last, for audit verify --head."),
          "head"),
      policy_(AddGauges(registry_, "stampgate_policy_info", "Version of the current policy."), "version") {
  AddGauges(registry_, "stampgate_build_info", "Version of the program.")
      .Add({{"version", std::string(version)}})
      .Set(1);
  AddMethods(methods);
  other_methods_ = MakeCalls("other", nullptr);

  Family<Gauge>& in_flight = AddGauges(registry_, "stampgate_upstream_exchanges_in_flight",
                                       "Calls that wait for upstream's response, by the kind of their connection.");
  Family<Gauge>& waiting = AddGauges(registry_, "stampgate_upstream_waiting_calls",
                                     "Calls that wait for a connection to upstream, by the kind of the connection.");
  Family<Histogram>& durations = BuildHistogram()
                                     .Name("stampgate_upstream_exchange_duration_seconds")
                                     .Help("Time until upstream responded or the gateway gave up the exchange.")
                                     .Register(registry_);
  Gauges& breaker_open = AddGauges(registry_, "stampgate_upstream_breaker_open",
                                   "1 while the gateway sends only probes, because most requests of the lane failed.");
  for (size_t i = 0; i < breaker_open_.size(); ++i) breaker_open_[i] = &breaker_open.Add({{"lane", kUpstreamLanes[i]}});
  for (size_t i = 0; i < upstream_lanes_.size(); ++i) {
    const prometheus::Labels labels = {{"lane", kUpstreamLanes[i]}};
    upstream_lanes_[i] = {&in_flight.Add(labels), &waiting.Add(labels), &durations.Add(labels, DurationBounds())};
  }
  Family<Histogram>& writes =
      BuildHistogram()
          .Name("stampgate_durable_write_seconds")
          .Help("Time for which calls and deliveries waited until a write was durable or had failed.")
          .Register(registry_);
  for (size_t i = 0; i < durable_writes_.size(); ++i) {
    durable_writes_[i] = &writes.Add({{"write", kDurableWriteNames[i]}}, DurationBounds());
  }
  Family<Histogram>& waits = BuildHistogram()
                                 .Name("stampgate_admission_wait_seconds")
                                 .Help("Time that admitted calls waited for a place within upstream's rates.")
                                 .Register(registry_);
  Family<Gauge>& waiting_calls =
      AddGauges(registry_, "stampgate_admission_waiting_calls", "Calls that wait for a place within upstream's rates.");
  Family<Counter>& admitted = AddCounters(registry_, "stampgate_admission_admitted_total",
                                          "Calls that got a place within upstream's rates, with their retries.");
  Family<Counter>& refused = AddCounters(registry_, "stampgate_admission_refused_total",
                                         "Calls that got no place within upstream's rates, by the reason.");
  for (size_t i = 0; i < call_classes_.size(); ++i) {
    const prometheus::Labels labels = {{"class", kCallClassNames[i]}};
    call_classes_[i] = {&waits.Add(labels, DurationBounds()), &waiting_calls.Add(labels), &admitted.Add(labels), {}};
    for (size_t reason = 0; reason < kAdmissionRefusalNames.size(); ++reason) {
      call_classes_[i].refused[reason] =
          &refused.Add({{"class", kCallClassNames[i]}, {"reason", kAdmissionRefusalNames[reason]}});
    }
  }
  refusals_ = &BuildHistogram()
                   .Name("stampgate_admission_refusal_seconds")
                   .Help("Duration of calls that got no place within upstream's rates.")
                   .Register(registry_)
                   .Add({}, DurationBounds());
  Family<Counter>& sent_again = AddCounters(registry_, "stampgate_upstream_retries_total",
                                            "Requests that were sent to upstream again, by the cause.");
  Family<Counter>& not_sent_again =
      AddCounters(registry_, "stampgate_upstream_retries_withheld_total",
                  "Requests that were not sent again because too many others were, by the cause.");
  for (size_t i = 0; i < retries_.size(); ++i) {
    retries_[i] = {&not_sent_again.Add({{"cause", kRetryCauseNames[i]}}),
                   &sent_again.Add({{"cause", kRetryCauseNames[i]}})};
  }
  Family<Counter>& handshakes = AddCounters(registry_, "stampgate_tls_handshakes_failed_total",
                                            "Failed TLS handshakes of callers, by the step that failed.");
  for (size_t i = 0; i < failed_handshakes_.size(); ++i) {
    failed_handshakes_[i] = &handshakes.Add({{"reason", kHandshakeFailures[i]}});
  }
  Family<Counter>& closed = AddCounters(registry_, "stampgate_connections_closed_total",
                                        "Connections of callers that the gateway closed, by the exceeded limit.");
  for (size_t i = 0; i < closed_connections_.size(); ++i) {
    closed_connections_[i] = &closed.Add({{"reason", kConnectionBounds[i]}});
  }

  Family<Counter>& ends = AddCounters(registry_, "stampgate_waits_total",
                                      "Calls that no longer wait for the end of an activity, by what ended the wait.");
  for (size_t i = 0; i < wait_ends_.size(); ++i) wait_ends_[i] = &ends.Add({{"end", kWaitEnds[i]}});
  Family<Counter>& polls = AddCounters(registry_, "stampgate_activity_polls_total",
                                       "Readings of activities for which calls wait, by result.");
  activity_polls_ = {&polls.Add({{"result", "failed"}}), &polls.Add({{"result", "ok"}})};

  Family<Counter>& errors =
      AddCounters(registry_, "stampgate_call_errors_total",
                  "Calls that ended with an error, by the gateway's reason; UPSTREAM for upstream's own errors.");
  const google::protobuf::EnumDescriptor* reasons = v1::ErrorReason_descriptor();
  for (int i = 1; i < reasons->value_count(); ++i) {
    const std::string reason = ReasonOf(*reasons->value(i));
    errors_[reason] = &errors.Add({{"reason", reason}});
  }
  upstream_errors_ = &errors.Add({{"reason", "UPSTREAM"}});
  other_errors_ = &errors.Add({{"reason", "OTHER"}});
}

std::unique_ptr<Metrics::Calls> Metrics::MakeCalls(std::string name, Histogram* duration) {
  auto calls = std::make_unique<Calls>();
  calls->name = std::move(name);
  calls->duration = duration;
  EndedWith(*calls, absl::StatusCode::kOk);
  return calls;
}

Counter& Metrics::EndedWith(Calls& calls, absl::StatusCode code) {
  size_t index = static_cast<size_t>(code);
  if (index >= kCodes) index = static_cast<size_t>(absl::StatusCode::kUnknown);
  std::atomic<Counter*>& ended = calls.ended[index];
  Counter* counter = ended.load(std::memory_order_acquire);
  if (counter == nullptr) {  // if two threads do this at the same time, both get the same counter
    counter =
        &calls_.Add({{"method", calls.name}, {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(index))}});
    ended.store(counter, std::memory_order_release);
  }
  return *counter;
}

void Metrics::CallBegan() { in_flight_.Increment(); }
void Metrics::CallLeft() { in_flight_.Decrement(); }

void Metrics::AddMethods(const std::vector<Method>& methods) {
  const std::lock_guard lock(methods_mutex_);
  for (const Method& method : methods) {
    std::unique_ptr<Calls>& calls = methods_[method.full_name];
    if (calls != nullptr) continue;
    Histogram* duration =
        method.streams ? nullptr : &durations_.Add({{"class", method.policy_class}}, DurationBounds());
    calls = MakeCalls(method.full_name, duration);
  }
}

Metrics::Calls& Metrics::CallsOf(absl::string_view method) {
  const std::shared_lock lock(methods_mutex_);
  const auto found = methods_.find(method);
  return found == methods_.end() ? *other_methods_ : *found->second;
}

void Metrics::CallEnded(absl::string_view method, const absl::Status& status, absl::Duration duration) {
  Calls& calls = CallsOf(method);
  EndedWith(calls, status.code()).Increment();
  if (calls.duration != nullptr) calls.duration->Observe(absl::ToDoubleSeconds(duration));
  // A call that its caller has cancelled is not an error: every normal subscription ends in this way.
  const bool has_left = absl::IsCancelled(status) && ErrorReasonOf(status).empty();
  if (!status.ok() && !has_left) CountError(status, duration);
}

void Metrics::CountError(const absl::Status& status, absl::Duration duration) {
  const std::string reason = ErrorReasonOf(status);
  Counter* counter = other_errors_;
  if (IsGatewayError(status)) {
    if (const auto found = errors_.find(reason); found != errors_.end()) counter = found->second;
    if (reason == "QUOTA_EXHAUSTED") refusals_->Observe(absl::ToDoubleSeconds(duration));
  } else if (!reason.empty()) {
    counter = upstream_errors_;
  }
  counter->Increment();
}

void Metrics::ExpectDeliveries(const std::vector<std::string>& outcomes) {
  for (const std::string& outcome : outcomes) deliveries_.Add({{"outcome", outcome}});
}

void Metrics::CountDelivery(const std::string& outcome) { deliveries_.Add({{"outcome", outcome}}).Increment(); }

void Metrics::SetLatestPosition(int64_t position) { latest_position_.Add({}).Set(static_cast<double>(position)); }

void Metrics::SetEventLogFailing(bool failing) { event_log_failing_.Add({}).Set(failing ? 1 : 0); }

void Metrics::SetWriteUnderWay(DurableWrite write, absl::Duration under_way) {
  writes_under_way_[static_cast<size_t>(write)]->Add({}).Set(absl::ToDoubleSeconds(under_way));
}

void Metrics::SetEventLogUsage(int64_t bytes, absl::Duration oldest_age) {
  event_log_bytes_.Add({}).Set(static_cast<double>(bytes));
  event_log_oldest_age_.Add({}).Set(absl::ToDoubleSeconds(oldest_age));
}

void Metrics::SetSubscriberLag(int64_t events) { subscriber_lag_.Add({}).Set(static_cast<double>(events)); }

void Metrics::SetWebhookPeers(const WebhookPeers& peers) {
  const auto raise = [](Counter& counter, uint64_t to) {
    counter.Increment(static_cast<double>(to) - counter.Value());
  };
  webhook_peers_.Add({{"peer", "unproven"}}).Set(static_cast<double>(peers.unproven));
  webhook_peers_.Add({{"peer", "proven"}}).Set(static_cast<double>(peers.proven));
  raise(webhook_peers_displaced_.Add({{"peer", "unproven"}}), peers.unproven_displaced);
  raise(webhook_peers_displaced_.Add({{"peer", "proven"}}), peers.proven_displaced);
  raise(webhook_peers_refused_.Add({}), peers.refused);
  webhook_held_bytes_.Add({}).Set(static_cast<double>(peers.held_bytes));
}

void Metrics::SetCallStore(int64_t keys, bool failing) {
  idempotency_keys_.Add({}).Set(static_cast<double>(keys));
  call_store_failing_.Add({}).Set(failing ? 1 : 0);
}

void Metrics::SetDetachedExchanges(int count, std::chrono::steady_clock::time_point oldest) {
  oldest_detached_.store(oldest);
  detached_exchanges_.Set(count);
}

void Metrics::SetAuditHead(uint64_t sequence, const std::string& head) {
  std::lock_guard lock(mutex_);
  audit_sequence_.Add({}).Set(static_cast<double>(sequence));
  audit_head_.Set(head);
}

void Metrics::SetAuditFailing(bool failing) { audit_failing_.Add({}).Set(failing ? 1 : 0); }

void Metrics::SetAuditFileBytes(int64_t bytes) { audit_file_bytes_.Add({}).Set(static_cast<double>(bytes)); }

void Metrics::SetConnections(size_t connections, size_t handshakes, int64_t held_bytes) {
  connections_.Set(static_cast<double>(connections));
  handshakes_.Set(static_cast<double>(handshakes));
  held_bytes_.Set(static_cast<double>(held_bytes));
}

void Metrics::SetUpstreamLane(size_t lane, int in_flight, int waiting) {
  upstream_lanes_[lane].in_flight->Set(in_flight);
  upstream_lanes_[lane].waiting->Set(waiting);
}

void Metrics::ObserveUpstreamExchange(size_t lane, absl::Duration duration) {
  upstream_lanes_[lane].duration->Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::ObserveDurableWrite(DurableWrite write, absl::Duration waited) {
  durable_writes_[static_cast<size_t>(write)]->Observe(absl::ToDoubleSeconds(waited));
}

void Metrics::CountAdmission(size_t call_class, std::optional<size_t> refusal, absl::Duration waited) {
  CallClassSeries& series = call_classes_[call_class];
  if (refusal.has_value()) return series.refused[*refusal]->Increment();
  series.admitted->Increment();
  series.wait->Observe(absl::ToDoubleSeconds(waited));
}

void Metrics::SetQueuedCalls(size_t call_class, size_t waiting) {
  call_classes_[call_class].waiting->Set(static_cast<double>(waiting));
}

void Metrics::SetSlowedOperations(size_t operations) {
  slowed_operations_.Add({}).Set(static_cast<double>(operations));
}

void Metrics::SetUpstreamRate(double requests_per_second) { upstream_rate_.Add({}).Set(requests_per_second); }

void Metrics::SetRateShare(double share) { rate_share_.Add({}).Set(share); }

void Metrics::SetRateReplicas(int replicas, bool uses_fallback) {
  rate_replicas_.Add({}).Set(replicas);
  rate_shares_failing_.Add({}).Set(uses_fallback ? 1 : 0);
}

void Metrics::SetQuotasFailing(bool failing) { quotas_failing_.Add({}).Set(failing ? 1 : 0); }

void Metrics::SetQuotaUnused(absl::Duration window, int64_t calls) {
  quota_unused_.Add({{"window", absl::FormatDuration(window)}}).Set(static_cast<double>(calls));
}

void Metrics::CountRetry(size_t cause, bool sent) { retries_[cause][sent ? 1 : 0]->Increment(); }

void Metrics::SetAuditOpenAllows(size_t calls, size_t reads, std::optional<SteadyTime> oldest_call) {
  audit_open_allows_.Add({{"kind", "calls"}}).Set(static_cast<double>(calls));
  audit_open_allows_.Add({{"kind", "reads"}}).Set(static_cast<double>(reads));
  std::lock_guard lock(open_allows_mutex_);
  oldest_open_call_ = oldest_call;
  oldest_open_call_age_ = &audit_oldest_open_call_ages_.Add({});
}

void Metrics::CountReload(const std::string& what, bool ok) {
  reloads_.Add({{"what", what}, {"result", ok ? "ok" : "failed"}}).Increment();
}

void Metrics::SetConfigTaken(absl::Time time) {
  config_taken_.Add({}).Set(static_cast<double>(absl::ToUnixSeconds(time)));
}

void Metrics::SetGrantsWithoutTheirFile(int grants) { grants_without_their_file_.Add({}).Set(grants); }

void Metrics::SetPolicyVersion(const std::string& version) {
  std::lock_guard lock(mutex_);
  policy_.Set(version);
}

void Metrics::SetCertificateNotAfter(absl::Time time) {
  certificate_not_after_.Add({}).Set(static_cast<double>(absl::ToUnixSeconds(time)));
}

void Metrics::SetWebhookCertificateNotAfter(absl::Time time) {
  webhook_certificate_not_after_.Add({}).Set(static_cast<double>(absl::ToUnixSeconds(time)));
}

void Metrics::Info::Set(const std::string& text) {
  Gauge& gauge = gauges_.Add({{label_, text}});
  gauge.Set(1);
  if (gauge_ != nullptr && gauge_ != &gauge) gauges_.Remove(gauge_);
  gauge_ = &gauge;
}

void Metrics::SetOldestOpenCallAge() {
  std::lock_guard lock(open_allows_mutex_);
  if (oldest_open_call_age_ == nullptr) return;
  const SteadyTime now = now_();
  oldest_open_call_age_->Set(std::chrono::duration<double>(now - oldest_open_call_.value_or(now)).count());
}

void Metrics::Raise(Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

void Metrics::ExpectTelemetry() {
  for (const char* signal : {"traces", "metrics"}) {
    for (const char* result : {"ok", "failed"}) telemetry_exports_.Add({{"signal", signal}, {"result", result}});
  }
  lost_spans_.Add({});
  dropped_traces_ = &dropped_trace_counters_.Add({});
}

void Metrics::CountTelemetryExport(const std::string& signal, bool ok) {
  telemetry_exports_.Add({{"signal", signal}, {"result", ok ? "ok" : "failed"}}).Increment();
}

void Metrics::CountLostSpans(int64_t count) { lost_spans_.Add({}).Increment(static_cast<double>(count)); }

std::vector<prometheus::MetricFamily> Metrics::Collect(const ProcessNumbers& process) {
  std::lock_guard lock(mutex_);
  const std::chrono::duration<double> age = std::chrono::steady_clock::now() - oldest_detached_.load();
  oldest_detached_age_.Set(detached_exchanges_.Value() > 0 ? age.count() : 0);
  Raise(dropped_log_lines_, static_cast<double>(process.dropped_log_lines));
  const ProcessUsage& usage = process.usage;
  Raise(cpu_seconds_, usage.cpu_seconds);
  start_time_.Set(usage.start_time_seconds);
  resident_bytes_.Set(usage.resident_bytes);
  open_descriptors_.Set(usage.open_descriptors);
  max_descriptors_.Set(usage.max_descriptors);
  SetOldestOpenCallAge();
  return registry_.Collect();
}

std::string Metrics::Render(const ProcessNumbers& process) {
  return prometheus::TextSerializer().prometheus::Serializer::Serialize(Collect(process));
}

}  // namespace stampgate
