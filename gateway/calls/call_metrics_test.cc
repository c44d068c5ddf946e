#include "gateway/calls/call_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/calls/counted_call.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/error_reason.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

constexpr char kGet[] = "/s.Service/Get";
constexpr char kSubscribe[] = "/s.Service/Subscribe";

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

class CallMetricsTest : public ::testing::Test {
 protected:
  CallMetricsTest() {
    metrics_.AddMethods(
        {{kGet, "query"}, {"/s.Service/Delete", "dangerous"}, {kSubscribe, "events", /*streams=*/true}});
  }

  MetricRegistry registry_;
  CallMetrics metrics_{registry_};
};

TEST_F(CallMetricsTest, TheseSeriesAreShownFromTheStart) {
  std::vector<std::string> series = {"gauge stampgate_calls_in_flight",
                                     "histogram stampgate_admission_refusal_seconds"};
  for (const char* method : {kGet, "/s.Service/Delete", kSubscribe, "other"}) {
    series.push_back(absl::StrCat("counter stampgate_calls_total{code=\"OK\",method=\"", method, "\"}"));
  }
  for (const char* policy_class : {"query", "dangerous"}) {
    series.push_back(absl::StrCat("histogram stampgate_call_duration_seconds{class=\"", policy_class, "\"}"));
  }
  std::vector<std::string> reasons = {"UPSTREAM", "OTHER"};
  const google::protobuf::EnumDescriptor* values = v1::ErrorReason_descriptor();
  for (int i = 1; i < values->value_count(); ++i) {
    reasons.push_back(std::string(values->value(i)->name()).substr(sizeof("ERROR_REASON_") - 1));
  }
  for (const std::string& reason : reasons) {
    series.push_back(absl::StrCat("counter stampgate_call_errors_total{reason=\"", reason, "\"}"));
  }
  EXPECT_THAT(SeriesOf(registry_), UnorderedElementsAreArray(series));
}

TEST_F(CallMetricsTest, EachCallIsCountedOnce) {
  for (int i = 0; i < 3; ++i) CountedCall(metrics_, kGet).End(absl::OkStatus());
  CountedCall(metrics_, kGet).End(Denied());
  CountedCall twice(metrics_, kGet);
  twice.End(absl::OkStatus());
  twice.End(Denied());
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "4");
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"PERMISSION_DENIED\",method=\"/s.Service/Get\"}"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_duration_seconds_count{class=\"query\"}"), "5");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_duration_seconds_count{class=\"dangerous\"}"), "0");
}

TEST_F(CallMetricsTest, AddedMethodsAreCountedSeparatelyAndTheOthersKeepTheirCounts) {
  CountedCall(metrics_, kGet).End(absl::OkStatus());
  CountedCall(metrics_, "/s.Service/Added").End(absl::OkStatus());
  metrics_.AddMethods({{"/s.Service/Added", "query"}, {kGet, "query"}});
  CountedCall(metrics_, "/s.Service/Added").End(absl::OkStatus());
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Added\"}"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"other\"}"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "1");
}

TEST_F(CallMetricsTest, TheNumberOfCallsInFlightIsShown) {
  auto ends = std::make_unique<CountedCall>(metrics_, kGet);
  auto vanishes = std::make_unique<CountedCall>(metrics_, kGet);
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_in_flight"), "2");
  ends->End(absl::OkStatus());
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_in_flight"), "1");
  ends = nullptr;
  vanishes = nullptr;
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_in_flight"), "0");
}

TEST_F(CallMetricsTest, OnlyTheGatewaysReasonsAreShown) {
  metrics_.CountEnd(kGet, OfUpstream("DENIED_BY_POLICY"), absl::ZeroDuration());
  metrics_.CountEnd(kGet, OfUpstream("chosen by somebody"), absl::ZeroDuration());
  metrics_.CountEnd(kGet, absl::InternalError("nobody said why"), absl::ZeroDuration());
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "0");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_errors_total{reason=\"UPSTREAM\"}"), "2");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_errors_total{reason=\"OTHER\"}"), "1");
  EXPECT_THAT(registry_.Render(), Not(HasSubstr("chosen")));
}

TEST_F(CallMetricsTest, CallsOfUnknownMethodsAreCountedTogether) {
  metrics_.CountEnd("/chosen/ByACaller", absl::OkStatus(), absl::Seconds(1));
  metrics_.CountEnd("", absl::OkStatus(), absl::Seconds(1));
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"other\"}"), "2");
  EXPECT_THAT(registry_.Render(), Not(HasSubstr("ByACaller")));
}

