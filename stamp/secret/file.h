// Files that the process reads whole: public ones, and those that hold a secret.
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
// the rules are for the file that is read. They never block on a FIFO. They allocate as many bytes as the file has.
//
// Errors name the rule, neither the path nor anything from the file:
//   kNotFound            there is no such file
//   kPermissionDenied    we may not read it, or others may touch a secret
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     its size
//   others               memory cannot be locked, opening or reading failed

// Reads a file of at most kMaxPublicFileBytes, which may be empty.
absl::StatusOr<std::string> ReadPublicFile(const std::string& path);

// Reads a file of 1 to kMaxSecretFileBytes. Its bytes only ever touch locked memory. The file must be owned by root or
// by us, and neither writable by its group nor open to others in any way. Its group may read it: Kubernetes mounts
// secrets so.
absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path);

// Writes a new file of mode 0600, on disk when this returns. An existing file is never touched. If anything fails, no
// file is left behind. Errors, without the path: kAlreadyExists; otherwise what the system says about the path.
absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_FILE_H_
