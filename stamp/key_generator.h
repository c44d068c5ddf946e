// Generates API keys.
#ifndef STAMPGATE_STAMP_KEY_GENERATOR_H_
#define STAMPGATE_STAMP_KEY_GENERATOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "stamp/curve.h"

namespace stampgate {

// Generates a key, writes its private half to the new file `path` (mode 0600, synced), and returns its public half in
// hex, the form in which it is registered upstream.
//
// The file holds one line, `<hex>:<curve>`, which ReadKeyFile accepts. Unlike bare hex it names the curve. It equals
// the form of upstream's own tools except for the newline, which they do not strip (so for ed25519 the public half
// follows the seed). It is written from locked memory by one hex conversion; a PEM writer would leave copies of the key
// on the heap.
//
// Never changes an existing file. After an error no file is left. Errors: kAlreadyExists; otherwise the system's error
// for the path, and those of InitializeKeyMemory.
absl::StatusOr<std::string> GenerateKeyFile(Curve curve, const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_GENERATOR_H_