TEST_F(CallMetricsTest, UndefinedStatusCodesAreCountedAsUnknown) {
  metrics_.CountEnd(kGet, absl::Status(static_cast<absl::StatusCode>(99), "m"), absl::ZeroDuration());
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"UNKNOWN\",method=\"/s.Service/Get\"}"), "1");
}

TEST_F(CallMetricsTest, DurationsOfCallsAreMeasuredButNotThoseOfStreams) {
  metrics_.CountEnd(kGet, absl::OkStatus(), absl::Milliseconds(3));
  metrics_.CountEnd(kGet, absl::OkStatus(), absl::Milliseconds(500));
  metrics_.CountEnd(kGet, absl::OkStatus(), absl::Seconds(100));
  metrics_.CountEnd(kSubscribe, absl::OkStatus(), absl::Hours(1));
  const auto bucket = [&](absl::string_view le) {
    return ValueOf(registry_, absl::StrCat("stampgate_call_duration_seconds_bucket{class=\"query\",le=\"", le, "\"}"));
  };
  EXPECT_EQ(bucket("0.0025"), "0");
  EXPECT_EQ(bucket("0.005"), "1");
  EXPECT_EQ(bucket("0.25"), "1");
  EXPECT_EQ(bucket("0.5"), "2");
  EXPECT_EQ(bucket("30"), "2");
  EXPECT_EQ(bucket("+Inf"), "3");
  EXPECT_THAT(registry_.Render(), Not(HasSubstr("class=\"events\"")));
}

TEST_F(CallMetricsTest, ACancelledCallIsNotCountedAsAnError) {
  const auto errors = [&] {
    double sum = 0;
    for (const absl::string_view line : absl::StrSplit(registry_.Render(), '\n')) {
      if (!absl::StartsWith(line, "stampgate_call_errors_total{")) continue;
      double value = 0;
      EXPECT_TRUE(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value));
      sum += value;
    }
    return sum;
  };
  CountedCall(metrics_, kSubscribe).End(absl::CancelledError("the caller has gone"));
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"CANCELLED\",method=\"/s.Service/Subscribe\"}"), "1");
  EXPECT_EQ(errors(), 0);
  Error said_by_upstream;
  said_by_upstream.code = absl::StatusCode::kCancelled;
  said_by_upstream.domain = std::string(kUpstreamDomain);
  said_by_upstream.reason = "SOMETHING";
  CountedCall(metrics_, kGet).End(ToStatus(said_by_upstream));
  EXPECT_EQ(errors(), 1);
}

TEST_F(CallMetricsTest, TheTimeToARefusalIsThatOfCallsWithoutAPlace) {
  const auto refused = [](v1::ErrorReason reason) {
    return ToStatus(GatewayError(absl::StatusCode::kResourceExhausted, reason, "refused"));
  };
  metrics_.CountEnd(kGet, refused(v1::ERROR_REASON_QUOTA_EXHAUSTED), absl::Milliseconds(2));
  metrics_.CountEnd(kGet, refused(v1::ERROR_REASON_QUOTA_EXHAUSTED), absl::Milliseconds(200));
  metrics_.CountEnd(kGet, refused(v1::ERROR_REASON_TOO_MANY_CALLS), absl::Milliseconds(2));
  metrics_.CountEnd(kGet, absl::OkStatus(), absl::Milliseconds(2));
  EXPECT_EQ(ValueOf(registry_, "stampgate_admission_refusal_seconds_count"), "2");
  EXPECT_EQ(ValueOf(registry_, "stampgate_admission_refusal_seconds_bucket{le=\"0.005\"}"), "1");
}

TEST_F(CallMetricsTest, CountsOfManyThreadsAreExact) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < kCalls; ++n) {
        CountedCall(metrics_, kGet).End(n % 2 == 0 ? absl::OkStatus() : Denied());
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_THAT(registry_.Render(), HasSubstr("stampgate_calls_in_flight"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_total{code=\"OK\",method=\"/s.Service/Get\"}"), "4000");
  EXPECT_EQ(ValueOf(registry_, "stampgate_call_errors_total{reason=\"DENIED_BY_POLICY\"}"), "4000");
  EXPECT_EQ(ValueOf(registry_, "stampgate_calls_in_flight"), "0");
}

}  // namespace
}  // namespace stampgate
