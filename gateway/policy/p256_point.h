// Public keys that secrets are exported to, made comparable.
#ifndef STAMPGATE_GATEWAY_POLICY_P256_POINT_H_
#define STAMPGATE_GATEWAY_POLICY_P256_POINT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The point of the curve P-256 that `hex` encodes, compressed or not, as the bytes of its compressed form: two texts
// are the same key exactly if they give the same bytes. Nothing if it is no point.
std::optional<std::string> DecodeExportKey(absl::string_view hex);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_P256_POINT_H_
