// Verifies the audit logs of several gateways in one call of `stampgate audit verify`: each log by itself.
#ifndef STAMPGATE_GATEWAY_AUDIT_SEVERAL_LOGS_H_
#define STAMPGATE_GATEWAY_AUDIT_SEVERAL_LOGS_H_

#include <string>
#include <vector>

#include "base/secret/bytes.h"
#include "gateway/audit/report.h"
#include "gateway/audit/verifier.h"

namespace stampgate {

struct AuditLogsReport {
  struct Log {
    std::string file;
    AuditReport report;
  };

  std::vector<Log> logs;

  // Returns 0 if all logs are whole; otherwise, the exit status of the most serious verdict: kBroken or kRepeated, then
  // kUnreadable, kIncomplete and kTorn.
  int ExitStatus() const;

  // Returns one line for each log.
  std::string ToString() const;

  // Returns "" if all logs are whole; otherwise, one line with the number of the other logs, and a line for each of
  // them with its reason.
  std::string Failures() const;
};

// Returns the files of the audit logs that `paths` name, as VerifyAuditLog takes them. A folder stands for the file
// audit.log in it. Returns nothing if `paths` are several files of one log.
//
// Several paths name several logs if one of them is a folder, or if all have the same file name: each gateway has its
// log in a folder of its own, and the files of one log have different names.
std::vector<std::string> AuditLogsIn(const std::vector<std::string>& paths);

// Verifies each log with VerifyAuditLog, also after another log has failed. A log that shares records with an earlier
// one of `files` is kRepeated, unless it is kBroken or kUnreadable: the log of one gateway was given twice, possibly
// instead of the log of another one. Records do not name their gateway, so nothing else shows such a mistake.
AuditLogsReport VerifyAuditLogs(const std::vector<std::string>& files, const SecretBytes& key,
                                AuditFiles which = AuditFiles::kAll);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SEVERAL_LOGS_H_
