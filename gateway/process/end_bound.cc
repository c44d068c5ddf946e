#include "gateway/process/end_bound.h"

#include <unistd.h>

#include <thread>

#include "base/threads/start_thread.h"
#include "gateway/process/log.h"

namespace stampgate {

EndBound::EndBound(absl::Duration patience, const char* what) : what_(what) {
  // In this standard library, sleep_for uses the monotonic clock.
  StartThread("end-bound", [this, patience] {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(patience));
    Log(Severity::kWarning, "not_ended_in_time", {{"waited_for", what_.load()}});
    FlushLog();
    _exit(1);
  }).detach();
}

}  // namespace stampgate
