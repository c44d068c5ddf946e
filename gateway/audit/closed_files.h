// Finds the files of an audit log.
#ifndef STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
#define STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stampgate {

// The path of the closed file whose first record has this number, for the audit log that is written to `file`.
std::string ClosedAuditFile(const std::string& file, uint64_t first_sequence);

// The closed files of the audit log that is written to `file`, oldest first. Errors: kUnavailable if the folder cannot
// be read.
absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
