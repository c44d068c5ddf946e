#include "gateway/metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gateway/metrics/by_value.h"
#include "gateway/metrics/info.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Color { kRed, kGreen };

absl::string_view NameOf(Color color) {
  switch (color) {
    case Color::kRed:
      return "red";
    case Color::kGreen:
      return "green";
  }
  return "";
}

TEST(MetricRegistryTest, ThePageHasTheTypeTheHelpAndTheValueOfEachMetric) {
  MetricRegistry registry;
  registry.AddCounter("a_total", "What a is.", {{"x", "1"}}).Increment(3);
  registry.AddGauge("b", "What b is.").Set(2.5);
  registry.AddDurations("c_seconds", "What c is.").Observe(0.004);
  const std::string page = registry.Render();
  EXPECT_THAT(page, HasSubstr("# HELP a_total What a is.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("# HELP b What b is.\n# TYPE b gauge\nb 2.5\n"));
  EXPECT_THAT(page, HasSubstr("# HELP c_seconds What c is.\n# TYPE c_seconds histogram\n"));
  EXPECT_EQ(ValueOf(registry, "c_seconds_bucket{le=\"0.0025\"}"), "0");
  EXPECT_EQ(ValueOf(registry, "c_seconds_bucket{le=\"0.005\"}"), "1");
  EXPECT_EQ(ValueOf(registry, "c_seconds_bucket{le=\"30\"}"), "1");
}

TEST(MetricRegistryTest, SeveralRoomsCanHaveSeriesOfOneFamily) {
  MetricRegistry registry;
  registry.AddCounter("a_total", "Help.", {{"room", "one"}}).Increment();
  registry.AddCounter("a_total", "Help.", {{"room", "two"}});
  Counter& again = registry.AddCounter("a_total", "Help.", {{"room", "one"}});
  EXPECT_EQ(again.Value(), 1);
  EXPECT_THAT(SeriesOf(registry), ElementsAre(R"(counter a_total{room="one"})", R"(counter a_total{room="two"})"));
}

TEST(MetricRegistryTest, AFamilyWithoutSeriesIsNotShown) {
  MetricRegistry registry;
  registry.AddCounters("a_total", "Help.");
  registry.AddGauges("b", "Help.");
  EXPECT_EQ(registry.Render(), "");
}

TEST(MetricRegistryTest, ACollectionUpdatesMetricsFirst) {
  MetricRegistry registry;
  Gauge& gauge = registry.AddGauge("a", "Help.");
  registry.BeforeCollect([&gauge] { gauge.Increment(); });
  EXPECT_EQ(ValueOf(registry, "a"), "1");
  EXPECT_EQ(ValueOf(registry, "a"), "2");
}

TEST(LateGaugeTest, IsShownOnceItHasAValue) {
  MetricRegistry registry;
  LateGauge gauge(registry.AddGauges("a", "Help."), {{"kind", "late"}});
  EXPECT_THAT(SeriesOf(registry), IsEmpty());
  gauge.Set(0);
  EXPECT_EQ(ValueOf(registry, "a{kind=\"late\"}"), "0");
  gauge.Set(3);
  EXPECT_EQ(ValueOf(registry, "a{kind=\"late\"}"), "3");
}

TEST(ByValueTest, HasOneSeriesForEachValueOfTheEnum) {
  MetricRegistry registry;
  const ByValue<Counter, Color> colors(registry.AddCounters("a_total", "Help."), "color", {{"more", "x"}});
  colors[Color::kGreen].Increment();
  EXPECT_EQ(ValueOf(registry, R"(a_total{color="red",more="x"})"), "0");
  EXPECT_EQ(ValueOf(registry, R"(a_total{color="green",more="x"})"), "1");
}

TEST(InfoTest, NoCollectionShowsTwoTexts) {
  MetricRegistry registry;
  Info info(registry, "a_info", "Help.", "text");
  EXPECT_THAT(SeriesOf(registry), IsEmpty());
  std::atomic<bool> ended = false;
  std::thread setter([&] {
    for (int i = 0; i < 1000; ++i) info.Set(absl::StrCat(i));
    ended = true;
  });
  while (!ended) EXPECT_LE(SeriesOf(registry).size(), 1u);
  setter.join();
  EXPECT_THAT(SeriesOf(registry), ElementsAre(R"(gauge a_info{text="999"})"));
}

}  // namespace
}  // namespace stampgate
