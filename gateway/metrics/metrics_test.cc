#include "gateway/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/metrics/call_metrics.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGet[] = "/s.Service/Get";
constexpr char kSubscribe[] = "/s.Service/Subscribe";

std::vector<Metrics::Method> Methods() {
  return {{kGet, "query"}, {"/s.Service/Delete", "dangerous"}, {kSubscribe, "events", /*streams=*/true}};
}

// Returns the value in the line that begins with `series`, or "none".
std::string ValueOf(Metrics& metrics, absl::string_view series) {
  const std::string text = metrics.Render();
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits("} ", 1));
    if (absl::StrContains(series, '{') && absl::StrCat(parts.first, "}") == series) return std::string(parts.second);
    const std::pair<absl::string_view, absl::string_view> plain = absl::StrSplit(line, ' ');
    if (plain.first == series) return std::string(plain.second);
  }
  return "none";
}

absl::Status Denied() {
  return ToStatus(GatewayError(absl::StatusCode::kPermissionDenied, v1::ERROR_REASON_DENIED_BY_POLICY, "no"));
}

absl::Status OfUpstream(const std::string& reason) {
  Error error;
  error.code = absl::StatusCode::kNotFound;
  error.domain = std::string(kUpstreamDomain);
  error.reason = reason;
  return ToStatus(error);
}

TEST(MetricsTest, TheExpectedSeriesExistFromTheStart) {
  Metrics metrics(Methods(), "1.2.3");
  EXPECT_EQ(ValueOf(metrics, "stampgate_build_info{version=\"1.2.3\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Delete\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_in_flight"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"CALLER_NOT_RECOGNIZED\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_subscribers"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_tls_handshakes_failed_total{reason=\"no_certificate\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_log_lines_dropped_total"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_waiting_calls{lane=\"key_set\"}"), "0");
  // Metrics of parts that are not configured are absent.
  for (const char* name : {"audit_", "event_log_", "tls_certificate_", "policy_", "deliveries_", "reloads_"}) {
    EXPECT_THAT(metrics.Render(), Not(HasSubstr(absl::StrCat("stampgate_", name)))) << name;
  }
}

TEST(MetricsTest, TheAgeOfTheOldestDetachedExchangeIsShown) {
  Metrics metrics(Methods(), "v");
  constexpr char kCount[] = "stampgate_detached_exchanges";
  constexpr char kAge[] = "stampgate_detached_exchange_oldest_age_seconds";
  const auto age = [&] {
    double seconds = -1;
    EXPECT_TRUE(absl::SimpleAtod(ValueOf(metrics, kAge), &seconds));
    return seconds;
  };
  EXPECT_EQ(ValueOf(metrics, kCount), "0");
  EXPECT_EQ(age(), 0);
  metrics.SetDetachedExchanges(3, std::chrono::steady_clock::now() - std::chrono::hours(1));
  EXPECT_EQ(ValueOf(metrics, kCount), "3");
  const double hour = age();
  EXPECT_GE(hour, 3600);
  EXPECT_GT(age(), hour);  // the age grows without further calls
  metrics.SetDetachedExchanges(1, std::chrono::steady_clock::now());
  EXPECT_LT(age(), 3600);
  metrics.SetDetachedExchanges(0, {});
  EXPECT_EQ(ValueOf(metrics, kCount), "0");
  EXPECT_EQ(age(), 0);
}

TEST(MetricsTest, EachCallIsCountedOnce) {
  Metrics metrics(Methods(), "v");
  for (int i = 0; i < 3; ++i) CallMetrics(&metrics, kGet).End(absl::OkStatus());
  CallMetrics(&metrics, kGet).End(Denied());
  CallMetrics twice(&metrics, kGet);
  twice.End(absl::OkStatus());
  twice.End(Denied());
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "4");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"PERMISSION_DENIED\",method=\"/s.Service/Get\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_duration_seconds_count{class=\"query\"}"), "5");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_duration_seconds_count{class=\"dangerous\"}"), "0");
}

TEST(MetricsTest, AddedMethodsAreCountedSeparatelyAndTheOthersKeepTheirCounts) {
  Metrics metrics(Methods(), "v");
  CallMetrics(&metrics, kGet).End(absl::OkStatus());
  CallMetrics(&metrics, "/s.Service/Added").End(absl::OkStatus());
  metrics.AddMethods({{"/s.Service/Added", "query"}, {kGet, "query"}});
  CallMetrics(&metrics, "/s.Service/Added").End(absl::OkStatus());
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Added\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"other\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "1");
}

