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
// The scan ends at the first invalid line. If a crash can have damaged this line, the line and the rest of the file are
// a torn end. If a later group of records comes after the line, a crash cannot have damaged the line, see
// later_group.h. An attacker who changes or removes the last group can make it look torn; only a head (number and MAC
// of the last record) that is stored elsewhere reveals this change.
//
// Format 1 does not mark the beginnings of groups. In a file of format 1, only a last line without a line feed is a
// torn end. A file without a valid record is possibly not an audit file. Its content is a torn end only if it contains
// no line feed.
//
// Reads only the bytes that the file has when the scan begins, so that the gateway can append to the file during the
// scan.
//
// Errors: kDataLoss, with the number of the line, if a line is invalid and does not begin a torn end; kUnavailable if
// the file cannot be read. `scan` is valid after an error too.
absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SCAN_H_
