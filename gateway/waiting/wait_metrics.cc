#include "gateway/waiting/wait_metrics.h"

namespace stampgate {

absl::string_view NameOf(WaitEnd end) {
  switch (end) {
    case WaitEnd::kEvent:
      return "event";
    case WaitEnd::kPoll:
      return "poll";
    case WaitEnd::kDeadline:
      return "deadline";
    case WaitEnd::kFull:
      return "full";
    case WaitEnd::kDrain:
      return "drain";
    case WaitEnd::kLeft:
      return "caller_left";
    case WaitEnd::kDismissed:
      return "dismissed";
  }
  return "";
}

}  // namespace stampgate
