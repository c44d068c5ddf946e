// The key of the audit log's MAC chain, read from and written to a file.
#ifndef STAMPGATE_GATEWAY_AUDIT_KEY_H_
#define STAMPGATE_GATEWAY_AUDIT_KEY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads a key of kAuditKeyBytes into locked memory. The file holds 64 hex digits and at most one LF or CRLF at the end.
// ReadSecretFile defines which files are refused. Errors: as there, with the path; kInvalidArgument for other content,
// which the error does not quote.
absl::StatusOr<SecretBytes> ReadAuditKey(const std::string& path);

// The same for a file that ReadSecretFile has read.
absl::StatusOr<SecretBytes> ParseAuditKey(const std::string& path, const absl::StatusOr<SecretBytes>& text);

// Generates a key and writes it to the new file `path`, mode 0600, synced. Never changes an existing file; after an
// error no file is left. Errors: kAlreadyExists; otherwise the system's error for the path, and those of
// SecretBytes::Create.
absl::Status GenerateAuditKey(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_KEY_H_
