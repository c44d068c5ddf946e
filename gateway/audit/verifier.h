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
    kTorn,        // valid except for the end of the last file, which a crash has damaged or which is being written
    kIncomplete,  // valid except perhaps for its end, but the beginning is missing
    kBroken,      // records were changed, removed, added or moved, or the key is another one
    kUnreadable,  // a file could not be read, or the key could not be used
  };

  struct File {
    std::string path;
    uint64_t first_sequence = 0;  // 0 if the file has no record
    uint64_t last_sequence = 0;
  };

  Verdict verdict = Verdict::kWhole;
  std::string reason;  // for all but kWhole: file, line, and fault

  // The files that were read: all, or those up to the fault.
  std::vector<File> files;
  uint64_t allows = 0;
  uint64_t denials = 0;          // written one by one
  uint64_t counted_denials = 0;  // only counted
  uint64_t outcomes = 0;
  uint64_t unknown_outcomes = 0;  // of the outcomes: those whose process ended before there was one
  uint64_t open_allows = 0;       // allows without an outcome: in progress, or their process died
  AuditHead head;                 // the last record
  bool head_was_asked_for = false;
  bool start_was_given = false;

  // 0 for kWhole, 1 for kBroken, 2 for kUnreadable, 3 for kTorn, 4 for kIncomplete.
  int ExitStatus() const;

  // Several lines for people. The last one states the verdict and begins with "ok", "torn", "INCOMPLETE", "BROKEN" or
  // "cannot be checked".
  std::string ToString() const;
};

// Checks `files`, oldest first; each must continue the one before it. The first file must begin with record 1,
// otherwise the verdict is kIncomplete and names the missing records.
//
// With `from`, records up to that number may be missing: it is the last record that was archived elsewhere. The files
// must continue it, or contain it with that MAC. With `head`, the record of that number must be there with that MAC,
// which proves that the end of the log was not cut off before it. Memory grows only with the allows without an outcome.
// The gateway may write to the files during the check.
AuditReport VerifyAudit(const std::vector<std::string>& files, const SecretBytes& key,
                        const std::optional<AuditHead>& head, const std::optional<AuditHead>& from = std::nullopt);

// Like VerifyAudit, for the audit log that is written to `file`, with its closed files in the same folder. The gateway
// may close files during the check.
AuditReport VerifyAuditLog(const std::string& file, const SecretBytes& key, const std::optional<AuditHead>& head,
                           const std::optional<AuditHead>& from = std::nullopt);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
