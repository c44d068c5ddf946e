// Finds the closed files of an audit log: full files that the gateway has renamed to start a new file.
//
// The gateway appends records to one file. When this file is full, a rotation renames it to "<file>.<number>" and
// starts a new file under the original name. The number is the sequence number of the first record of the renamed file.
// The renamed file is a closed file: the gateway never writes to it again.
#ifndef STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
#define STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stampgate {

// Returns the path of the closed file that begins with record `first_sequence`, for the audit log that the gateway
// writes to `file`.
std::string ClosedAuditFile(const std::string& file, uint64_t first_sequence);

// Returns the closed files of the audit log that the gateway writes to `file`, oldest first. Errors: kUnavailable if
// the folder of `file` cannot be read.
absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
