// Files that hold a secret.
#ifndef STAMPGATE_STAMP_SECRET_FILE_H_
#define STAMPGATE_STAMP_SECRET_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads a whole file. Its bytes only ever touch locked memory.
//
// The file must be regular, of 1 to 4096 bytes, owned by root or by us, and neither writable by its group nor open to
// others in any way. Its group may read it: Kubernetes mounts secrets so. Symbolic links on the way are followed, as
// Kubernetes mounts secrets through them; what is checked is the file that is read. Never blocks on a FIFO.
//
// Errors name the rule, neither the path nor anything from the file:
//   kNotFound            there is no such file
//   kPermissionDenied    we may not read it, or others may touch it
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     its size
//   kResourceExhausted, kInternal  memory cannot be locked, reading failed
absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path);

// Writes a new file of mode 0600, on disk when this returns. An existing file is never touched. If anything fails, no
// file is left behind. Errors, without the path: kAlreadyExists; otherwise what the system says about the path.
absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_FILE_H_
