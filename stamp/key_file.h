// Reads private keys from files.
#ifndef STAMPGATE_STAMP_KEY_FILE_H_
#define STAMPGATE_STAMP_KEY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/private_key.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads one key. The file's bytes are never in memory that is not locked.
//
// Format: PEM (see pem_key.h), or `<hex>[:<curve>]` on one line. The curve is p256 (the default), secp256k1 or ed25519.
// The hex has 64 digits or, for ed25519, optionally 128 (seed, then public key, which must match). One LF or CRLF at
// the end is allowed.
//
// ReadSecretFile defines which owners and modes are accepted.
//
// Errors name the path and the rule, never file contents:
//   kNotFound            there is no such file
//   kPermissionDenied    this process may not read it, or others may access it
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     invalid content
//   kResourceExhausted, kInternal  memory cannot be locked, reading failed
absl::StatusOr<PrivateKey> ReadKeyFile(const std::string& path);

// The same for a file that ReadSecretFile has read.
absl::StatusOr<PrivateKey> ParseKeyFile(const std::string& path, const absl::StatusOr<SecretBytes>& bytes);

// Reads one key from text. Messages have no path; errors are kInvalidArgument and those of locked memory.
absl::StatusOr<PrivateKey> ParseKeyText(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_FILE_H_
