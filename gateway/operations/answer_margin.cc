#include "gateway/operations/answer_margin.h"

namespace stampgate {
namespace {

constexpr absl::Duration kReplyTime = absl::Milliseconds(50);

}  // namespace

absl::Duration AnswerMargin(absl::Duration time_left) {
  // A deadline that was more than 10 s, or 100 s, when the library rounded it may be nearer by now. Beyond 1000 s the
  // library rounds to more than a second; no call takes that long, so this does not matter.
  if (time_left >= absl::Seconds(90)) return kReplyTime + absl::Seconds(1);
  if (time_left >= absl::Seconds(9)) return kReplyTime + absl::Milliseconds(100);
  return kReplyTime + absl::Milliseconds(10);
}

}  // namespace stampgate
