#include "gateway/audit/writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/audit/closed_files.h"
#include "gateway/audit/scan.h"

namespace stampgate {
namespace {

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
  absl::StatusOr<AuditChain> chain = AuditChain::Create(key);
  if (!chain.ok()) return chain.status();
  absl::StatusOr<ExclusiveFile> claim = ExclusiveFile::Claim(path, {});
  if (!claim.ok()) return WithPath(path, claim.status());
  std::unique_ptr<AuditWriter> writer(new AuditWriter(std::move(options), *std::move(chain), *std::move(claim)));
  absl::StatusOr<std::unique_ptr<AuditFile>> file = AuditFile::Open(path, *writer->options_.calls);
  if (!file.ok()) return WithPath(path, file.status());
  writer->file_ = *std::move(file);
  if (absl::Status status = writer->Recover(); !status.ok()) return WithPath(path, status);
  return writer;
}

absl::Status AuditWriter::Recover() {
  AuditScan scan;
  const auto note = [this](const AuditRecord& record, const AuditMac&) {
    if (record.kind == AuditKind::kAllow) open_.insert(record.sequence);
    if (record.kind == AuditKind::kOutcome) open_.erase(record.allow);
    open_.insert(record.allows.begin(), record.allows.end());
  };
  if (absl::Status status = ScanAuditFile(file_->fd(), chain_, nullptr, note, &scan); !status.ok()) return status;
  if (scan.records == 0) {
    const absl::StatusOr<std::vector<std::string>> closed = FindClosedAuditFiles(options_.file);
    if (!closed.ok()) return closed.status();
    if (!closed->empty()) {
      return absl::DataLossError(
          "it has no records, but closed files of this log exist: restore it, or move the closed files away");
    }
  }
  if (scan.torn_bytes > 0 && options_.observe_torn_end) {
    options_.observe_torn_end({scan.last.sequence, scan.torn_bytes});
  }
  if (absl::Status status = file_->CutTo(scan.whole_bytes); !status.ok()) return status;
  head_ = scan.last;
  if (scan.records > 0) first_sequence_ = scan.first_sequence;
  anew_at_ = options_.max_file_bytes;

  const absl::Time now = options_.now();
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
  if (absl::Status status = file_->Append(bytes); !status.ok()) return status;
  head_ = position;
  for (const Entry* entry : entries) {
    if (entry->kind == AuditKind::kAllow) open_.insert(entry->sequence);
  }
  for (const uint64_t allow : ended) open_.erase(allow);
  return absl::OkStatus();
}

absl::Status AuditWriter::StartAnewIfLarge() {
  if (file_->size() <= anew_at_) return anew_;
  const absl::Time now = options_.now();
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
  const std::string old_path = ClosedAuditFile(options_.file, first_sequence_);
  anew_at_ = file_->size() + options_.max_file_bytes / 8;
  anew_ = file_->StartAnew(old_path, bytes);
  if (!anew_.ok()) return anew_;
  anew_at_ = options_.max_file_bytes;
  first_sequence_ = head_.sequence + 1;
  head_ = position;
  return absl::OkStatus();
}

}  // namespace stampgate
