// The metrics of the gateway, in Prometheus's format.
//
// No label contains a text that a caller has sent, or the name of a caller, an organization or an activity. So the
// program bounds the number of series.
#ifndef STAMPGATE_GATEWAY_METRICS_METRICS_H_
#define STAMPGATE_GATEWAY_METRICS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/process/usage.h"

namespace stampgate {

// Names of the reasons for failed TLS handshakes of callers, indexed by HandshakeFailure.
inline constexpr std::array<const char*, 6> kHandshakeFailures = {
    "no_hello", "hello_refused", "no_certificate", "certificate_refused", "unfinished", "no_caller"};

// Names of the bounds for which connections of callers are closed, indexed by Excess.
inline constexpr std::array<const char*, 9> kConnectionBounds = {
    "header_bytes",      "resets",       "control_frames", "connections", "connections_of_all", "bytes",
    "bytes_of_identity", "bytes_of_all", "unread"};

// Names of the reasons for which calls stop waiting for the end of an activity, indexed by WaitEnd.
inline constexpr std::array<const char*, 7> kWaitEnds = {"event", "poll",        "deadline", "full",
                                                         "drain", "caller_left", "dismissed"};

// Names of the classes of calls, of the reasons why the gateway refuses a call because of upstream's rates, and of the
// causes of retries. Indexed by CallClass, AdmissionRefusal and RetryCause.
inline constexpr std::array<const char*, 3> kCallClassNames = {"submit", "query", "background"};
inline constexpr std::array<const char*, 4> kAdmissionRefusalNames = {"no_place", "wait_too_long", "left", "draining"};
inline constexpr std::array<const char*, 5> kRetryCauseNames = {"unreachable", "broken", "rate_limited", "unavailable",
                                                                "error"};

// What a call or a delivery waits for until it is on the disk, and the names of these writes.
enum class DurableWrite { kDecision, kIdempotencyKey, kEvent };
inline constexpr std::array<const char*, 3> kDurableWriteNames = {"decision", "idempotency_key", "event"};

// Numbers about the process. Other code collects them and passes them to Collect.
struct ProcessNumbers {
  ProcessUsage usage;
  uint64_t dropped_log_lines = 0;
};

// Collects all metrics and renders them. Thread-safe.
class Metrics {
 public:
  struct Method {
    std::string full_name;     // "/stampgate.v1.PolicyService/GetPolicy"
    std::string policy_class;  // "query"
    bool streams = false;      // if true, Metrics does not measure the duration of this method's calls
  };

  using SteadyTime = std::chrono::steady_clock::time_point;

  // Counts the calls of each method in `methods` separately, and the calls of all other methods together as "other".
  // `version` is the version of the program. `now` is the clock for the age of the oldest call without an outcome in
  // the audit log.
  Metrics(const std::vector<Method>& methods, absl::string_view version,
          std::function<SteadyTime()> now = std::chrono::steady_clock::now);

  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // From now on, counts the calls of these methods separately too. Methods that it counts already keep their counts.
  void AddMethods(const std::vector<Method>& methods);

  // CallMetrics calls CallBegan once when a call begins, and CallLeft once when the call is no longer in flight.
  void CallBegan();
  void CallLeft();
  // Counts the end of a call with its status and its duration. Must be called between CallBegan and CallLeft.
  void CallEnded(absl::string_view method, const absl::Status& status, absl::Duration duration);

  // Counts a failed TLS handshake of a caller: an index of kHandshakeFailures.
  void CountFailedHandshake(size_t reason) { failed_handshakes_[reason]->Increment(); }
  // Counts a connection of a caller that was closed because it exceeded a bound: an index of kConnectionBounds.
  void CountClosedConnection(size_t bound) { closed_connections_[bound]->Increment(); }
  // Counts responses that ended because their clients have not read them.
  void CountUnreadResponses(size_t responses) { unread_responses_.Increment(static_cast<double>(responses)); }
  // Sets the number of connections to the gRPC port, the number of TLS handshakes in progress, and the bytes that the
  // connections hold, see MemoryAccount.
  void SetConnections(size_t connections, size_t handshakes, int64_t held_bytes);

