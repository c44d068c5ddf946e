// The names that a client certificate may give its holder.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether this is the SPIFFE ID of a workload, as the SPIFFE-ID specification writes them: "spiffe://", a trust domain
// of 1 to 255 of a-z, 0-9, ".", "-" and "_", and a path of one or more segments of letters, digits, ".", "-" and "_",
// none of them empty, "." or ".."; 2048 bytes at most. So there is one spelling of each, and IDs compare byte by byte.
bool IsSpiffeId(absl::string_view text);

// Whether this is the full name of a host, in either case: labels of 1 to 63 of letters, digits, "-" and "_", with dots
// between them, 253 bytes at most. A wildcard is none, nor is a name that ends with a dot.
bool IsDnsName(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
