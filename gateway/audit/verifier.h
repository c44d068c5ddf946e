// Verifies the files of an audit log from their first byte to their last: `stampgate audit verify`.
#ifndef STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
#define STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/secret/bytes.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/report.h"

namespace stampgate {

// Checks `files`, which must be in order, oldest first. Each file must continue the file before it. The first file must
// begin with record 1; otherwise the verdict is kIncomplete and the reason names the missing records.
//
// `from` is the last record that was archived elsewhere. If `from` is given, the records up to `from` may be missing,
// and the files must either begin directly after this record or contain this record with the same MAC. If `head` is
// given, the files must contain the record with the number and the MAC of `head`. If they contain it, no record up to
// this one is missing at the end of the log.
//
// The use of memory grows only with the number of allows without an outcome. The gateway may write to the files during
// the check.
AuditReport VerifyAudit(const std::vector<std::string>& files, const SecretBytes& key,
                        const std::optional<AuditHead>& head, const std::optional<AuditHead>& from = std::nullopt);

// Which files of an audit log VerifyAuditLog checks.
enum class AuditFiles {
  kAll,     // the closed files and the current file
  kClosed,  // only the closed files: those that are shipped to another machine. There may be a current file
};

// Does what VerifyAudit does, for the audit log that the gateway writes to `file`, or for a copy of it, including the
// closed files in the same folder. The gateway may rotate the log during the check.
AuditReport VerifyAuditLog(const std::string& file, const SecretBytes& key, const std::optional<AuditHead>& head,
                           const std::optional<AuditHead>& from = std::nullopt, AuditFiles files = AuditFiles::kAll);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