TEST(MetricsTest, TheNumberOfCallsInFlightIsShown) {
  Metrics metrics(Methods(), "v");
  auto ends = std::make_unique<CallMetrics>(&metrics, kGet);
  auto vanishes = std::make_unique<CallMetrics>(&metrics, kGet);
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_in_flight"), "2");
  ends->End(absl::OkStatus());
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_in_flight"), "1");
  ends = nullptr;
  vanishes = nullptr;
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_in_flight"), "0");
}

TEST(MetricsTest, OnlyTheGatewaysReasonsAreShown) {
  Metrics metrics(Methods(), "v");
  metrics.CallEnded(kGet, OfUpstream("DENIED_BY_POLICY"), absl::ZeroDuration());
  metrics.CallEnded(kGet, OfUpstream("chosen by somebody"), absl::ZeroDuration());
  metrics.CallEnded(kGet, absl::InternalError("nobody said why"), absl::ZeroDuration());
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"UPSTREAM\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"OTHER\"}"), "1");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("chosen")));
}

TEST(MetricsTest, CallsOfUnknownMethodsAreCountedTogether) {
  Metrics metrics(Methods(), "v");
  metrics.CallEnded("/chosen/ByACaller", absl::OkStatus(), absl::Seconds(1));
  metrics.CallEnded("", absl::OkStatus(), absl::Seconds(1));
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"other\"}"), "2");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("ByACaller")));
}

TEST(MetricsTest, UndefinedStatusCodesAreCountedAsUnknown) {
  Metrics metrics(Methods(), "v");
  metrics.CallEnded(kGet, absl::Status(static_cast<absl::StatusCode>(99), "m"), absl::ZeroDuration());
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"UNKNOWN\",method=\"/s.Service/Get\"}"), "1");
}

TEST(MetricsTest, DurationsOfCallsAreMeasuredButNotThoseOfStreams) {
  Metrics metrics(Methods(), "v");
  metrics.CallEnded(kGet, absl::OkStatus(), absl::Milliseconds(3));
  metrics.CallEnded(kGet, absl::OkStatus(), absl::Milliseconds(500));
  metrics.CallEnded(kGet, absl::OkStatus(), absl::Seconds(100));
  metrics.CallEnded(kSubscribe, absl::OkStatus(), absl::Hours(1));
  const auto bucket = [&](absl::string_view le) {
    return ValueOf(metrics, absl::StrCat("stampgate_call_duration_seconds_bucket{class=\"query\",le=\"", le, "\"}"));
  };
  EXPECT_EQ(bucket("0.0025"), "0");
  EXPECT_EQ(bucket("0.005"), "1");
  EXPECT_EQ(bucket("0.25"), "1");
  EXPECT_EQ(bucket("0.5"), "2");
  EXPECT_EQ(bucket("30"), "2");
  EXPECT_EQ(bucket("+Inf"), "3");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("class=\"events\"")));
}

TEST(MetricsTest, OnlyTheLatestHeadOfTheAuditLogIsShown) {
  Metrics metrics(Methods(), "v");
  metrics.SetAuditFailing(true);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_failing"), "1");
  metrics.SetAuditFailing(false);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_failing"), "0");
  for (const char* head : {"1:aa", "2:bb", "2:bb"}) metrics.SetAuditHead(2, head);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_head_sequence"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_head_info{head=\"2:bb\"}"), "1");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("1:aa")));
}

TEST(MetricsTest, TheNumberOfAllowsWithoutAnOutcomeIsShown) {
  Metrics::SteadyTime now(std::chrono::seconds(100));
  Metrics metrics(Methods(), "v", [&now] { return now; });
  metrics.SetAuditOpenAllows(2, 7, Metrics::SteadyTime(std::chrono::milliseconds(99500)));
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_open_allows{kind=\"calls\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_open_allows{kind=\"reads\"}"), "7");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_oldest_open_call_seconds"), "0.5");
  // The age grows without further calls.
  now += std::chrono::seconds(10);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_oldest_open_call_seconds"), "10.5");
  metrics.SetAuditOpenAllows(0, 6, std::nullopt);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_open_allows{kind=\"calls\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_open_allows{kind=\"reads\"}"), "6");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_oldest_open_call_seconds"), "0");
}

