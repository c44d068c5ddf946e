// Reads one file of the audit log, checks its chain, and distinguishes a torn end from a change.
#ifndef STAMPGATE_GATEWAY_AUDIT_SCAN_H_
#define STAMPGATE_GATEWAY_AUDIT_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"

namespace stampgate {

// The result, up to the first fault.
struct AuditScan {
  uint64_t records = 0;         // the valid records
  uint64_t first_sequence = 0;  // of the first of them
  AuditPosition before;         // the position that the first of them continues
  AuditPosition last;           // the position of the last of them
  int64_t whole_bytes = 0;      // their length
  int64_t torn_bytes = 0;       // the bytes after them, up to the file's end, that a crash has damaged
  uint64_t format = 0;          // from the last start or rotate record; 0 if there is none
};

// Reads the file `fd` from its start, in bounded memory, and calls `on_record` for each record in order. The first one
// must be the very first of a chain, or state what it continues; with `continues`, it must continue that position.
//
// The first line that does not follow the record before it begins a torn end if a crash can have caused it, which means
// that no later group comes after it (see later_group.h). An attacker who changes or removes the last group can make it
// look torn; only a head that is stored elsewhere reveals that. Format 1 does not mark where groups begin: in it only a
// last line without a line feed is torn. A file without a valid record has a torn end only if it has no line feed at
// all, because it may not be an audit file.
//
// Reads as many bytes as the file has at the beginning, so that a file can be checked while it is written.
//
// Errors: kDataLoss, naming the line, if a line neither follows the one before it nor begins a torn end; kUnavailable
// if the file cannot be read. `scan` is valid after an error too.
absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SCAN_H_
