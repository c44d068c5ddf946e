#include "gateway/process/hang_watch.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/threads/wait_clock.h"

namespace stampgate {
namespace {

TEST(HangWatchTest, ReportsEachChangeOnce) {
  absl::Duration now;
  std::vector<bool> changes;
  HangWatch watch({.what = "disk",
                   .waits_for = "the disk",
                   .under_way = [&] { return now; },
                   .on_change = [&](bool hangs) { changes.push_back(hangs); }});
  for (const absl::Duration under_way : {absl::ZeroDuration(), absl::Seconds(1), kWriteHangsAfter}) {
    now = under_way;
    watch.Look();
    EXPECT_EQ(changes, std::vector<bool>());
  }
  for (const absl::Duration more : {absl::Nanoseconds(1), absl::Hours(1)}) {
    now = kWriteHangsAfter + more;
    watch.Look();
    EXPECT_EQ(changes, std::vector<bool>{true});
  }
  for (const absl::Duration under_way : {absl::Seconds(1), absl::ZeroDuration()}) {
    now = under_way;
    watch.Look();
    EXPECT_EQ(changes, (std::vector<bool>{true, false}));
  }
}

TEST(HangWatchTest, PassesOnHowLongTheCurrentWaitHasTaken) {
  absl::Duration now;
  std::vector<absl::Duration> observed;
  HangWatch watch({.what = "disk",
                   .waits_for = "the disk",
                   .under_way = [&] { return now; },
                   .observe = [&](absl::Duration under_way) { observed.push_back(under_way); }});
  watch.Look();
  now = absl::Milliseconds(2500);
  watch.Look();
  EXPECT_EQ(observed, (std::vector<absl::Duration>{absl::ZeroDuration(), absl::Milliseconds(2500)}));
}

}  // namespace
}  // namespace stampgate
