#include "gateway/process/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stampgate {
namespace {

TEST(DescriptorLimitTest, TheSoftLimitRisesToTheHardLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), absl::OkStatus());
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, limit.rlim_max);
  EXPECT_EQ(raised.rlim_max, limit.rlim_max);
}

}  // namespace
}  // namespace stampgate
