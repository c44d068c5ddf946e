#include "gateway/process/end_bound.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace stampgate {
namespace {

using testing::ExitedWithCode;

// An object whose destructor hangs, like the destructor of an object whose thread waits for a disk.
struct Hanging {
  ~Hanging() { pause(); }
};

TEST(EndBoundDeathTest, EndsAHangingProcessAndLogsTheStep) {
  EXPECT_EXIT(
      {
        new EndBound(absl::Milliseconds(1), "the disk");
        pause();
      },
      ExitedWithCode(1), "\"severity\":\"WARNING\",\"event\":\"not_ended_in_time\",\"waited_for\":\"the disk\"");
}

TEST(EndBoundDeathTest, EndsAProcessThatHangsInExit) {
  EXPECT_EXIT(
      {
        static Hanging hanging;
        new EndBound(absl::Milliseconds(1), "threads");
        exit(0);
      },
      ExitedWithCode(1), "not_ended_in_time");
}

TEST(EndBoundDeathTest, DoesNotAffectAProcessThatEndsInTime) {
  EXPECT_EXIT(
      {
        new EndBound(absl::Hours(1), "threads");
        exit(0);
      },
      ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace stampgate