TEST(MetricsTest, ThePolicyVersionReloadsAndCertificatesAreShown) {
  Metrics metrics(Methods(), "v");
  metrics.SetPolicyVersion("0001");
  metrics.SetPolicyVersion("0002");
  metrics.CountReload("config", true);
  metrics.CountReload("config", false);
  metrics.CountReload("config", false);
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("certificate_not_after")));
  metrics.SetCertificateNotAfter(absl::FromUnixSeconds(1800000001));
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("webhook_tls_certificate")));
  metrics.SetWebhookCertificateNotAfter(absl::FromUnixSeconds(1800000002));
  EXPECT_EQ(ValueOf(metrics, "stampgate_policy_info{version=\"0002\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_policy_info{version=\"0001\"}"), "none");
  EXPECT_EQ(ValueOf(metrics, "stampgate_reloads_total{result=\"ok\",what=\"config\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_reloads_total{result=\"failed\",what=\"config\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_tls_certificate_not_after_timestamp_seconds"), "1800000001");
  EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_tls_certificate_not_after_timestamp_seconds"), "1800000002");
}

TEST(MetricsTest, ACancelledCallIsNotCountedAsAnError) {
  Metrics metrics(Methods(), "v");
  const auto errors = [&metrics] {
    double sum = 0;
    for (const absl::string_view line : absl::StrSplit(metrics.Render(), '\n')) {
      if (!absl::StartsWith(line, "stampgate_call_errors_total{")) continue;
      double value = 0;
      EXPECT_TRUE(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value));
      sum += value;
    }
    return sum;
  };
  CallMetrics(&metrics, kSubscribe).End(absl::CancelledError("the caller has gone"));
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"CANCELLED\",method=\"/s.Service/Subscribe\"}"), "1");
  EXPECT_EQ(errors(), 0);
  Error said_by_upstream;
  said_by_upstream.code = absl::StatusCode::kCancelled;
  said_by_upstream.domain = std::string(kUpstreamDomain);
  said_by_upstream.reason = "SOMETHING";
  CallMetrics(&metrics, kGet).End(ToStatus(said_by_upstream));
  EXPECT_EQ(errors(), 1);
}

TEST(MetricsTest, TheUsageOfTheEventLogAndTheWebhookPeersAreShown) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers_refused_total"), "none");
  metrics.SetEventLogUsage(4096, absl::Milliseconds(2500));
  metrics.SetSubscriberLag(9);
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_bytes"), "4096");
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_oldest_age_seconds"), "2.5");
  EXPECT_EQ(ValueOf(metrics, "stampgate_subscriber_lag_events"), "9");
  for (const uint64_t more : {0, 0, 5}) {
    metrics.SetWebhookPeers({3, 4, 10 + more, 20 + more, 30 + more, 5000});
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers{peer=\"unproven\"}"), "3");
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers{peer=\"proven\"}"), "4");
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers_displaced_total{peer=\"unproven\"}"), absl::StrCat(10 + more));
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers_displaced_total{peer=\"proven\"}"), absl::StrCat(20 + more));
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_peers_refused_total"), absl::StrCat(30 + more));
    EXPECT_EQ(ValueOf(metrics, "stampgate_webhook_held_bytes"), "5000");
  }
}

TEST(MetricsTest, DeliveriesAreCountedAndThePositionIsShown) {
  Metrics metrics(Methods(), "v");
  metrics.SubscriberCame();
  metrics.SubscriberCame();
  metrics.SubscriberLeft();
  metrics.CountDelivery("stored");
  metrics.CountDelivery("stored");
  metrics.CountDelivery("invalid_signature");
  metrics.ExpectDeliveries({"stored", "not_found"});
  metrics.SetLatestPosition(7);
  metrics.CountLostEvents(3);
  EXPECT_EQ(ValueOf(metrics, "stampgate_subscribers"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_deliveries_total{outcome=\"stored\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_deliveries_total{outcome=\"invalid_signature\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_deliveries_total{outcome=\"not_found\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_deliveries_total{outcome=\"too_large\"}"), "none");
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_latest_position"), "7");
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_write_seconds"), "none");
  metrics.SetWriteUnderWay(DurableWrite::kEvent, absl::Milliseconds(1500));
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_write_seconds"), "1.5");
  EXPECT_EQ(ValueOf(metrics, "stampgate_events_lost_total"), "3");
}

TEST(MetricsTest, EachWriterHasAGaugeOfItsCurrentWait) {
  Metrics metrics(Methods(), "v");
  metrics.SetWriteUnderWay(DurableWrite::kDecision, absl::Seconds(2));
  metrics.SetWriteUnderWay(DurableWrite::kIdempotencyKey, absl::Seconds(3));
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_write_seconds"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_store_write_seconds"), "3");
}

