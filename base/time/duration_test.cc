#include "base/time/duration.h"

#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace stampgate {
namespace {

TEST(DurationTest, ConvertsEachDurationAndBack) {
  const std::vector<absl::Duration> durations = {absl::ZeroDuration(), absl::Nanoseconds(1), absl::Milliseconds(-1'500),
                                                 absl::Seconds(90) + absl::Nanoseconds(5),
                                                 absl::Hours(24 * 365 * 9'999)};
  for (const absl::Duration duration : durations) EXPECT_EQ(ToDuration(ToProto(duration)), duration);
}

TEST(DurationTest, SecondsAndNanosecondsHaveTheSameSign) {
  const google::protobuf::Duration proto = ToProto(absl::Milliseconds(-1'500));
  EXPECT_EQ(proto.seconds(), -1);
  EXPECT_EQ(proto.nanos(), -500'000'000);
}

}  // namespace
}  // namespace stampgate
