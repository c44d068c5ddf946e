// Verifies the files of an audit log from their first byte to their last: `stampgate audit verify`.
#ifndef STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
#define STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/audit/chain.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

struct AuditReport {
  enum class Verdict {
    kWhole,
    kTorn,        // only the end of the last file is invalid: a crash damaged it, or the gateway is writing it
    kIncomplete,  // the beginning is missing; the rest is kWhole or kTorn
    kBroken,      // records were changed, removed, added or moved, or were written with another key
    kUnreadable,  // a file could not be read, or the key could not be used
  };

  struct File {
    std::string path;
    uint64_t first_sequence = 0;  // 0 if the file has no record
    uint64_t last_sequence = 0;
  };

  Verdict verdict = Verdict::kWhole;
  std::string reason;  // names the file, the line and the fault; empty for kWhole

  // The files that were read: all files, or the files up to the fault.
  std::vector<File> files;
  uint64_t allows = 0;
  uint64_t denials = 0;          // denials with a record of their own
  uint64_t counted_denials = 0;  // denials that were only counted
  uint64_t outcomes = 0;
  uint64_t unknown_outcomes = 0;  // outcomes that a later start wrote, because the process of the call had ended
  uint64_t open_allows = 0;       // allows without an outcome, because the call is in progress or the process has died
  AuditHead head;                 // names the last record
  bool head_was_asked_for = false;
  bool start_was_given = false;

  // Returns 0 for kWhole, 1 for kBroken, 2 for kUnreadable, 3 for kTorn, 4 for kIncomplete.
  int ExitStatus() const;

  // Returns the report as lines of text. The last line states the verdict and begins with "ok", "torn", "INCOMPLETE",
  // "BROKEN" or "cannot be checked".
  std::string ToString() const;
};

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

// Does what VerifyAudit does, for the audit log that the gateway writes to `file`, including the closed files in the
// same folder. The gateway may rotate the log during the check.
AuditReport VerifyAuditLog(const std::string& file, const SecretBytes& key, const std::optional<AuditHead>& head,
                           const std::optional<AuditHead>& from = std::nullopt);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
