// Reads one file of the audit log, checks its chain, and distinguishes a torn end from a change.
#ifndef STAMPGATE_GATEWAY_AUDIT_SCAN_H_
#define STAMPGATE_GATEWAY_AUDIT_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"

namespace stampgate {

// The result of a scan. It describes the file up to the first fault.
struct AuditScan {
  uint64_t records = 0;         // the number of valid records
  uint64_t first_sequence = 0;  // the number of the first valid record
  AuditPosition before;         // the position that the first valid record continues
  AuditPosition last;           // the position of the last valid record
  int64_t whole_bytes = 0;      // the length of the valid records
  int64_t torn_bytes = 0;       // the length of the torn end: the damaged bytes after the last valid record
  uint64_t format = 0;          // from the last start or rotate record; 0 if there is none
};

// Reads the file `fd` from its start, in bounded memory, and calls `on_record` for each valid record in order. The
// first record must be record 1 or a rotate record, which states the position that it continues. If `continues` is
// given, the first record must continue that position.
//
// The scan ends at the first invalid line. If a crash can have damaged this line, the rest of the file is a torn end. A
// crash cannot have damaged the line if a later group of records comes after it, see later_group.h. An attacker who
// changes or removes the last group can make it look torn; only a head (number and MAC of the last record) that is
// stored elsewhere reveals this change.
//
// Format 1 does not mark the beginnings of groups: in such a file, a torn end is only a last line without a line feed.
// A file without a valid record may not be an audit file: it has a torn end only if it has no line feed at all.
//
// Reads only the bytes that the file has when the scan begins, so that the gateway may append to it meanwhile.
//
// Errors: kDataLoss, with the number of the line, if a line is invalid and does not begin a torn end; kUnavailable if
// the file cannot be read. `scan` is valid after an error too.
absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SCAN_H_
