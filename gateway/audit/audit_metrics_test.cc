#include "gateway/audit/audit_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class AuditMetricsTest : public ::testing::Test {
 protected:
  static AuditLog::Head HeadAt(uint64_t sequence) {
    AuditLog::Head head;
    head.sequence = sequence;
    return head;
  }

  AuditMetrics::SteadyTime now_{std::chrono::seconds(100)};
  MetricRegistry registry_;
  AuditMetrics metrics_{registry_, [this] { return now_; }};
};

TEST_F(AuditMetricsTest, EachMetricIsShownOnceItHasAValue) {
  EXPECT_THAT(SeriesOf(registry_), IsEmpty());
  metrics_.failing.Set(0);
  metrics_.file_bytes.Set(4096);
  metrics_.write_seconds.Set(2);
  metrics_.SetHead(HeadAt(1));
  metrics_.SetOpenAllows({});
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre("gauge stampgate_audit_failing", "gauge stampgate_audit_file_bytes",
                                   "gauge stampgate_audit_write_seconds", "gauge stampgate_audit_head_sequence",
                                   absl::StrCat("gauge stampgate_audit_head_info{head=\"", HeadAt(1).ToString(), "\"}"),
                                   R"(gauge stampgate_audit_open_allows{kind="calls"})",
                                   R"(gauge stampgate_audit_open_allows{kind="reads"})",
                                   "gauge stampgate_audit_oldest_open_call_seconds"));
  EXPECT_EQ(ValueOf(registry_, "stampgate_audit_file_bytes"), "4096");
}

TEST_F(AuditMetricsTest, OnlyTheLatestHeadIsShown) {
  for (const uint64_t sequence : {1, 2, 2}) metrics_.SetHead(HeadAt(sequence));
  EXPECT_THAT(SeriesOf(registry_), UnorderedElementsAre("gauge stampgate_audit_head_sequence",
                                                        absl::StrCat("gauge stampgate_audit_head_info{head=\"",
                                                                     HeadAt(2).ToString(), "\"}")));
  EXPECT_EQ(ValueOf(registry_, "stampgate_audit_head_sequence"), "2");
}

TEST_F(AuditMetricsTest, TheNumberOfAllowsWithoutAnOutcomeIsShown) {
  const auto age = [&] { return ValueOf(registry_, "stampgate_audit_oldest_open_call_seconds"); };
  metrics_.SetOpenAllows(
      {.calls = 2, .reads = 7, .oldest_call = AuditMetrics::SteadyTime(std::chrono::milliseconds(99500))});
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_audit_open_allows{kind="calls"})"), "2");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_audit_open_allows{kind="reads"})"), "7");
  EXPECT_EQ(age(), "0.5");
  // The age grows without further calls.
  now_ += std::chrono::seconds(10);
  EXPECT_EQ(age(), "10.5");
  metrics_.SetOpenAllows({.calls = 0, .reads = 6, .oldest_call = std::nullopt});
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_audit_open_allows{kind="calls"})"), "0");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_audit_open_allows{kind="reads"})"), "6");
  EXPECT_EQ(age(), "0");
}

}  // namespace
}  // namespace stampgate
