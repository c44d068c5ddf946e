// Generates API keys.
#ifndef STAMPGATE_STAMP_KEY_GENERATOR_H_
#define STAMPGATE_STAMP_KEY_GENERATOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "stamp/curve.h"

namespace stampgate {

// Generates a key pair, writes the private key to the new file `path` (mode 0600, synced), and returns the public key
// in hex, the form in which the operator registers it with upstream.
//
// The file has one line, `<hex>:<curve>`, which ReadKeyFile accepts. Upstream's own tools write the same form without a
// newline at the end. They do not strip a newline from a file that they read, so remove the newline if such a tool must
// read this file. As in the files of these tools, an ed25519 key consists of the seed and the public key. The line is
// made in locked memory; a PEM writer would leave copies of the key on the unlocked heap.
//
// Never changes an existing file. After an error, the new file does not exist. Errors: kAlreadyExists if `path` exists;
// those of InitializeKeyMemory; otherwise the system's error for `path`.
absl::StatusOr<std::string> GenerateKeyFile(Curve curve, const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_GENERATOR_H_
