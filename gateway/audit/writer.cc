#include "gateway/audit/writer.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/scan.h"

namespace stampgate {
namespace {

// How long StartAnewIfDue waits after a failed attempt.
constexpr absl::Duration kRetryInterval = absl::Minutes(1);

// How far the clock may be before the day of the current file, without a new file.
constexpr absl::Duration kClockTolerance = absl::Hours(1);

absl::CivilDay DayOf(absl::Time time) { return absl::ToCivilDay(time, absl::UTCTimeZone()); }

// Returns the day of a record, whose "time" begins with its date. The MAC of the record has been checked.
absl::CivilDay DayOf(absl::string_view time_of_record) {
  absl::CivilDay day;
  absl::ParseCivilTime(time_of_record.substr(0, 10), &day);
  return day;
}

AuditOutcome Unknown() {
  AuditOutcome outcome;
  outcome.code = "UNKNOWN";
  outcome.reason = kProcessEnded;
  return outcome;
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("audit file ", path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditWriter>> AuditWriter::Open(Options options, const SecretBytes& key) {
  const std::string path = options.file;
  ABSL_ASSIGN_OR_RETURN(AuditChain chain, AuditChain::Create(key));
  absl::StatusOr<ExclusiveFile> claim = ExclusiveFile::Claim(path, {});
  if (!claim.ok()) return WithPath(path, claim.status());
  std::unique_ptr<AuditWriter> writer(new AuditWriter(std::move(options), std::move(chain), *std::move(claim)));
  absl::StatusOr<std::unique_ptr<AuditFile>> file = AuditFile::Open(path, *writer->options_.calls);
  if (!file.ok()) return WithPath(path, file.status());
  writer->file_ = *std::move(file);
  if (absl::Status status = writer->Recover(); !status.ok()) return WithPath(path, status);
  return writer;
}

absl::Status AuditWriter::Recover() {
  AuditScan scan;
  const absl::Time now = options_.now();
  day_ = DayOf(now);
  const auto note = [this, &scan](const AuditRecord& record, const AuditMac&) {
    if (record.sequence == scan.first_sequence) day_ = DayOf(record.time);
    if (record.kind == AuditKind::kAllow) open_.insert(record.sequence);
    if (record.kind == AuditKind::kOutcome) open_.erase(record.allow);
    open_.insert(record.allows.begin(), record.allows.end());
  };
  ABSL_RETURN_IF_ERROR(ScanAuditFile(file_->fd(), chain_, nullptr, note, &scan));
  if (scan.records == 0) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> closed, FindClosedAuditFiles(options_.file));
    ABSL_ASSIGN_OR_RETURN(const std::vector<AuditFileNames> closing, FindClosingAuditFiles(options_.file));
    if (!closed.empty() || !closing.empty()) {
      return absl::DataLossError(
          "it has no records, but closed files of this log exist: restore it, or move the closed files away");
    }
  }
  ABSL_RETURN_IF_ERROR(CompleteRotation(scan.before));
  if (scan.torn_bytes > 0 && options_.observe_torn_end) {
    options_.observe_torn_end({scan.last.sequence, scan.torn_bytes});
  }
  ABSL_RETURN_IF_ERROR(file_->CutTo(scan.whole_bytes));
  head_ = scan.last;
  if (scan.records > 0) first_sequence_ = scan.first_sequence;

  std::vector<Entry> entries;
  if (scan.torn_bytes > 0) {
    entries.push_back({TornText(now, static_cast<uint64_t>(scan.torn_bytes)), AuditKind::kTorn});
  }
  std::vector<uint64_t> unended(open_.begin(), open_.end());
  std::sort(unended.begin(), unended.end());
  for (const uint64_t allow : unended) {
    entries.push_back({OutcomeText(now, allow, Unknown()), AuditKind::kOutcome, allow});
  }
  entries.push_back({StartText(now, options_.version, unended.size()), AuditKind::kStart});
  std::vector<Entry*> group;
  for (Entry& entry : entries) group.push_back(&entry);
  return Write(group);
}

absl::Status AuditWriter::Write(const std::vector<Entry*>& entries) {
  AuditPosition position = head_;
  std::string bytes;
  absl::flat_hash_set<uint64_t> ended;
  for (Entry* entry : entries) {
    entry->sequence = 0;
    if (entry->kind == AuditKind::kOutcome && (!open_.contains(entry->allow) || !ended.insert(entry->allow).second)) {
      continue;
    }
    const bool first = bytes.empty() && head_.sequence > 0;
    chain_.AppendLine(first ? FirstOfGroup(entry->text, MacHex(head_.mac)) : entry->text, &position, bytes);
    entry->sequence = position.sequence;
  }
  if (bytes.empty()) return absl::OkStatus();
  ABSL_RETURN_IF_ERROR(file_->Append(bytes));
  head_ = position;
  for (const Entry* entry : entries) {
    if (entry->kind == AuditKind::kAllow) open_.insert(entry->sequence);
  }
  for (const uint64_t allow : ended) open_.erase(allow);
  return absl::OkStatus();
}

// Completes a rotation in which an earlier process ended. `end` is the position that the current file continues.
absl::Status AuditWriter::CompleteRotation(const AuditPosition& end) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> closed, FindClosedAuditFiles(options_.file));
  // Version 0.1.0 gave the current file its name as a closed file before it replaced the file.
  for (const std::string& path : closed) {
    if (file_->Is(path)) options_.calls->Unlink(path);
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<AuditFileNames> closing, FindClosingAuditFiles(options_.file));
  for (const AuditFileNames& names : closing) {
    if (file_->Is(names.closing)) {
      // The rotation did not replace the file, which remains the current one.
      options_.calls->Unlink(names.closing);
      continue;
    }
    // That process has perhaps ended before its sync. A power cut could then make the closing file current again.
    if (options_.calls->SyncFolderOf(options_.file) != 0) {
      return absl::UnavailableError("its folder cannot be written to disk");
    }
    closing_.emplace(names, end);
    ABSL_RETURN_IF_ERROR(EndClosing());
  }
  return absl::OkStatus();
}

