// The log: one JSON object per line on standard error.
#ifndef STAMPGATE_GATEWAY_PROCESS_LOG_H_
#define STAMPGATE_GATEWAY_PROCESS_LOG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

enum class Severity { kInfo, kWarning };

// The value of a field. A number is a JSON number in the line.
using LogValue = std::variant<std::string, int64_t, uint64_t, double>;

using LogFields = std::vector<std::pair<absl::string_view, LogValue>>;

// From now on, Log drops lines whose severity is lower than `severity`. Before the first call of this function, Log
// drops no line because of its severity. Thread-safe.
void SetLowestLogged(Severity severity) noexcept;

// Queues a line {"time","severity","event", fields...}. Never blocks: if the reader of the log is too slow, the oldest
// queued lines are dropped, and DroppedLogLines counts them. Fields may contain names, codes, ids, counts and
// durations, but never a body, a header, a key or a secret. Any thread may call Log at any time, even while the process
// exits. Never throws: a line that cannot be queued is dropped.
void Log(Severity severity, absl::string_view event, const LogFields& fields) noexcept;

// Waits until all lines that are queued now are written or dropped, but not longer than `patience`, so that the process
// can end even if the reader of the log has stopped reading. Returns whether all of these lines were written or
// dropped. After this call, the process can still log lines.
bool FlushLog(absl::Duration patience = absl::Seconds(2)) noexcept;

// Returns how many lines were dropped because the reader of the log was too slow. Thread-safe.
uint64_t DroppedLogLines() noexcept;

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_LOG_H_
