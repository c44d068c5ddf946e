#include "gateway/audit.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gateway/audit_key.h"
#include "gateway/log.h"

namespace stampgate {
namespace {

constexpr absl::Duration kLookInterval = absl::Seconds(1);
constexpr int kLooksPerTell = 10;

void TellStatus(const absl::Status& status) {
  if (status.ok()) return Log(Severity::kInfo, "audit_works_again", {});
  Log(Severity::kWarning, "audit_failed", {{"message", std::string(status.message())}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Audit>> Audit::Open(const config::v1::Audit& config, absl::string_view version,
                                                   Observers observers) {
  if (config.file().empty()) return nullptr;
  absl::StatusOr<SecretBytes> key = ReadAuditKey(config.key_file());
  if (!key.ok()) return key.status();
  std::unique_ptr<Audit> audit(new Audit(std::move(observers)));
  absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open({
      .file = config.file(),
      .key = *std::move(key),
      .version = std::string(version),
      .max_file_bytes = static_cast<int64_t>(config.max_file_bytes()),
      .now = absl::Now,
      .observe = [audit = audit.get()](const absl::Status& status) { audit->Observe(status); },
  });
  if (!log.ok()) return log.status();
  audit->log_ = *std::move(log);  // nothing is written before, and so nothing observed
  audit->TellHead();
  audit->looker_ = std::make_unique<PeriodicTask>(kLookInterval, [audit = audit.get()] { audit->Look(); });
  return audit;
}

Audit::Audit(Observers observers) : observers_(std::move(observers)) {}

Audit::~Audit() {
  looker_ = nullptr;
  if (log_ == nullptr) return;
  log_->Close();
  TellHead();
}

void Audit::Observe(const absl::Status& status) {
  TellStatus(status);
  if (!status.ok()) {
    // Kept until it can be written: so it is tried again also when nobody calls any more, and the file tells of it.
    AuditDecision failure;
    failure.caller = "(gateway)";
    failure.reason = "the audit log has failed";
    log_->Deny(failure);
  }
  std::lock_guard lock(mutex_);
  failed_at_ = status.ok() ? std::nullopt : std::optional(log_->head().sequence);
  if (observers_.status) observers_.status(status);
}

void Audit::Look() {
  {
    std::lock_guard lock(mutex_);
    // What failed was the change to a new file, and the one so far goes on.
    if (failed_at_.has_value() && log_->head().sequence > *failed_at_) {
      failed_at_.reset();
      if (observers_.status) observers_.status(absl::OkStatus());
    }
  }
  if (++looks_ % kLooksPerTell == 0) TellHead();
}

void Audit::TellHead() {
  const AuditLog::Head head = log_->head();
  if (head.sequence == told_) return;
  told_ = head.sequence;
  Log(Severity::kInfo, "audit_head", {{"head", head.ToString()}});
  if (observers_.head) observers_.head(head);
}

}  // namespace stampgate