  void SubscriberCame() { subscribers_.Increment(); }
  void SubscriberLeft() { subscribers_.Decrement(); }
  // CountDelivery counts a delivery by its outcome, which is one of Intake::Outcomes(). ExpectDeliveries makes the
  // metrics show each outcome with 0 until the first delivery with this outcome.
  void ExpectDeliveries(const std::vector<std::string>& outcomes);
  void CountDelivery(const std::string& outcome);
  // Sets the position of the newest event in the event log.
  void SetLatestPosition(int64_t position);
  // Sets how long the writer of such records has waited for its disk or server so far; zero if it does not wait. The
  // metric is shown after the first call of this function.
  void SetWriteUnderWay(DurableWrite write, absl::Duration under_way);
  // Sets whether the event log cannot store events. The metric is shown after the first call of this function.
  void SetEventLogFailing(bool failing);
  // Sets the size of the event log and the age of its oldest event, which is zero if there is no event.
  void SetEventLogUsage(int64_t bytes, absl::Duration oldest_age);
  // Sets how many events the slowest subscriber has not received yet; zero if there is no subscriber.
  void SetSubscriberLag(int64_t events);
  // The number of open connections to the webhook port, by whether a valid delivery has come from the peer's source
  // (`proven`) or not (`unproven`); since the start of the port, how many connections were closed to admit others
  // (`displaced`), and how many were not admitted (`refused`); and how many bytes connections and deliveries hold. See
  // PeerTable and Receiver::held_bytes.
  struct WebhookPeers {
    size_t unproven = 0;
    size_t proven = 0;
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
    size_t held_bytes = 0;
  };
  // Only one thread may call SetWebhookPeers at a time.
  void SetWebhookPeers(const WebhookPeers& peers);
  // Counts events that were found to be lost or damaged when the event log was opened.
  void CountLostEvents(int64_t count) { lost_events_.Increment(static_cast<double>(count)); }

  // Sets the number of idempotency keys in the call store, and whether the last write of the call store failed. Both
  // metrics are shown after the first call of this function.
  void SetCallStore(int64_t keys, bool failing);

  // Sets how many exchanges with upstream continue although their callers no longer wait, and when the caller of the
  // oldest of these exchanges stopped waiting. Never blocks.
  void SetDetachedExchanges(int count, std::chrono::steady_clock::time_point oldest);

  // SetUpstreamLane sets how many calls of a lane wait for upstream's response, and how many wait for a connection.
  // ObserveUpstreamExchange counts an exchange and its duration. `lane` is an index of kUpstreamLanes, which has the
  // same order as UpstreamClient::Lane. Both functions never block.
  void SetUpstreamLane(size_t lane, int in_flight, int waiting);
  void ObserveUpstreamExchange(size_t lane, absl::Duration duration);
  static constexpr std::array<const char*, 3> kUpstreamLanes = {"submit", "query", "key_set"};

  // Sets how many calls wait for the end of an activity. CountWaitEnd counts a call that no longer waits; `end` is an
  // index of kWaitEnds. CountActivityPoll counts a reading of an activity for which calls wait.
  void SetWaitingCalls(size_t calls) { waiting_calls_.Set(static_cast<double>(calls)); }
  void CountWaitEnd(size_t end) { wait_ends_[end]->Increment(); }
  void CountActivityPoll(bool ok) { activity_polls_[ok ? 1 : 0]->Increment(); }
  // CountAdmission counts a call that was admitted (without `refusal`) or refused, and how long it waited.
  // SetQueuedCalls sets how many calls wait. `call_class` is an index of kCallClassNames, and `refusal` of
  // kAdmissionRefusalNames. SetUpstreamRate sets how many requests upstream's rate permits now, in a second.
  void CountAdmission(size_t call_class, std::optional<size_t> refusal, absl::Duration waited);
  void SetQueuedCalls(size_t call_class, size_t waiting);
  void SetUpstreamRate(double requests_per_second);
  // Sets how many operations are slower than the config states, because upstream has refused their requests.
  void SetSlowedOperations(size_t operations);
  // Sets the part of upstream's rate that this gateway may use, from 0 to 1; how many gateways share the rates, and
  // whether this gateway has no share from the store now; and how many calls of a quota nobody has taken. The metrics
  // are shown after the first calls of these functions.
  void SetRateShare(double share);
  void SetRateReplicas(int replicas, bool uses_fallback);
  void SetQuotaUnused(absl::Duration window, int64_t calls);
  // Sets whether no calls of quotas can be taken from the store. The metric is shown after the first call.
  void SetQuotasFailing(bool failing);
  // Counts a request that was sent again or, if `sent` is false, not sent again because the budget of retries was used
  // up. `cause` is an index of kRetryCauseNames.
  void CountRetry(size_t cause, bool sent);
  // Sets whether the circuit breaker of a lane is open. Only submits and queries have one.
  void SetBreakerOpen(size_t lane, bool open) { breaker_open_[lane]->Set(open ? 1 : 0); }

