// The key of the audit log's chain, in a file.
#ifndef STAMPGATE_GATEWAY_AUDIT_KEY_H_
#define STAMPGATE_GATEWAY_AUDIT_KEY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads a key of kAuditKeyBytes into locked memory. The file holds 64 hex digits, and one LF or CRLF at the end or
// nothing. Which files are refused: see ReadSecretFile. Errors as there, with the path; kInvalidArgument for other
// content, of which no error repeats anything.
absl::StatusOr<SecretBytes> ReadAuditKey(const std::string& path);

// The same for a file that ReadSecretFile has read.
absl::StatusOr<SecretBytes> ParseAuditKey(const std::string& path, const absl::StatusOr<SecretBytes>& text);

// Makes a key and writes it to the new file `path`, mode 0600, on disk when this returns. An existing file is never
// touched; if anything fails, no file is left behind. Errors: kAlreadyExists; otherwise what the system says about the
// path, and those of SecretBytes::Create.
absl::Status GenerateAuditKey(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_KEY_H_
