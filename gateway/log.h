// The process's log: one JSON object a line on standard error.
#ifndef STAMPGATE_GATEWAY_LOG_H_
#define STAMPGATE_GATEWAY_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

enum class Severity { kInfo, kWarning };

using LogFields = std::vector<std::pair<absl::string_view, std::string>>;

// Queues a line {"time","severity","event", fields...}; never blocks: if the reader of the log is too slow, the oldest
// lines are dropped. Fields are names, codes, counts and durations, never a body, a header, a key or a caller's value.
// Any thread may call this at any time, also while the process exits. Never throws: a line that cannot be queued is
// dropped.
void Log(Severity severity, absl::string_view event, const LogFields& fields) noexcept;

// Waits until every line that was queued before is written or dropped, but no longer than `patience`: a reader of the
// log that does not read must not keep the process from ending. Returns whether that was so. Later lines are written
// too, for as long as the process lives.
bool FlushLog(absl::Duration patience = absl::Seconds(2)) noexcept;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_LOG_H_
