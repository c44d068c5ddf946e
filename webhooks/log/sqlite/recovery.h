// Detects events that the disk has lost or damaged. Runs when an event log is opened, before it accepts events.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_RECOVERY_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_RECOVERY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/sqlite/reader.h"
#include "webhooks/log/sqlite/writer.h"

namespace stampgate {

struct RecoveryReports {
  // Called once for each newly found range of damaged or lost events.
  std::function<void(const LostEvents&)> on_loss;
  // Called if the log has events but no mark. Without a mark, recovery cannot detect a loss of the newest events.
  std::function<void()> on_mark_missing;
};

// Compares the log's end with its mark. If the log ends before the mark, records the missing positions as a hole; new
// events get the positions after the hole. Also reads a limited number of the newest events and reports the damaged
// events. Sets the mark to the log's end. Requires that LogReader::Open got null as `visible` of `reader`, so that
// `reader` also reads events after the mark.
//
// Errors: kDataLoss if the event at the marked position has another digest than the mark. In this case, the mark
// belongs to another history of the log and cannot show which events are lost. Also kDataLoss if the last event is not
// the event that was stored last, and the errors of LogWriter and EventReader.
absl::Status RecoverLog(const LogSafeguards& safeguards, const RecoveryReports& reports, absl::Time now,
                        LogReader& reader, LogWriter& writer);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_RECOVERY_H_
