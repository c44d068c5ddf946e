#include "gateway/process/usage.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace stampgate {
namespace {

TEST(ProcessUsageTest, DescribesThisProcess) {
  const ProcessUsage usage = ReadProcessUsage();
  EXPECT_GT(usage.resident_bytes, 1 << 20);
  EXPECT_GE(usage.open_descriptors, 3);
  EXPECT_GE(usage.max_descriptors, usage.open_descriptors);
  EXPECT_GT(usage.cpu_seconds, 0);
  // The system reports the boot time in whole seconds.
  const double now = static_cast<double>(absl::ToUnixSeconds(absl::Now()));
  EXPECT_LE(usage.start_time_seconds, now + 2);
  EXPECT_GT(usage.start_time_seconds, now - 3600);
}

}  // namespace
}  // namespace stampgate