  // Counts a write that has ended, and how long the call or the delivery has waited for it.
  void ObserveDurableWrite(DurableWrite write, absl::Duration waited);

  // SetAuditHead and SetAuditFailing set metrics of the audit log. Each metric is shown after the first call of its
  // function.
  void SetAuditHead(uint64_t sequence, const std::string& head);
  void SetAuditFailing(bool failing);
  // Sets the size of the audit log's current file.
  void SetAuditFileBytes(int64_t bytes);
  // Sets how many allowed calls and how many allowed event reads have no outcome in the audit log, and when the oldest
  // of the calls was allowed. Never waits for Collect.
  void SetAuditOpenAllows(size_t calls, size_t reads, std::optional<SteadyTime> oldest_call);

  // Counts a reload that succeeded or failed; `what` is a constant such as "config".
  void CountReload(const std::string& what, bool ok);
  // Sets when the current config was loaded, at the start or by a reload.
  void SetConfigTaken(absl::Time time);
  // Sets how many grants have organizations other than those in their organizations_file, because it cannot be used.
  void SetGrantsWithoutTheirFile(int grants);
  void SetPolicyVersion(const std::string& version);
  // Sets when the certificate of the gRPC port expires. The metric is shown after the first call.
  void SetCertificateNotAfter(absl::Time time);
  // Sets when the certificate of the webhook port expires. The metric is shown after the first call.
  void SetWebhookCertificateNotAfter(absl::Time time);

  // Makes the metrics show the exports to a collector of telemetry, with 0 until the first export. Must be called
  // before the first call of the functions below.
  void ExpectTelemetry();
  // Counts an export of `signal`, which is "traces" or "metrics".
  void CountTelemetryExport(const std::string& signal, bool ok);
  // Counts spans that the collector refused, or that could not be sent.
  void CountLostSpans(int64_t count);
  // Counts a sampled call whose spans were dropped because too many calls wait for their export. Never blocks.
  void CountDroppedSpans() { dropped_traces_->Increment(); }

  // Returns all metrics.
  std::vector<prometheus::MetricFamily> Collect(const ProcessNumbers& process = {});
  // Returns all metrics, in Prometheus's text format 0.0.4.
  std::string Render(const ProcessNumbers& process = {});
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;

  static constexpr size_t kCodes = 17;  // the number of absl::StatusCode values

  // The series of one method, one for each status code. The series of OK exists from the beginning; each other series
  // exists after the first call with its code.
  struct Calls {
    std::string name;
    prometheus::Histogram* duration = nullptr;
    std::array<std::atomic<prometheus::Counter*>, kCodes> ended{};
  };

  struct UpstreamLane {
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Gauge* waiting = nullptr;
    prometheus::Histogram* duration = nullptr;
  };

  // The series of one class of calls.
  struct CallClassSeries {
    prometheus::Histogram* wait = nullptr;
    prometheus::Gauge* waiting = nullptr;
    prometheus::Counter* admitted = nullptr;
    std::array<prometheus::Counter*, kAdmissionRefusalNames.size()> refused{};
  };

  // A gauge that has the value 1 and shows a text in one of its labels.
  class Info {
   public:
    Info(Gauges& gauges, std::string label) : gauges_(gauges), label_(std::move(label)) {}
    void Set(const std::string& text);

   private:
    Gauges& gauges_;
    const std::string label_;
    prometheus::Gauge* gauge_ = nullptr;
  };

  std::unique_ptr<Calls> MakeCalls(std::string name, prometheus::Histogram* duration);
  prometheus::Counter& EndedWith(Calls& calls, absl::StatusCode code);
  void CountError(const absl::Status& status, absl::Duration duration);
  void SetOldestOpenCallAge();
  // The reference is valid as long as this.
  Calls& CallsOf(absl::string_view method);
  // Increases `counter` to `total`, which other code has counted.
  static void Raise(prometheus::Counter& counter, double total);

