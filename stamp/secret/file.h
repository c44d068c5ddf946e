// Reads files whole, public ones and those that hold a secret, and writes secrets to new files.
#ifndef STAMPGATE_STAMP_SECRET_FILE_H_
#define STAMPGATE_STAMP_SECRET_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

inline constexpr size_t kMaxPublicFileBytes = 16 << 20;
inline constexpr size_t kMaxSecretFileBytes = 4096;

// Both functions below read one regular file. They follow symbolic links, because Kubernetes mounts files through them;
// the checks apply to the file that is read. They never block on a FIFO. They allocate as many bytes as the file has.
//
// Errors name the rule, neither the path nor file contents:
//   kNotFound            there is no such file
//   kPermissionDenied    this process may not read it, or others may access a secret
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     its size
//   others               memory cannot be locked, opening or reading failed

// Reads a file of at most kMaxPublicFileBytes, which may be empty.
absl::StatusOr<std::string> ReadPublicFile(const std::string& path);

// Reads a file of 1 to kMaxSecretFileBytes. Its bytes only ever touch locked memory. The file must be owned by root or
// by us, and neither writable by its group nor open to others in any way. Its group may read it: Kubernetes mounts
// secrets so.
absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path);

// Writes a new file of mode 0600, and syncs it. Never changes an existing file. After an error no file is left. Errors,
// without the path: kAlreadyExists; otherwise the system's error for the path.
absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_FILE_H_
