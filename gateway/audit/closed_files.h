// Names and finds the closed files of an audit log: files that the gateway has replaced by a new file.
//
// The gateway appends records to one file, the current file. A rotation replaces it by a new file, and renames it to
// "<file>.<number>" or, if there is a file for each day, to "<file>.<number>.<date>". The number is the sequence number
// of its first record, in 20 digits, so that the order of the names is the order of the records. The date is the day
// (UTC) of its first record, such as 2026-11-25.
//
// A file gets this name only when the gateway writes to the new file. So a closed file never changes. Between the two
// steps, the file is a closing file: its name is "<file>.closing.<number>" with the same date. If the process ends
// there, the next start completes the rotation.
#ifndef STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
#define STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"

namespace stampgate {

// The two names that a file of an audit log gets in a rotation.
struct AuditFileNames {
  std::string closing;
  std::string closed;
};

// Returns the names of the file that begins with record `first_sequence`, for the audit log that the gateway writes to
// `file`. `day` is given if there is a file for each day.
AuditFileNames NamesOfAuditFile(const std::string& file, uint64_t first_sequence,
                                const std::optional<absl::CivilDay>& day = std::nullopt);

// Returns the closed files of the audit log that the gateway writes to `file`, oldest first. Errors: kUnavailable if
// the folder of `file` cannot be read.
absl::StatusOr<std::vector<std::string>> FindClosedAuditFiles(const std::string& file);

// Returns both names of each closing file, oldest first. Normally there is at most one. Errors: those of
// FindClosedAuditFiles.
absl::StatusOr<std::vector<AuditFileNames>> FindClosingAuditFiles(const std::string& file);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CLOSED_FILES_H_
