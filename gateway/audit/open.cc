#include "gateway/audit/open.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/secret/symmetric_key.h"
#include "gateway/process/log.h"

namespace stampgate {
namespace {

// See IsScarce.
constexpr uintmax_t kScarceBytes = 1 << 30;
constexpr uintmax_t kScarcePart = 10;

void LogStatus(const absl::Status& status) {
  if (status.ok()) return Log(Severity::kInfo, "audit_works_again", {});
  Log(Severity::kWarning, "audit_failed", {{"message", std::string(status.message())}});
}

// Logs whether rotations work. After a failed rotation, the audit log continues to write to its current file.
void ReportRotation(const absl::Status& status) {
  if (status.ok()) return Log(Severity::kInfo, "audit_file_rotated_again", {});
  Log(Severity::kWarning, "audit_file_not_rotated", {{"message", std::string(status.message())}});
}

// Logs the name of a closed file and its last record. With this head, one can detect that records are missing at the
// end of the file's copy.
void ReportClosed(const AuditWriter::ClosedFile& file) {
  Log(Severity::kInfo, "audit_file_closed", {{"file", file.path}, {"head", file.head.ToString()}});
}

// Logs that the file had a torn end. A crash can leave a torn end. If there was no crash, somebody has probably changed
// the file.
void ReportTornEnd(const AuditWriter::TornEnd& end) {
  Log(Severity::kWarning, "audit_torn_end", {{"after_record", end.after}, {"bytes", end.bytes}});
}

}  // namespace

bool IsScarce(const std::filesystem::space_info& space, bool before) {
  const uintmax_t limit = std::min(kScarceBytes, space.capacity / kScarcePart);
  return space.available < (before ? limit + limit / 4 : limit);
}

absl::StatusOr<std::unique_ptr<Audit>> Audit::Open(const config::v1::Config& all, absl::string_view version,
                                                   AuditMetrics& metrics, Observers observers, const Pace& pace) {
  const config::v1::Audit& config = all.audit();
  if (config.file().empty()) return nullptr;
  metrics.failing.Set(0);
  ABSL_ASSIGN_OR_RETURN(SecretBytes key, ReadSymmetricKey(config.key_file(), {all.secret_file_owners().begin(),
                                                                              all.secret_file_owners().end()}));
  std::unique_ptr<Audit> audit(new Audit(config.file(), metrics, std::move(observers)));
  absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open({
      .file = config.file(),
      .key = std::move(key),
      .version = std::string(version),
      .max_file_bytes = static_cast<int64_t>(config.max_file_bytes()),
      .daily_files = config.daily_files(),
      .now = absl::Now,
      .observe = [audit = audit.get()](const absl::Status& status) { audit->Observe(status); },
      .observe_rotation = ReportRotation,
      .observe_closed = ReportClosed,
      .observe_torn_end = ReportTornEnd,
      .observe_open = [&metrics](const AuditLog::OpenAllows& open) { metrics.SetOpenAllows(open); },
  });
  if (!log.ok()) return log.status();
  audit->log_ = *std::move(log);  // before this line, no record is queued, so Observe does not run
  audit->ReportHead();
  audit->LogHead();
  audit->CheckSpace();
  const int per_line = pace.intervals_per_line;
  audit->head_task_ = std::make_unique<PeriodicTask>("audit-head", pace.interval, [audit = audit.get(), per_line] {
    audit->ReportHead();
    audit->CheckSpace();
    if (++audit->intervals_ < per_line) return;
    audit->intervals_ = 0;
    audit->LogHead();
  });
  return audit;
}

Audit::Audit(std::string file, AuditMetrics& metrics, Observers observers)
    : file_(std::move(file)), metrics_(metrics), observers_(std::move(observers)) {}

Audit::~Audit() { Close(); }

void Audit::Close() {
  head_task_ = nullptr;
  if (log_ == nullptr) return;
  log_->Close();
  ReportHead();
  LogHead();
}

void Audit::Observe(const absl::Status& status) {
  LogStatus(status);
  if (!status.ok()) {
    // The audit log retries to write this denial until it succeeds. Therefore Audit notices a recovery even if there
    // are no calls, and the audit file records the outage.
    AuditDecision failure;
    failure.caller = kGatewayCaller;
    failure.reason = "the audit log has failed";
    log_->Deny(failure);
  }
  metrics_.failing.Set(status.ok() ? 0 : 1);
  if (observers_.status) observers_.status(status);
}

void Audit::CheckSpace() {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(file_, error);
  if (error || IsScarce(space, is_scarce_) == is_scarce_) return;
  is_scarce_ = !is_scarce_;
  for (const AuditLog::Kind kind : {AuditLog::Kind::kCalls, AuditLog::Kind::kReads}) {
    log_->unsent_allows(kind).SetScarce(is_scarce_);
  }
  if (!is_scarce_) return Log(Severity::kInfo, "audit_space_suffices", {});
  Log(Severity::kWarning, "audit_space_scarce",
      {{"message", absl::StrCat("the disk of the audit log has ", space.available >> 20,
                                " MiB left, so each caller may make only ", UnsentAllows::kPerSecond,
                                " calls a second: archive and remove closed files, or enlarge the disk")}});
}

void Audit::LogHead() {
  const AuditLog::Head head = log_->head();
  if (head.sequence == logged_) return;
  logged_ = head.sequence;
  Log(Severity::kInfo, "audit_head", {{"head", head.ToString()}});
}

void Audit::ReportHead() {
  const AuditLog::Head head = log_->head();
  if (head.sequence == reported_) return;
  reported_ = head.sequence;
  metrics_.SetHead(head);
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(file_, error);
  if (!error) metrics_.file_bytes.Set(static_cast<double>(bytes));
  if (observers_.head) observers_.head(head);
}

}  // namespace stampgate
