#include "gateway/commands/key_files.h"

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/memory.h"
#include "base/secret/symmetric_key.h"
#include "stamp/key_generator.h"

namespace stampgate {

absl::StatusOr<std::string> CreateKeyPair(Curve curve, const std::string& out) {
  ABSL_ASSIGN_OR_RETURN(const std::string public_key, GenerateKeyFile(curve, out));
  return absl::StrCat(public_key, "\n");
}

absl::StatusOr<std::string> CreateSymmetricKey(const std::string& out) {
  ABSL_RETURN_IF_ERROR(InitializeKeyMemory());
  ABSL_RETURN_IF_ERROR(GenerateSymmetricKey(out));
  return "";
}

}  // namespace stampgate
