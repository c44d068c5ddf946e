#include "gateway/process/process_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class ProcessMetricsTest : public ::testing::Test {
 protected:
  ProcessMetrics::Numbers numbers_;
  MetricRegistry registry_;
  ProcessMetrics metrics_{registry_, "1.2.3", [this] { return numbers_; }};
};

TEST_F(ProcessMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(
      SeriesOf(registry_),
      UnorderedElementsAre("counter process_cpu_seconds_total", "counter stampgate_log_lines_dropped_total",
                           "gauge process_max_fds", "gauge process_open_fds", "gauge process_resident_memory_bytes",
                           "gauge process_start_time_seconds", R"(gauge stampgate_build_info{version="1.2.3"})"));
}

TEST_F(ProcessMetricsTest, TheNumbersAreReadWhenTheRegistryIsCollected) {
  numbers_.usage = {
      .resident_bytes = 1, .open_descriptors = 2, .max_descriptors = 3, .cpu_seconds = 4, .start_time_seconds = 5};
  numbers_.dropped_log_lines = 11;
  EXPECT_EQ(ValueOf(registry_, "process_resident_memory_bytes"), "1");
  EXPECT_EQ(ValueOf(registry_, "process_open_fds"), "2");
  EXPECT_EQ(ValueOf(registry_, "process_max_fds"), "3");
  EXPECT_EQ(ValueOf(registry_, "process_cpu_seconds_total"), "4");
  EXPECT_EQ(ValueOf(registry_, "process_start_time_seconds"), "5");
  EXPECT_EQ(ValueOf(registry_, "stampgate_log_lines_dropped_total"), "11");
}

}  // namespace
}  // namespace stampgate
