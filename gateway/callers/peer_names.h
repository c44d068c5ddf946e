// Checks the forms of names in client certificates.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether `text` is the SPIFFE ID of a workload by the SPIFFE-ID specification: "spiffe://", a trust domain and a path,
// 2048 bytes at most. The trust domain has 1 to 255 characters of a-z, 0-9, ".", "-" and "_". The path has one or more
// segments of letters, digits, ".", "-" and "_". No segment is empty, "." or "..". Each ID has one spelling, so IDs are
// compared byte by byte.
bool IsSpiffeId(absl::string_view text);

// Whether `text` is a host name, in any case: labels of 1 to 63 letters, digits, "-" and "_", separated by dots, 253
// bytes at most. A wildcard is not a host name, nor is a name that ends in a dot.
bool IsDnsName(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