TEST(MetricsTest, QuotasHaveAGaugeOfTheirStore) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_quotas_failing"), "none");
  metrics.SetQuotasFailing(true);
  EXPECT_EQ(ValueOf(metrics, "stampgate_quotas_failing"), "1");
}

TEST(MetricsTest, OnlyAGatewayWithAnEventLogHasTheGaugeOfItsFailure) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_failing"), "none");
  metrics.SetEventLogFailing(false);
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_failing"), "0");
  metrics.SetEventLogFailing(true);
  EXPECT_EQ(ValueOf(metrics, "stampgate_event_log_failing"), "1");
}

TEST(MetricsTest, ExchangesWithUpstreamAreMeasured) {
  Metrics metrics(Methods(), "v");
  metrics.SetUpstreamLane(0, 3, 2);
  metrics.SetUpstreamLane(1, 1, 0);
  metrics.ObserveUpstreamExchange(1, absl::Milliseconds(30));
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchanges_in_flight{lane=\"submit\"}"), "3");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_waiting_calls{lane=\"submit\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchanges_in_flight{lane=\"query\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchange_duration_seconds_count{lane=\"query\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchange_duration_seconds_bucket{lane=\"query\",le=\"0.025\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchange_duration_seconds_bucket{lane=\"query\",le=\"0.05\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_exchange_duration_seconds_count{lane=\"submit\"}"), "0");
}

TEST(MetricsTest, WaitsForDurableWritesAreMeasured) {
  Metrics metrics(Methods(), "v");
  metrics.ObserveDurableWrite(DurableWrite::kIdempotencyKey, absl::Milliseconds(30));
  const auto series = [](const char* suffix, const char* labels) {
    return absl::StrCat("stampgate_durable_write_seconds_", suffix, "{write=\"", labels, "}");
  };
  EXPECT_EQ(ValueOf(metrics, series("bucket", "idempotency_key\",le=\"0.025\"")), "0");
  EXPECT_EQ(ValueOf(metrics, series("bucket", "idempotency_key\",le=\"0.05\"")), "1");
  EXPECT_EQ(ValueOf(metrics, series("count", "decision\"")), "0");
  EXPECT_EQ(ValueOf(metrics, series("count", "event\"")), "0");
}

TEST(MetricsTest, WaitsForActivitiesAndReadingsAreCounted) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_waits_total{end=\"deadline\"}"), "0");
  metrics.SetWaitingCalls(3);
  metrics.CountWaitEnd(0);
  metrics.CountWaitEnd(kWaitEnds.size() - 1);
  metrics.CountActivityPoll(true);
  metrics.CountActivityPoll(true);
  metrics.CountActivityPoll(false);
  EXPECT_EQ(ValueOf(metrics, "stampgate_waiting_calls"), "3");
  EXPECT_EQ(ValueOf(metrics, "stampgate_waits_total{end=\"event\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_waits_total{end=\"dismissed\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_activity_polls_total{result=\"ok\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_activity_polls_total{result=\"failed\"}"), "1");
}

TEST(MetricsTest, TheTimeToARefusalIsThatOfCallsWithoutAPlace) {
  Metrics metrics(Methods(), "v");
  const auto refused = [](v1::ErrorReason reason) {
    return ToStatus(GatewayError(absl::StatusCode::kResourceExhausted, reason, "refused"));
  };
  metrics.CallEnded(kGet, refused(v1::ERROR_REASON_QUOTA_EXHAUSTED), absl::Milliseconds(2));
  metrics.CallEnded(kGet, refused(v1::ERROR_REASON_QUOTA_EXHAUSTED), absl::Milliseconds(200));
  metrics.CallEnded(kGet, refused(v1::ERROR_REASON_TOO_MANY_CALLS), absl::Milliseconds(2));
  metrics.CallEnded(kGet, absl::OkStatus(), absl::Milliseconds(2));
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_refusal_seconds_count"), "2");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_refusal_seconds_bucket{le=\"0.005\"}"), "1");
}

TEST(MetricsTest, AdmissionsAreCountedByClassAndReason) {
  Metrics metrics(Methods(), "v");
  metrics.CountAdmission(0, std::nullopt, absl::Milliseconds(30));
  metrics.CountAdmission(1, 1, absl::Milliseconds(200));
  metrics.SetQueuedCalls(1, 4);
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_admitted_total{class=\"submit\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_wait_seconds_count{class=\"submit\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_wait_seconds_count{class=\"query\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_refused_total{class=\"query\",reason=\"wait_too_long\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_refused_total{class=\"query\",reason=\"no_place\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "stampgate_admission_waiting_calls{class=\"query\"}"), "4");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_rate"), "none");
  metrics.SetUpstreamRate(59.4);
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_rate"), "59.4");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_slowed_operations"), "none");
  metrics.SetSlowedOperations(2);
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_slowed_operations"), "2");
}

