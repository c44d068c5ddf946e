// Reads, parses and generates the key of the audit log's MAC chain.
#ifndef STAMPGATE_GATEWAY_AUDIT_KEY_H_
#define STAMPGATE_GATEWAY_AUDIT_KEY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads a key of kAuditKeyBytes into locked memory. The file must contain 64 hex digits, and at most one LF or CRLF
// after them. Errors: those of ReadSecretFile, with the path added; kInvalidArgument if the file has other content. No
// error quotes the content.
absl::StatusOr<SecretBytes> ReadAuditKey(const std::string& path);

// Parses the key from `text`, the result of ReadSecretFile(path). Errors: those of ReadAuditKey.
absl::StatusOr<SecretBytes> ParseAuditKey(const std::string& path, const absl::StatusOr<SecretBytes>& text);

// Generates a key, writes it to the new file `path` with mode 0600, and syncs the file. Never changes an existing file;
// after an error, removes the new file. Errors: those of WriteNewSecretFile, such as kAlreadyExists, with the path
// added; those of SecretBytes::Create.
absl::Status GenerateAuditKey(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_KEY_H_
