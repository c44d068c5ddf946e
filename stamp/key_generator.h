// New API keys.
#ifndef STAMPGATE_STAMP_KEY_GENERATOR_H_
#define STAMPGATE_STAMP_KEY_GENERATOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "stamp/curve.h"

namespace stampgate {

// Makes a key, writes its private half to the new file `path` (mode 0600, on disk when this returns) and returns its
// public half in hex, as it is registered upstream.
//
// The file holds one line, `<hex>:<curve>`, which ReadKeyFile reads back: it names its curve; apart from the newline,
// which upstream's own tools do not strip, it is the form in which they keep keys (so for ed25519 the public half
// follows the seed); and it is written from locked memory by one hex conversion, where a PEM writer would leave copies
// of the key on the heap.
//
// An existing file is never touched. If anything fails, no file is left behind. Errors: kAlreadyExists; otherwise what
// the system says about the path, and those of InitializeKeyMemory.
absl::StatusOr<std::string> GenerateKeyFile(Curve curve, const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_KEY_GENERATOR_H_
