// Reads private keys from files.
#ifndef STAMPGATE_STAMP_KEY_FILE_H_
#define STAMPGATE_STAMP_KEY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"
#include "stamp/private_key.h"

namespace stampgate {

// Reads one private key from the file `path`. The bytes of the file are only ever in locked memory.
//
// Format: PEM (see pem_key.h), or `<hex>[:<curve>]` on one line. The curve is p256 (the default), secp256k1 or ed25519.
// The hex has 64 digits. For ed25519 it may also have 128 digits: the seed, then the public key, which must belong to
// the seed. One LF or CRLF at the end of the file is allowed.
//
// ReadSecretFile defines which owners and modes a key file may have.
//
// The message of an error names the path and the broken rule, and never quotes the content. Errors:
//   kNotFound            there is no such file
//   kPermissionDenied    this process may not read the file, or other users may access it
//   kFailedPrecondition  the path is not a regular file
//   kInvalidArgument     the content is no valid key
//   kResourceExhausted, kInternal  memory cannot be locked, or the file cannot be read
absl::StatusOr<PrivateKey> ReadKeyFile(const std::string& path);

// Like ReadKeyFile, for a file that has already been read: `bytes` is the result of ReadSecretFile for `path`.
absl::StatusOr<PrivateKey> ParseKeyFile(const std::string& path, const absl::StatusOr<SecretBytes>& bytes);

// Reads one private key from `text`, the content of a key file. Error messages name no path. Errors: kInvalidArgument
// if `text` is no valid key; kResourceExhausted or kInternal if memory cannot be locked.
absl::StatusOr<PrivateKey> ParseKeyText(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_FILE_H_
