// Where the files of an audit log are.
#ifndef STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
#define STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stampgate {

// Where the log that is written to `file` puts a closed file whose first record has this number.
std::string ClosedAuditFile(const std::string& file, uint64_t first_sequence);

// The closed files of the log that is written to `file`, the oldest first. Errors: kUnavailable if the folder cannot be
// read.
absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
