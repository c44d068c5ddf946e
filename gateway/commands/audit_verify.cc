#include "gateway/commands/audit_verify.h"

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/secret/memory.h"
#include "base/secret/symmetric_key.h"
#include "gateway/audit/several_logs.h"
#include "gateway/audit/verifier.h"
#include "gateway/commands/exit_status.h"

namespace stampgate {
namespace {

constexpr int kExitUnverified = 2;

int FailToVerify(const absl::Status& status) {
  Fail(status);
  return kExitUnverified;
}

}  // namespace

int AuditVerify(const CommandLine& line) {
  if (absl::Status status = InitializeKeyMemory(); !status.ok()) return FailToVerify(status);
  absl::StatusOr<SecretBytes> key = ReadSymmetricKey(line.key);
  if (!key.ok()) return FailToVerify(key.status());
  std::optional<AuditHead> head;
  std::optional<AuditHead> from;
  for (const auto& [text, place] : {std::pair(&line.head, &head), std::pair(&line.from, &from)}) {
    if (text->empty()) continue;
    absl::StatusOr<AuditHead> parsed = ParseAuditHead(*text);
    if (!parsed.ok()) return FailToVerify(parsed.status());
    *place = *std::move(parsed);
  }
  const std::vector<std::string> logs = AuditLogsIn(line.files);
  const AuditFiles which = line.closed_files ? AuditFiles::kClosed : AuditFiles::kAll;
  if (logs.empty() && line.closed_files) {
    return FailToVerify(
        absl::InvalidArgumentError("--files is for audit logs, but several files of one log are given"));
  }
  if (logs.size() > 1) {
    if (head || from) {
      return FailToVerify(absl::InvalidArgumentError(
          absl::StrCat("--head and --from name a record of one log, but ", logs.size(), " logs are given")));
    }
    const AuditLogsReport report = VerifyAuditLogs(logs, *key, which);
    std::cout << report.ToString() << std::flush;
    if (const std::string failures = report.Failures(); !failures.empty()) Fail(absl::DataLossError(failures));
    return report.ExitStatus();
  }
  const AuditReport report =
      logs.empty() ? VerifyAudit(line.files, *key, head, from) : VerifyAuditLog(logs[0], *key, head, from, which);
  std::cout << report.ToString();
  return report.ExitStatus();
}

}  // namespace stampgate
