#include "gateway/operations/answer_margin.h"

namespace stampgate {
namespace {

constexpr absl::Duration kReplyTime = absl::Milliseconds(50);

}  // namespace

absl::Duration AnswerMargin(absl::Duration time_left) {
  // The caller's library rounded the timeout before the call arrived. If the timeout was just above 10 s or 100 s when
  // it was rounded, `time_left` can now be a little below these values. So the thresholds are lower than these values.
  // Above 1000 s, the library rounds by more than a second. That does not matter, because no call takes that long.
  if (time_left >= absl::Seconds(90)) return kReplyTime + absl::Seconds(1);
  if (time_left >= absl::Seconds(9)) return kReplyTime + absl::Milliseconds(100);
  return kReplyTime + absl::Milliseconds(10);
}

}  // namespace stampgate
