#include "gateway/process/unrecognized.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gateway/metrics/testing.h"
#include "gateway/process/log.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UnrecognizedCountersTest, EachOperationAndKindIsCountedAndLoggedOnce) {
  ::testing::internal::CaptureStderr();
  MetricRegistry registry;
  UnrecognizedCounters counters(registry);
  EXPECT_EQ(ValueOf(registry, R"(stampgate_unrecognized_total{kind="value",operation="/s.A/B"})"), "none");
  for (int i = 0; i < 3; ++i) counters.Count("/s.A/B", UnrecognizedKind::kValue);
  counters.Count("events", UnrecognizedKind::kValue);
  counters.Count("events", UnrecognizedKind::kEventType);
  EXPECT_EQ(ValueOf(registry, R"(stampgate_unrecognized_total{kind="value",operation="/s.A/B"})"), "3");
  EXPECT_EQ(ValueOf(registry, R"(stampgate_unrecognized_total{kind="value",operation="events"})"), "1");
  EXPECT_EQ(ValueOf(registry, R"(stampgate_unrecognized_total{kind="event_type",operation="events"})"), "1");
  const auto line = [](const char* operation, const char* kind) {
    return AllOf(HasSubstr("\"event\":\"unrecognized\""), HasSubstr(operation), HasSubstr(kind));
  };
  EXPECT_TRUE(FlushLog());
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(line("\"operation\":\"/s.A/B\"", "\"kind\":\"value\""),
                                 line("\"operation\":\"events\"", "\"kind\":\"value\""),
                                 line("\"operation\":\"events\"", "\"kind\":\"event_type\"")));
}

TEST(UnrecognizedCountersTest, TheSeriesOfSomeOperationsAreShownFromTheStart) {
  MetricRegistry registry;
  UnrecognizedCounters counters(registry, {"events"});
  EXPECT_THAT(SeriesOf(registry),
              ElementsAre(R"(counter stampgate_unrecognized_total{kind="event_type",operation="events"})",
                          R"(counter stampgate_unrecognized_total{kind="value",operation="events"})"));
}

// Two rooms count with objects of their own.
TEST(UnrecognizedCountersTest, CountersOfOneRegistryShareTheirSeries) {
  MetricRegistry registry;
  UnrecognizedCounters first(registry);
  UnrecognizedCounters second(registry);
  first.Count("events", UnrecognizedKind::kValue);
  second.Count("events", UnrecognizedKind::kValue);
  EXPECT_EQ(ValueOf(registry, R"(stampgate_unrecognized_total{kind="value",operation="events"})"), "2");
}

}  // namespace
}  // namespace stampgate
