#include "gateway/process/library_logs.h"

#include "absl/base/log_severity.h"
#include "absl/log/globals.h"

namespace stampgate {

// Both libraries use Abseil's log.
void SilenceLibraries() {
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kInfinity);
  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kInfinity);
}

}  // namespace stampgate