bool AuditWriter::IsDue(absl::Time now) const {
  if (closing_ || file_->size() > options_.max_file_bytes) return true;
  if (!options_.daily_files) return false;
  const absl::TimeZone utc = absl::UTCTimeZone();
  return now >= absl::FromCivil(day_ + 1, utc) || now < absl::FromCivil(day_, utc) - kClockTolerance;
}

absl::Status AuditWriter::StartAnewIfDue() {
  const absl::Time now = options_.now();
  if (!IsDue(now)) return absl::OkStatus();
  const bool waits =
      !anew_.ok() && file_->size() <= retry_above_ && now >= failed_at_ && now < failed_at_ + kRetryInterval;
  if (waits) return anew_;
  anew_ = EndClosing();
  if (anew_.ok() && IsDue(now)) anew_ = StartAnew(now);
  if (anew_.ok()) return anew_;
  failed_at_ = now;
  retry_above_ = file_->size() + options_.max_file_bytes / 8;
  return anew_;
}

absl::Status AuditWriter::StartAnew(absl::Time now) {
  const AuditFileNames names = NamesOfAuditFile(
      options_.file, first_sequence_, options_.daily_files ? std::optional<absl::CivilDay>(day_) : std::nullopt);
  if (access(names.closed.c_str(), F_OK) == 0) {
    return absl::UnavailableError(absl::StrCat("cannot be closed, because there is a file ", names.closed));
  }
  AuditPosition position = head_;
  std::string bytes;
  const std::string rotate = RotateText(now, options_.version, open_.size());
  chain_.AppendLine(FirstOfGroup(rotate, MacHex(head_.mac)), &position, bytes);
  std::vector<uint64_t> unended(open_.begin(), open_.end());
  std::sort(unended.begin(), unended.end());
  for (size_t i = 0; i < unended.size(); i += kAuditAllowsPerRecord) {
    const size_t end = std::min(unended.size(), i + kAuditAllowsPerRecord);
    const std::vector<uint64_t> allows(unended.begin() + static_cast<int64_t>(i),
                                       unended.begin() + static_cast<int64_t>(end));
    chain_.AppendLine(StillOpenText(now, allows), &position, bytes);
  }
  ABSL_RETURN_IF_ERROR(file_->StartAnew(names.closing, bytes));
  closing_.emplace(names, head_);
  first_sequence_ = head_.sequence + 1;
  day_ = DayOf(now);
  head_ = position;
  return EndClosing();
}

// Gives the file that the current file has replaced its name as a closed file.
absl::Status AuditWriter::EndClosing() {
  if (!closing_) return absl::OkStatus();
  const auto& [names, end] = *closing_;
  ABSL_RETURN_IF_ERROR(AuditFile::Rename(names.closing, names.closed, *options_.calls));
  if (options_.observe_closed) options_.observe_closed({names.closed, {end.sequence, MacHex(end.mac)}});
  closing_.reset();
  return absl::OkStatus();
}

}  // namespace stampgate
