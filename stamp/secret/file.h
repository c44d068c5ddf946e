// Reads and writes files that hold a secret.
#ifndef STAMPGATE_STAMP_SECRET_FILE_H_
#define STAMPGATE_STAMP_SECRET_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads a whole file. Its bytes are never in memory that is not locked.
//
// The file must be regular, of 1 to 4096 bytes, owned by root or by this process's user. Its group may read it, as
// Kubernetes mounts secrets, but not write it; others must have no access. Symbolic links are followed, since
// Kubernetes mounts secrets through them; the checks apply to the file that is read. Never blocks on a FIFO.
//
// Errors name the rule, neither the path nor file contents:
//   kNotFound            there is no such file
//   kPermissionDenied    this process may not read it, or others may access it
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     its size
//   kResourceExhausted, kInternal  memory cannot be locked, reading failed
absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path);

// Writes a new file of mode 0600, and syncs it. Never changes an existing file. After an error no file is left. Errors,
// without the path: kAlreadyExists; otherwise the system's error for the path.
absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_FILE_H_
