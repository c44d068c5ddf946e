// Proves that a damaged record of an audit file was once on the disk.
//
// The writer writes a group of records only after it has synced the previous group. So a power cut can damage only the
// last group, in any way; everything before that group is on the disk. The first record of a group has "previous_mac",
// the MAC of the record before it, so that its own MAC can be checked without the neighbouring lines. If such a record
// comes after a damaged one, both in the file and in the chain, then the damaged record was on the disk when that group
// was written: no power cut has damaged it.
#ifndef STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_
#define STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "gateway/audit/chain.h"

namespace stampgate {

// Whether the bytes of the file `fd` from `from` up to `to` contain the first record of a group that was written after
// record `sequence` was on the disk. The bytes may be anything; a record is found wherever it begins, with or without
// its line feed. Reads each byte once, in bounded memory. Errors: kUnavailable if the file cannot be read.
absl::StatusOr<bool> HoldsLaterGroup(int fd, int64_t from, int64_t to, uint64_t sequence, AuditChain& chain);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_
