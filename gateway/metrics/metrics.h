// The metrics of the gateway, in Prometheus's format.
//
// No label contains text from a caller, nor an organization, an activity or a caller's name, so the number of series is
// bounded by the program.
#ifndef STAMPGATE_GATEWAY_METRICS_METRICS_H_
#define STAMPGATE_GATEWAY_METRICS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/process/usage.h"

namespace stampgate {

// Why TLS handshakes of callers fail, indexed by HandshakeFailure.
inline constexpr std::array<const char*, 5> kHandshakeFailures = {"no_hello", "hello_refused", "no_certificate",
                                                                  "certificate_refused", "unfinished"};

// Numbers about the process that are collected elsewhere.
struct ProcessNumbers {
  ProcessUsage usage;
  std::array<int64_t, kHandshakeFailures.size()> failed_handshakes{};
  uint64_t dropped_log_lines = 0;
};

// Thread-safe.
class Metrics {
 public:
  struct Method {
    std::string full_name;     // "/stampgate.v1.PolicyService/GetPolicy"
    std::string policy_class;  // "query"
    bool streams = false;      // the duration of its calls is not measured
  };

  using SteadyTime = std::chrono::steady_clock::time_point;

  // Counts calls by these methods, and all others as "other". `version` is the program's. `now` is the clock for ages.
  Metrics(const std::vector<Method>& methods, absl::string_view version,
          std::function<SteadyTime()> now = std::chrono::steady_clock::now);

  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Call both once for every call; see CallMetrics.
  void CallBegan();
  void CallLeft();
  // Call it between the two, when the call's status is known.
  void CallEnded(absl::string_view method, const absl::Status& status, absl::Duration duration);

  void SubscriberCame() { subscribers_.Increment(); }
  void SubscriberLeft() { subscribers_.Decrement(); }
  // One of Intake::Outcomes(). Expected outcomes are shown as 0 before the first one.
  void ExpectDeliveries(const std::vector<std::string>& outcomes);
  void CountDelivery(const std::string& outcome);
  // The event log's latest position.
  void SetLatestPosition(int64_t position);
  // How long the event log's current write has taken; zero if none is in progress.
  void SetEventLogWrite(absl::Duration under_way);
  // The event log's size, and the age of its oldest event; zero if it has none.
  void SetEventLogUsage(int64_t bytes, absl::Duration oldest_age);
  // How many events the slowest subscriber has not received yet; zero if there is no subscriber.
  void SetSubscriberLag(int64_t events);
  // The webhook port's connections and, since its start, those that were displaced or not admitted; see PeerTable.
  struct WebhookPeers {
    size_t unproven = 0;
    size_t proven = 0;
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };
  // One thread at a time.
  void SetWebhookPeers(const WebhookPeers& peers);
  // Events that the event log found lost or damaged on its disk when it was opened.
  void CountLostEvents(int64_t count) { lost_events_.Increment(static_cast<double>(count)); }

  // The call store: its number of idempotency keys, and whether its last write failed. Shown from the first call on.
  void SetCallStore(int64_t keys, bool failing);

  // Exchanges with upstream whose callers have left: their number, and when the oldest one's caller left. Never blocks.
  void SetDetachedExchanges(int count, std::chrono::steady_clock::time_point oldest);

  // `lane` indexes kUpstreamLanes, in the order of UpstreamClient::Lane: how many calls are at upstream, how many wait
  // for a connection, and how long an exchange took. Never blocks.
  void SetUpstreamLane(size_t lane, int in_flight, int waiting);
  void ObserveUpstreamExchange(size_t lane, absl::Duration duration);
  static constexpr std::array<const char*, 3> kUpstreamLanes = {"submit", "query", "key_set"};

  // Each is shown from its first call on; without an audit, never.
  void SetAuditHead(uint64_t sequence, const std::string& head);
  void SetAuditFailing(bool failing);
  // The size of the current file.
  void SetAuditFileBytes(int64_t bytes);
  // How many allowed calls and reads have no outcome, and when the oldest of these calls was allowed, if there is one.
  // Does not wait for Render.
  void SetAuditOpenAllows(size_t calls, size_t reads, std::optional<SteadyTime> oldest_call);

  // Counts a reload that succeeded or failed; `what` is a constant such as "config".
  void CountReload(const std::string& what, bool ok);
  // When the current config was loaded, at the start or by a reload.
  void SetConfigTaken(absl::Time time);
  void SetPolicyVersion(const std::string& version);
  // When the certificate of the gRPC port expires. Shown once it is set.
  void SetCertificateNotAfter(absl::Time time);
  // The same for the webhook port.
  void SetWebhookCertificateNotAfter(absl::Time time);

  // All metrics, in Prometheus's text format 0.0.4.
  std::string Render(const ProcessNumbers& process = {});
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;

  static constexpr size_t kCodes = 17;  // the number of absl::StatusCode values

  // One method. The series of OK exists from the beginning, the others from their first call on.
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

  // A gauge of value 1 with a text in its label.
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
  void CountError(const absl::Status& status);
  void SetOldestOpenCallAge();
  // Increases a counter to a total that was counted elsewhere.
  static void Raise(prometheus::Counter& counter, double total);

  prometheus::Registry registry_;
  Counters& calls_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Gauge& in_flight_;
  absl::flat_hash_map<std::string, std::unique_ptr<Calls>> methods_;
  std::unique_ptr<Calls> other_methods_;
  absl::flat_hash_map<std::string, prometheus::Counter*> errors_;  // by reason
  prometheus::Counter* upstream_errors_;
  prometheus::Counter* other_errors_;
  prometheus::Gauge& subscribers_;
  Counters& deliveries_;
  Gauges& latest_position_;
  Gauges& event_log_write_;
  Gauges& event_log_bytes_;
  Gauges& event_log_oldest_age_;
  Gauges& subscriber_lag_;
  Gauges& webhook_peers_;
  Counters& webhook_peers_displaced_;
  Counters& webhook_peers_refused_;
  Gauges& idempotency_keys_;
  Gauges& call_store_failing_;
  prometheus::Gauge& detached_exchanges_;
  prometheus::Gauge& oldest_detached_age_;
  std::atomic<std::chrono::steady_clock::time_point> oldest_detached_{};  // meaningless while there is none
  prometheus::Counter& lost_events_;
  Gauges& audit_sequence_;
  Gauges& audit_failing_;
  Gauges& audit_file_bytes_;
  Gauges& audit_open_allows_;
  Gauges& audit_oldest_open_call_ages_;
  Counters& reloads_;
  Gauges& config_taken_;
  Gauges& certificate_not_after_;
  Gauges& webhook_certificate_not_after_;
  std::array<UpstreamLane, kUpstreamLanes.size()> upstream_lanes_;
  std::array<prometheus::Counter*, kHandshakeFailures.size()> failed_handshakes_{};
  prometheus::Counter& dropped_log_lines_;
  prometheus::Gauge& resident_bytes_;
  prometheus::Gauge& open_descriptors_;
  prometheus::Gauge& max_descriptors_;
  prometheus::Counter& cpu_seconds_;
  prometheus::Gauge& start_time_;

  const std::function<SteadyTime()> now_;
  std::mutex open_allows_mutex_;  // guards the two below; held only briefly, because the audit log waits for it
  std::optional<SteadyTime> oldest_open_call_;
  prometheus::Gauge* oldest_open_call_age_ = nullptr;  // null without an audit

  std::mutex mutex_;  // guards what Render sets, and the two below, so that none is shown with two texts
  Info audit_head_;
  Info policy_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_METRICS_H_
