// Goes through one file of the audit log and checks its chain.
#ifndef STAMPGATE_GATEWAY_AUDIT_SCAN_H_
#define STAMPGATE_GATEWAY_AUDIT_SCAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gateway/audit_chain.h"
#include "gateway/audit_record.h"

namespace stampgate {

// What was found, as far as it was gone through.
struct AuditScan {
  uint64_t records = 0;         // each in its place in the chain
  uint64_t first_sequence = 0;  // of the first of them
  AuditPosition last;           // the last of them
  int64_t whole_bytes = 0;      // that they take
  int64_t torn_bytes = 0;       // behind them at the file's end, without a line feed: a record that was cut off
};

// Reads the file `fd` from its start, in bounded memory, and calls `on_record` for each record in turn. The first one
// must be the very first of a chain, or say itself what it goes on from; with `continues`, it must go on from there.
//
// Errors: kDataLoss if a line is not what follows the one before it, naming the line; kUnavailable if the file cannot
// be read. `scan` is right then as well.
absl::Status ScanAuditFile(int fd, AuditChain& chain, const AuditPosition* continues,
                           absl::FunctionRef<void(const AuditRecord& record, const AuditMac& mac)> on_record,
                           AuditScan* scan);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_SCAN_H_
