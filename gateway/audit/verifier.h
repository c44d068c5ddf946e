// What `stampgate audit verify` does: checks the files of an audit log from their first byte to their last.
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
    kTorn,        // whole but for the end of the last file, which a crash has damaged or which is being written
    kIncomplete,  // whole, maybe but for its end, and the beginning is not there
    kBroken,      // records were changed, removed, added or moved, or the key is another one
    kUnreadable,  // a file could not be read, or the key not be used
  };

  struct File {
    std::string path;
    uint64_t first_sequence = 0;  // 0 if it has no record
    uint64_t last_sequence = 0;
  };

  Verdict verdict = Verdict::kWhole;
  std::string reason;  // of all but kWhole: file, line, and what is wrong there

  // What was gone through: everything, or what comes before the fault.
  std::vector<File> files;
  uint64_t allows = 0;
  uint64_t denials = 0;          // written one by one
  uint64_t counted_denials = 0;  // only counted
  uint64_t outcomes = 0;
  uint64_t unknown_outcomes = 0;  // of those: the process ended before there was one
  uint64_t open_allows = 0;       // allows without an outcome: being carried out, or the process died
  AuditHead head;                 // the last record
  bool head_was_asked_for = false;
  bool start_was_given = false;

  // 0 for kWhole, 1 for kBroken, 2 for kUnreadable, 3 for kTorn, 4 for kIncomplete.
  int ExitStatus() const;

  // Some lines for people; the last one says the verdict and begins with "ok", "torn", "INCOMPLETE",
  // "BROKEN" or "cannot be checked".
  std::string ToString() const;
};

// Checks `files`, the oldest first; each goes on where the one before it ends. The first one begins with record 1, or
// kIncomplete says which records are not there. With `from`, records up to that number may be missing: it is the last
// one that was put elsewhere, and the files go on from it, or have it with that MAC. With `head`, the record of that
// number must be there with that MAC: so the end of the log was not cut off before it. Takes memory for the allows
// without an outcome and nothing else. Files that the gateway is writing can be checked.
AuditReport VerifyAudit(const std::vector<std::string>& files, const SecretBytes& key,
                        const std::optional<AuditHead>& head, const std::optional<AuditHead>& from = std::nullopt);

// The same of the log that is written to `file`, with its closed files beside it. The gateway may close files
// meanwhile.
AuditReport VerifyAuditLog(const std::string& file, const SecretBytes& key, const std::optional<AuditHead>& head,
                           const std::optional<AuditHead>& from = std::nullopt);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_VERIFIER_H_
