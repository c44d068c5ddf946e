// Reads whole files, public ones and those that contain a secret, and writes secrets to new files.
#ifndef STAMPGATE_BASE_SECRET_FILE_H_
#define STAMPGATE_BASE_SECRET_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret/bytes.h"

namespace stampgate {

inline constexpr size_t kMaxPublicFileBytes = 16 << 20;
inline constexpr size_t kMaxSecretFileBytes = 4096;

// ReadPublicFile and ReadSecretFile each read one regular file. They follow symbolic links, because Kubernetes mounts
// files through such links, and check the file to which the links lead. They never wait for the writer of a FIFO. They
// allocate only as many bytes as the file has.
//
// The message of an error names the broken rule, but neither the path nor the content. Errors:
//   kNotFound            there is no such file
//   kPermissionDenied    this process may not read the file, or other users may access a secret
//   kFailedPrecondition  the path is not a regular file
//   kInvalidArgument     the file is too large, became shorter while it was read, or is an empty secret
//   others               memory cannot be locked, or the file cannot be opened or read

// Reads a file of 0 to `max_bytes` bytes.
absl::StatusOr<std::string> ReadPublicFile(const std::string& path, size_t max_bytes = kMaxPublicFileBytes);

// The ids of users that may own files with secrets, apart from root and the user of this process.
using SecretOwners = std::vector<uid_t>;

// Reads a file of 1 to kMaxSecretFileBytes bytes. The bytes are only ever in locked memory. The owner of the file must
// be root, the user of this process, or one of `owners`. The mode of the file must not allow the group to write, and
// must not allow other users any access. The mode may allow the group to read, because Kubernetes mounts secrets with
// such modes.
absl::StatusOr<SecretBytes> ReadSecretFile(const std::string& path, const SecretOwners& owners = {});

// Writes `content` to the new file `path` (mode 0600), and syncs the file and its directory. Never changes an existing
// file. After an error, the new file does not exist. Errors, whose messages do not name the path: kAlreadyExists if
// `path` exists; otherwise the system's error.
absl::Status WriteNewSecretFile(const std::string& path, const SecretBytes& content);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_FILE_H_
