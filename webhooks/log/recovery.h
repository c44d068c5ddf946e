// What is done with a log when it is opened, before anything is answered: what its disk has lost is found.
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
  // Once for each range of events that are damaged or gone and were not known to be.
  std::function<void(const LostEvents&)> on_loss;
  // The log has events and its mark is not there: what it may have lost since it was last open is not known.
  std::function<void()> on_mark_missing;
};

// Compares the log's end with its mark: if the log ends before it, what is missing becomes a hole, behind which the log
// goes on. Also reads the newest events, bounded, and reports those that are damaged. Sets the mark to the log's end.
// `reader` is one of all the log's events.
//
// Errors: kDataLoss if the log has another event in the mark's place, which means that it is not the log that was there
// when the mark was made, and nobody can say what is lost; those of LogWriter and EventReader.
absl::Status RecoverLog(const LogSafeguards& safeguards, const RecoveryReports& reports, absl::Time now,
                        LogReader& reader, LogWriter& writer);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_RECOVERY_H_
