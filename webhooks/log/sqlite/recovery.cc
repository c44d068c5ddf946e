#include "webhooks/log/sqlite/recovery.h"

#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/disk/mark_file.h"

namespace stampgate {
namespace {

// Recovery checks at most this number of the newest events, and at most this size of their bodies. After a crash, the
// write-ahead log contains fewer events, unless other programs have prevented checkpoints.
constexpr int kCheckedEvents = 20'000;
constexpr int64_t kCheckedBytes = 64 << 20;

// Reports lost ranges. Joins adjacent ranges and reports each joined range once.
class LossReport {
 public:
  explicit LossReport(const std::function<void(const LostEvents&)>& on_loss) : on_loss_(on_loss) {}

  void Add(const LostEvents& lost) {
    if (lost_ && lost_->gone == lost.gone && lost_->last + 1 == lost.first) {
      lost_->last = lost.last;
      return;
    }
    End();
    lost_ = lost;
  }

  void End() {
    if (lost_ && on_loss_) on_loss_(*lost_);
    lost_ = std::nullopt;
  }

 private:
  const std::function<void(const LostEvents&)>& on_loss_;
  std::optional<LostEvents> lost_;
};

absl::Status CheckNewest(const RecoveryReports& reports, LogReader& reader, LogWriter& writer) {
  ABSL_ASSIGN_OR_RETURN(Position after, writer.BeforeNewest(kCheckedEvents, kCheckedBytes));
  LossReport report(reports.on_loss);
  std::optional<LogPoint> last;
  while (after < writer.state().latest) {
    const absl::StatusOr<EventReader::Batch> batch = reader.Read({after}, {}, {});
    if (batch.ok()) {
      after = batch->through;
      if (!batch->events.empty()) last = {batch->events.back().position, batch->events.back().digest};
      continue;
    }
    if (!absl::IsDataLoss(batch.status())) return batch.status();
    const LostEvents lost = reader.Lost();
    if (!lost.gone) report.Add(lost);  // a hole was reported when it was recorded
    after = lost.last;
  }
  report.End();
  if (last && last->position == writer.state().latest && last->digest != writer.state().latest_digest) {
    return absl::DataLossError("the last event in the file is not the event that was stored last");
  }
  return absl::OkStatus();
}

absl::Status CompareWithMark(const RecoveryReports& reports, absl::Time now, LogReader& reader, LogWriter& writer) {
  const std::optional<HighWaterMark>& mark = writer.mark_found();
  if (!mark) {
    if (writer.state().latest > 0 && reports.on_mark_missing) reports.on_mark_missing();
    return absl::OkStatus();
  }
  const auto marked = static_cast<Position>(mark->number);
  if (marked > writer.state().latest) {
    // Reports the loss before it stores the hole. If the process dies before the hole is stored, the next start reports
    // the loss again.
    if (reports.on_loss) reports.on_loss({writer.state().latest + 1, marked, /*gone=*/true});
    return writer.AddHole({marked, mark->digest}, now);
  }
  const absl::StatusOr<ChainDigest> there = reader.DigestAt(marked);
  if (there.ok() && *there != mark->digest) {
    return absl::DataLossError(absl::StrCat("it has another event at ", marked,
                                            " than the -mark file states: if the log was restored from a copy, "
                                            "run `stampgate store restored`"));
  }
  // If the event at the mark was deleted or is damaged, its digest cannot be compared.
  const bool unknown = absl::IsOutOfRange(there.status()) || absl::IsDataLoss(there.status());
  return there.ok() || unknown ? absl::OkStatus() : there.status();
}

}  // namespace

absl::Status RecoverLog(const LogSafeguards& safeguards, const RecoveryReports& reports, absl::Time now,
                        LogReader& reader, LogWriter& writer) {
  if (safeguards.check_at_open) {
    ABSL_RETURN_IF_ERROR(CheckNewest(reports, reader, writer));
  }
  if (safeguards.high_water_mark) {
    ABSL_RETURN_IF_ERROR(CompareWithMark(reports, now, reader, writer));
  }
  return writer.Mark();
}

}  // namespace stampgate
