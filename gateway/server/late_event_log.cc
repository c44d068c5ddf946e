#include "gateway/server/late_event_log.h"

namespace stampgate {

void LateEventLog::Try() {
  if (is_open_) return;
  const absl::Status status = options_.open();
  if (status.ok()) {
    is_open_ = true;
    return options_.on_open();
  }
  if (std::exchange(fault_, status) != status) options_.on_new_fault(status);
}

}  // namespace stampgate
