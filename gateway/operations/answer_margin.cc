#include "gateway/operations/answer_margin.h"

namespace stampgate {
namespace {

constexpr absl::Duration kAnswerTime = absl::Milliseconds(50);

}  // namespace

absl::Duration AnswerMargin(absl::Duration time_left) {
  // A deadline that was more than 10 s, or 100 s, when it was rounded may be less by now. Beyond 1000 s the rounding is
  // coarser still; but no call takes that long, whatever its deadline is.
  if (time_left >= absl::Seconds(90)) return kAnswerTime + absl::Seconds(1);
  if (time_left >= absl::Seconds(9)) return kAnswerTime + absl::Milliseconds(100);
  return kAnswerTime + absl::Milliseconds(10);
}

}  // namespace stampgate
