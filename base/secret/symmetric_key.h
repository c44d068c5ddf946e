// Reads, parses and generates a symmetric key: the key of the audit log, or the key of the store.
#ifndef STAMPGATE_BASE_SECRET_SYMMETRIC_KEY_H_
#define STAMPGATE_BASE_SECRET_SYMMETRIC_KEY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret/bytes.h"
#include "base/secret/file.h"

namespace stampgate {

inline constexpr size_t kSymmetricKeyBytes = 32;

// Reads a key of kSymmetricKeyBytes into locked memory. The file must contain 64 hex digits, and at most one LF or CRLF
// after them. Errors: those of ReadSecretFile, with the path added; kInvalidArgument if the file has other content. No
// error quotes the content.
absl::StatusOr<SecretBytes> ReadSymmetricKey(const std::string& path, const SecretOwners& owners = {});

// Parses the key from `text`, the result of ReadSecretFile for `path`. Errors: those of ReadSymmetricKey.
absl::StatusOr<SecretBytes> ParseSymmetricKey(const std::string& path, const absl::StatusOr<SecretBytes>& text);

// Generates a key, writes it to the new file `path` with mode 0600, and syncs the file. Never changes an existing file;
// after an error, removes the new file. Errors: those of WriteNewSecretFile, such as kAlreadyExists, with the path
// added; those of SecretBytes::Create.
absl::Status GenerateSymmetricKey(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_SYMMETRIC_KEY_H_