  prometheus::Registry registry_;
  Counters& calls_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Gauge& in_flight_;
  std::shared_mutex methods_mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Calls>> methods_;  // guarded by methods_mutex_
  std::unique_ptr<Calls> other_methods_;
  absl::flat_hash_map<std::string, prometheus::Counter*> errors_;  // by reason
  prometheus::Counter* upstream_errors_;
  prometheus::Counter* other_errors_;
  prometheus::Gauge& subscribers_;
  Counters& deliveries_;
  Gauges& latest_position_;
  std::array<Gauges*, kDurableWriteNames.size()> writes_under_way_;  // by DurableWrite
  Gauges& event_log_failing_;
  Gauges& event_log_bytes_;
  Gauges& event_log_oldest_age_;
  Gauges& subscriber_lag_;
  Gauges& webhook_peers_;
  Counters& webhook_peers_displaced_;
  Counters& webhook_peers_refused_;
  Gauges& webhook_held_bytes_;
  Gauges& idempotency_keys_;
  Gauges& call_store_failing_;
  prometheus::Gauge& detached_exchanges_;
  prometheus::Gauge& oldest_detached_age_;
  std::atomic<std::chrono::steady_clock::time_point> oldest_detached_{};  // meaningless if no exchange is detached
  prometheus::Counter& lost_events_;
  Gauges& audit_sequence_;
  Gauges& audit_failing_;
  Gauges& audit_file_bytes_;
  Gauges& audit_open_allows_;
  Gauges& audit_oldest_open_call_ages_;
  Counters& reloads_;
  Gauges& config_taken_;
  Gauges& grants_without_their_file_;
  Gauges& certificate_not_after_;
  Gauges& webhook_certificate_not_after_;
  std::array<UpstreamLane, kUpstreamLanes.size()> upstream_lanes_;
  std::array<prometheus::Histogram*, kDurableWriteNames.size()> durable_writes_;  // by DurableWrite
  std::array<CallClassSeries, kCallClassNames.size()> call_classes_;
  prometheus::Histogram* refusals_ = nullptr;
  std::array<std::array<prometheus::Counter*, 2>, kRetryCauseNames.size()> retries_{};  // not sent, and sent
  Gauges& upstream_rate_;
  Gauges& slowed_operations_;
  Gauges& rate_share_;
  Gauges& rate_replicas_;
  Gauges& rate_shares_failing_;
  Gauges& quota_unused_;
  Gauges& quotas_failing_;
  std::array<prometheus::Gauge*, 2> breaker_open_{};  // of submits and queries, see kUpstreamLanes
  std::array<prometheus::Counter*, kHandshakeFailures.size()> failed_handshakes_{};
  std::array<prometheus::Counter*, kConnectionBounds.size()> closed_connections_{};
  prometheus::Counter& unread_responses_;
  prometheus::Gauge& connections_;
  prometheus::Gauge& handshakes_;
  prometheus::Gauge& held_bytes_;
  prometheus::Gauge& waiting_calls_;
  std::array<prometheus::Counter*, kWaitEnds.size()> wait_ends_{};
  std::array<prometheus::Counter*, 2> activity_polls_{};  // failed, ok
  prometheus::Counter& dropped_log_lines_;
  Counters& telemetry_exports_;
  Counters& lost_spans_;
  Counters& dropped_trace_counters_;
  prometheus::Counter* dropped_traces_ = nullptr;  // set by ExpectTelemetry
  prometheus::Gauge& resident_bytes_;
  prometheus::Gauge& open_descriptors_;
  prometheus::Gauge& max_descriptors_;
  prometheus::Counter& cpu_seconds_;
  prometheus::Gauge& start_time_;

  const std::function<SteadyTime()> now_;
  std::mutex open_allows_mutex_;  // guards the next two members; held only briefly, because the audit log waits for it
  std::optional<SteadyTime> oldest_open_call_;
  prometheus::Gauge* oldest_open_call_age_ = nullptr;  // null if the config has no audit log

  // Guards the metrics that Collect sets, and the next two members, so that Collect never shows two texts of one Info.
  std::mutex mutex_;
  Info audit_head_;
  Info policy_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_METRICS_H_
