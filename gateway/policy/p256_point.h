// Decodes the public keys to which secrets are exported, so that keys can be compared.
#ifndef STAMPGATE_GATEWAY_POLICY_P256_POINT_H_
#define STAMPGATE_GATEWAY_POLICY_P256_POINT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the point of the curve P-256 that `hex` encodes in compressed or uncompressed form. The result contains the
// bytes of the point's compressed form. Two texts encode the same key if, and only if, these bytes are equal. Returns
// nullopt if `hex` encodes no point.
std::optional<std::string> DecodeExportKey(absl::string_view hex);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_P256_POINT_H_
