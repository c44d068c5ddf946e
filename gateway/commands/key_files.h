// The commands that create key files: `stampgate keygen`, `stampgate audit keygen` and `stampgate store keygen`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_KEY_FILES_H_
#define STAMPGATE_GATEWAY_COMMANDS_KEY_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "stamp/curve.h"

namespace stampgate {

// Creates the key file `out`, and returns a text for the operator. Errors: those of GenerateKeyFile and
// GenerateSymmetricKey.
absl::StatusOr<std::string> CreateKeyPair(Curve curve, const std::string& out);
absl::StatusOr<std::string> CreateSymmetricKey(const std::string& out);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_KEY_FILES_H_
