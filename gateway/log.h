// The process's log: one JSON object a line on standard error.
#ifndef STAMPGATE_GATEWAY_LOG_H_
#define STAMPGATE_GATEWAY_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

enum class Severity { kInfo, kWarning };

using LogFields = std::vector<std::pair<absl::string_view, std::string>>;

// Queues a line {"time","severity","event", fields...}; never blocks: if the reader of the log is too slow, the oldest
// lines are dropped. Fields are names, codes, counts and durations, never a body, a header, a key or a caller's value.
void Log(Severity severity, absl::string_view event, const LogFields& fields);

// Writes what is queued. Before the process ends.
void FlushLog();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_LOG_H_
