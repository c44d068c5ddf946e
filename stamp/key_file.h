// Private keys in files.
#ifndef STAMPGATE_STAMP_KEY_FILE_H_
#define STAMPGATE_STAMP_KEY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/private_key.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Reads one key. The file's bytes only ever touch locked memory.
//
// Format: PEM (see pem_key.h), or `<hex>[:<curve>]` on one line, where the curve is p256 (the default), secp256k1 or
// ed25519 and the hex is 64 digits, for ed25519 also 128 (seed, then public key, which must fit). One LF or CRLF at
// the end is tolerated, nothing else.
//
// Which files are refused for whom they belong to and who may use them: see ReadSecretFile.
//
// Errors name the path and the rule, never anything from the file:
//   kNotFound            there is no such file
//   kPermissionDenied    we may not read it, or others may touch it
//   kFailedPrecondition  not a regular file
//   kInvalidArgument     the content
//   kResourceExhausted, kInternal  memory cannot be locked, reading failed
absl::StatusOr<PrivateKey> ReadKeyFile(const std::string& path);

// The same for a file that ReadSecretFile has read.
absl::StatusOr<PrivateKey> ParseKeyFile(const std::string& path, const absl::StatusOr<SecretBytes>& bytes);

// The same for text at hand: messages without a path, kInvalidArgument or memory.
absl::StatusOr<PrivateKey> ParseKeyText(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_FILE_H_
