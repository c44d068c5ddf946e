#include "gateway/audit.h"

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gateway/audit_key.h"
#include "gateway/log.h"

namespace stampgate {
namespace {

constexpr absl::Duration kTellInterval = absl::Seconds(10);

void TellStatus(const absl::Status& status) {
  if (status.ok()) return Log(Severity::kInfo, "audit_works_again", {});
  Log(Severity::kWarning, "audit_failed", {{"message", std::string(status.message())}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Audit>> Audit::Open(const config::v1::Audit& config, absl::string_view version) {
  if (config.file().empty()) return nullptr;
  absl::StatusOr<SecretBytes> key = ReadAuditKey(config.key_file());
  if (!key.ok()) return key.status();
  absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open({
      .file = config.file(),
      .key = *std::move(key),
      .version = std::string(version),
      .max_file_bytes = static_cast<int64_t>(config.max_file_bytes()),
      .now = absl::Now,
      .observe = TellStatus,
  });
  if (!log.ok()) return log.status();
  return std::unique_ptr<Audit>(new Audit(*std::move(log)));
}

Audit::Audit(std::unique_ptr<AuditLog> log) : log_(std::move(log)) {
  TellHead();
  teller_ = std::make_unique<PeriodicTask>(kTellInterval, [this] { TellHead(); });
}

Audit::~Audit() {
  teller_ = nullptr;
  log_->Close();
  TellHead();
}

void Audit::TellHead() {
  const AuditLog::Head head = log_->head();
  if (head.sequence == told_) return;
  told_ = head.sequence;
  Log(Severity::kInfo, "audit_head", {{"head", head.ToString()}});
}

}  // namespace stampgate
