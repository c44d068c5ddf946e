// What the gateway counts, for Prometheus to read.
//
// No label holds what a caller chose, nor an organization, an activity or a caller's name: there are as many series as
// the program knows words.
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

// How the TLS handshakes of callers fail, by HandshakeFailure.
inline constexpr std::array<const char*, 5> kHandshakeFailures = {"no_hello", "hello_refused", "no_certificate",
                                                                  "certificate_refused", "unfinished"};

// What others count for the whole process.
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
    bool streams = false;      // how long its calls last says nothing
  };

  using SteadyTime = std::chrono::steady_clock::time_point;

  // Calls are counted by these methods; all others are "other". `version` is that of the program. `now` is for ages.
  Metrics(const std::vector<Method>& methods, absl::string_view version,
          std::function<SteadyTime()> now = std::chrono::steady_clock::now);

  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Every call does both, once; see CallMetrics.
  void CallBegan();
  void CallLeft();
  // In between, once its end is known.
  void CallEnded(absl::string_view method, const absl::Status& status, absl::Duration duration);

  void SubscriberCame() { subscribers_.Increment(); }
  void SubscriberLeft() { subscribers_.Decrement(); }
  // One of Intake::Outcomes(); those that are expected are shown before there is one.
  void ExpectDeliveries(const std::vector<std::string>& outcomes);
  void CountDelivery(const std::string& outcome);
  // The event log's latest position.
  void SetLatestPosition(int64_t position);
  // For how long the event log's write that is under way has been so; zero if none is.
  void SetEventLogWrite(absl::Duration under_way);
  // What the event log takes, and how long ago its oldest event was stored; zero if it has none.
  void SetEventLogUsage(int64_t bytes, absl::Duration oldest_age);
  // How many events the subscriber that is furthest behind has not had yet; zero if there is none.
  void SetSubscriberLag(int64_t events);
  // The webhook port's connections, and since its beginning, those that had to go or found no place: see PeerTable.
  struct WebhookPeers {
    size_t unproven = 0;
    size_t proven = 0;
    uint64_t unproven_displaced = 0;
    uint64_t proven_displaced = 0;
    uint64_t refused = 0;
  };
  // One thread at a time.
  void SetWebhookPeers(const WebhookPeers& peers);
  // Events that the event log's disk has lost or damaged, as far as the log found them when it was opened.
  void CountLostEvents(int64_t count) { lost_events_.Increment(static_cast<double>(count)); }

  // The store of idempotency keys: how many it has, and whether its last write failed. Shown from the first call on.
  void SetCallStore(int64_t keys, bool failing);

  // Exchanges with upstream that go on without their callers: how many, and since when the oldest one does. Never
  // blocks.
  void SetDetachedExchanges(int count, std::chrono::steady_clock::time_point oldest);

  // One of kUpstreamLanes, by UpstreamClient::Lane: how many calls are at upstream and how many wait for a place there;
  // and how long an exchange took. Never block.
  void SetUpstreamLane(size_t lane, int in_flight, int waiting);
  void ObserveUpstreamExchange(size_t lane, absl::Duration duration);
  static constexpr std::array<const char*, 3> kUpstreamLanes = {"submit", "query", "key_set"};

  // Shown from the first call of each: without an audit, never.
  void SetAuditHead(uint64_t sequence, const std::string& head);
  void SetAuditFailing(bool failing);
  // Of the file that is written.
  void SetAuditFileBytes(int64_t bytes);
  // How many calls and reads were allowed and have no outcome, and when the oldest of these calls was allowed, if there
  // is one. Does not wait for Render.
  void SetAuditOpenAllows(size_t calls, size_t reads, std::optional<SteadyTime> oldest_call);

  // A changed state was taken, or could not be; `what` is a constant such as "config".
  void CountReload(const std::string& what, bool ok);
  // When the config that is in force was taken, at the start or by a reload.
  void SetConfigTaken(absl::Time time);
  void SetPolicyVersion(const std::string& version);
  // When the certificate that is served expires. Shown once it is set.
  void SetCertificateNotAfter(absl::Time time);
  // The same of the port that deliveries come to.
  void SetWebhookCertificateNotAfter(absl::Time time);

  // All of it, in Prometheus's text format 0.0.4.
  std::string Render(const ProcessNumbers& process = {});
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;

  static constexpr size_t kCodes = 17;  // absl::StatusCode's

  // One method. A series is there from its first call on; that of OK is there from the beginning.
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

  // A gauge that is 1 and has a text in its label.
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
  // Makes a counter show what something else has counted.
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
  std::atomic<std::chrono::steady_clock::time_point> oldest_detached_{};  // of no meaning while there is none
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
  std::mutex open_allows_mutex_;  // for the two below; held for a moment, as the audit waits for it
  std::optional<SteadyTime> oldest_open_call_;
  prometheus::Gauge* oldest_open_call_age_ = nullptr;  // null without an audit

  std::mutex mutex_;  // for what Render sets, and for the two below: nobody is to see one with two texts
  Info audit_head_;
  Info policy_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_METRICS_H_
