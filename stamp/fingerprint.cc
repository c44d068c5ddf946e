#include "stamp/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "stamp/secret/sha256.h"

namespace stampgate {

std::string Fingerprint(absl::string_view body) { return absl::StrCat("sha256:", HexSha256(body)); }

}  // namespace stampgate