TEST(MetricsTest, SharesAndQuotasAreShown) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_rate_share"), "none");
  metrics.SetRateShare(0.25);
  EXPECT_EQ(ValueOf(metrics, "stampgate_rate_share"), "0.25");
  metrics.SetRateReplicas(4, /*uses_fallback=*/true);
  EXPECT_EQ(ValueOf(metrics, "stampgate_rate_replicas"), "4");
  EXPECT_EQ(ValueOf(metrics, "stampgate_rate_shares_failing"), "1");
  metrics.SetQuotaUnused(absl::Hours(24), 99'000);
  EXPECT_EQ(ValueOf(metrics, "stampgate_quota_unused_calls{window=\"24h\"}"), "99000");
}

TEST(MetricsTest, RetriesAndTheBreakerAreShown) {
  Metrics metrics(Methods(), "v");
  metrics.CountRetry(0, /*sent=*/true);
  metrics.CountRetry(0, /*sent=*/false);
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_retries_total{cause=\"unreachable\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "stampgate_upstream_retries_withheld_total{cause=\"unreachable\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, R"(stampgate_upstream_breaker_open{lane="query"})"), "0");
  metrics.SetBreakerOpen(1, true);
  EXPECT_EQ(ValueOf(metrics, R"(stampgate_upstream_breaker_open{lane="query"})"), "1");
  EXPECT_EQ(ValueOf(metrics, R"(stampgate_upstream_breaker_open{lane="submit"})"), "0");
}

TEST(MetricsTest, TheSizeOfTheAuditFileIsShownOnceItIsKnown) {
  Metrics metrics(Methods(), "v");
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_file_bytes"), "none");
  metrics.SetAuditFileBytes(4096);
  EXPECT_EQ(ValueOf(metrics, "stampgate_audit_file_bytes"), "4096");
}

TEST(MetricsTest, TheNumbersOfTheProcessAreShown) {
  Metrics metrics(Methods(), "v");
  ProcessNumbers numbers;
  numbers.usage = {1, 2, 3, 4, 5};
  numbers.dropped_log_lines = 11;
  const std::string text = metrics.Render(numbers);
  for (const char* line :
       {"process_resident_memory_bytes 1", "process_open_fds 2", "process_max_fds 3", "process_cpu_seconds_total 4",
        "process_start_time_seconds 5", "stampgate_log_lines_dropped_total 11"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line, "\n")));
  }
}

TEST(MetricsTest, TheConnectionsAreShown) {
  Metrics metrics(Methods(), "v");
  metrics.CountFailedHandshake(2);
  EXPECT_EQ(ValueOf(metrics, "stampgate_tls_handshakes_failed_total{reason=\"no_certificate\"}"), "1");
  metrics.SetConnections(3, 2, 70000);
  metrics.CountClosedConnection(1);
  const std::string text = metrics.Render();
  for (const char* line :
       {"stampgate_connections 3", "stampgate_tls_handshakes 2", "stampgate_connection_held_bytes 70000",
        "stampgate_connections_closed_total{reason=\"header_bytes\"} 0",
        "stampgate_connections_closed_total{reason=\"resets\"} 1"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n", line, "\n")));
  }
}

TEST(MetricsTest, CountsOfManyThreadsAreExact) {
  Metrics metrics(Methods(), "v");
  constexpr int kThreads = 4;
  constexpr int kCalls = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&metrics] {
      for (int n = 0; n < kCalls; ++n) {
        CallMetrics(&metrics, kGet).End(n % 2 == 0 ? absl::OkStatus() : Denied());
        metrics.CountDelivery("stored");
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    metrics.SetAuditHead(i, absl::StrCat(i, ":m"));
    EXPECT_THAT(metrics.Render(), HasSubstr("stampgate_audit_head_info"));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "4000");
  EXPECT_EQ(ValueOf(metrics, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "4000");
  EXPECT_EQ(ValueOf(metrics, "stampgate_deliveries_total{outcome=\"stored\"}"), "8000");
  EXPECT_EQ(ValueOf(metrics, "stampgate_calls_in_flight"), "0");
}

TEST(MetricsTest, CallMetricsAcceptsNoMetrics) { CallMetrics(nullptr, kGet).End(Denied()); }

}  // namespace
}  // namespace stampgate
