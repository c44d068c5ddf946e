#include "gateway/operations/answer_margin.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace stampgate {
namespace {

// Returns the timeout that gRPC's C core sends for a timeout of `milliseconds`.
int64_t Rounded(int64_t milliseconds) {
  const int64_t step = milliseconds < 1'000 ? 1 : milliseconds < 10'000 ? 10 : milliseconds < 100'000 ? 100 : 1'000;
  return (milliseconds + step - 1) / step * step;
}

TEST(AnswerMarginTest, GrowsWithTheRoundingOfDeadlines) {
  const absl::Duration ms = absl::Milliseconds(1);
  struct Row {
    absl::Duration time_left;
    absl::Duration margin;
  };
  for (const Row& row : {
           Row{-absl::Seconds(1), 60 * ms},
           Row{absl::ZeroDuration(), 60 * ms},
           Row{absl::Seconds(2), 60 * ms},
           Row{absl::Milliseconds(8'999), 60 * ms},
           Row{absl::Seconds(9), 150 * ms},
           Row{absl::Milliseconds(10'050), 150 * ms},
           Row{absl::Milliseconds(89'999), 150 * ms},
           Row{absl::Seconds(90), 1'050 * ms},
           Row{absl::Milliseconds(100'050), 1'050 * ms},
           Row{absl::Minutes(10), 1'050 * ms},
           Row{absl::InfiniteDuration(), 1'050 * ms},
       }) {
    EXPECT_EQ(AnswerMargin(row.time_left), row.margin) << row.time_left;
  }
}

// Tries every timeout from 100 ms to 10 minutes, and computes the margin at several times from 0 to 500 ms after the
// call arrived.
TEST(AnswerMarginTest, EndsEveryCallBeforeItsCallerStopsWaiting) {
  for (int64_t real = 100; real <= 600'000; ++real) {
    for (const int64_t elapsed : {0, 1, 30, 500}) {
      const int64_t seen = Rounded(real) - elapsed;
      const int64_t margin = absl::ToInt64Milliseconds(AnswerMargin(absl::Milliseconds(seen)));
      // The times `end` and `real` are both measured from the arrival of the call.
      const int64_t end = elapsed + seen - margin;
      ASSERT_LE(end, real - 50) << real << " ms, after " << elapsed << " ms";
    }
  }
}

}  // namespace
}  // namespace stampgate
