// Proves that a damaged record of an audit file was once on the disk.
//
// The writer writes a group of records only after it has synced the previous group. So a power cut can damage only the
// last group, in any way; all earlier groups are on the disk. The first record of a group has the member
// "previous_mac", which contains the MAC of the record before it. So a reader can check the first record of a group
// without the lines around it. If this record comes after a damaged record, both in the file and by its number, the
// damaged record was on the disk before the group was written. In this case no power cut can have damaged the damaged
// record.
#ifndef STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_
#define STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "gateway/audit/chain.h"

namespace stampgate {

// Returns whether the bytes of the file `fd` from offset `from` up to `to` contain the first record of a group that was
// written after record `sequence` was on the disk. Other bytes can surround the record, and the line feed of the record
// can be missing. Reads each byte once and uses bounded memory. Errors: kUnavailable if the file cannot be read.
absl::StatusOr<bool> HoldsLaterGroup(int fd, int64_t from, int64_t to, uint64_t sequence, AuditChain& chain);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_LATER_GROUP_H_
