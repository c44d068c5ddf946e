// Checks the forms of names in client certificates.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Whether `text` is the SPIFFE ID of a workload, as the SPIFFE-ID specification defines it. Such an ID consists of
// "spiffe://", a trust domain and a path, and has at most 2048 bytes. The trust domain has 1 to 255 characters: a-z,
// 0-9, ".", "-" and "_". The path has one or more segments of letters, digits, ".", "-" and "_". No segment is empty,
// "." or "..". Each ID has only one spelling, so the gateway compares IDs byte by byte.
bool IsSpiffeId(absl::string_view text);

// Whether `text` is a host name, in upper or lower case. A host name has at most 253 bytes, and consists of labels that
// are separated by dots. Each label has 1 to 63 letters, digits, "-" and "_". A wildcard is not a host name. A name
// that ends in a dot is not a host name either.
bool IsDnsName(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_NAMES_H_
