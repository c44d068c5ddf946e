// Reads one file of the audit log, checks its chain, and distinguishes a torn end from a change.
#ifndef STAMPGATE_GATEWAY_AUDIT_SCAN_H_
#define STAMPGATE_GATEWAY_AUDIT_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"

namespace stampgate {

// What was found, as far as it was gone through.
struct AuditScan {
  uint64_t records = 0;         // each in its place in the chain
  uint64_t first_sequence = 0;  // of the first of them
  AuditPosition before;         // what the first of them goes on from
  AuditPosition last;           // the last of them
  int64_t whole_bytes = 0;      // that they take
  int64_t torn_bytes = 0;       // behind them, up to the file's end: what a crash left of the last group
  uint64_t format = 0;          // that the last start or rotate record names; 0 if there is none
};

// Reads the file `fd` from its start, in bounded memory, and calls `on_record` for each record in turn. The first one
// must be the very first of a chain, or say itself what it goes on from; with `continues`, it must go on from there.
//
// What does not follow the record before it is a torn end if a crash can have left it there, which means that no later
// group stands behind it (see audit_later_group.h). An attacker who changes
// or removes the last group can make it look torn; only a head that is kept elsewhere shows that. Records of format 1
// do not say where groups begin: behind them only what has no line feed is torn. A file without a good record has a
// torn end only if it has no line feed at all, because it may be no audit file.
//
// Reads as many bytes as the file has at the beginning, so that a file to which somebody writes meanwhile can be
// checked.
//
// Errors: kDataLoss if a line is neither what follows the one before it nor the beginning of a torn end, naming the
// line; kUnavailable if the file cannot be read. `scan` is right then as well.
absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SCAN_H_
