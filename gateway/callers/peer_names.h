// Checks the forms of names in client certificates.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether this is the SPIFFE ID of a workload by the SPIFFE-ID specification: "spiffe://", a trust domain of 1 to 255
// of a-z, 0-9, ".", "-" and "_", and a path of one or more segments of letters, digits, ".", "-" and "_", none of them
// empty, "." or ".."; 2048 bytes at most. Each ID has one spelling, so IDs are compared byte by byte.
bool IsSpiffeId(absl::string_view text);

// Whether this is a host name, in any case: labels of 1 to 63 letters, digits, "-" and "_", separated by dots, 253
// bytes at most. Neither a wildcard nor a name that ends in a dot is one.
bool IsDnsName(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
