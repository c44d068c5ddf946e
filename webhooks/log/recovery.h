// Finds what the disk has lost of an event log, when the log is opened and before anything is acknowledged.
#ifndef STAMPGATE_WEBHOOKS_LOG_RECOVERY_H_
#define STAMPGATE_WEBHOOKS_LOG_RECOVERY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/reader.h"
#include "webhooks/log/writer.h"

namespace stampgate {

struct RecoveryReports {
  // Called once for each range of damaged or lost events that was not known before.
  std::function<void(const LostEvents&)> on_loss;
  // Called if there are events but no mark: losses since the log was last open cannot be detected.
  std::function<void()> on_mark_missing;
};

// Compares the log's end with its mark. If the log ends before the mark, the missing range becomes a hole, and new
// events follow it. Also reads a bounded number of the newest events and reports the damaged ones. Sets the mark to the
// log's end. `reader` must see all events.
//
// Errors: kDataLoss if the log has another event at the marked position: it is then another log than the one that was
// marked, and the loss cannot be determined. Also those of LogWriter and EventReader.
absl::Status RecoverLog(const LogSafeguards& safeguards, const RecoveryReports& reports, absl::Time now,
                        LogReader& reader, LogWriter& writer);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_RECOVERY_H_
