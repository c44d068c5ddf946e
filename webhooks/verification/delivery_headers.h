// The headers of a delivery: parses the six that are signed, and selects those that are stored.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "webhooks/verification/delivery.h"
#include "webhooks/verification/rejection.h"

namespace stampgate {

struct SignedHeaders {
  std::string timestamp;  // as the header spelled it, since the signature covers that spelling
  int64_t timestamp_ms = 0;
  std::string event_id;
  std::string key_id;
  std::string signature_algorithm;
  std::string signature_version;
  std::array<uint8_t, 64> signature = {};
};

// Reads "X-<operator>-Timestamp", "-Event-Id", "-Signature-Key-Id", "-Signature-Algorithm", "-Signature-Version" and
// "-Signature". Names are compared without case; values are read unchanged. Checks the rules below in order, each for
// the six headers in the order above (as upstream's helper does), and rejects at the first violation:
//   1. the header is present and not empty
//   2. it occurs once
//   3. timestamp: 1 to 16 digits, at most 2^53 - 1; event id and key id: see identifier.h; algorithm and version: 1 to
//      64 visible ASCII characters; signature: 128 hex digits of either case
// The rejection names the header.
std::variant<SignedHeaders, Rejection> ReadSignedHeaders(const std::vector<HeaderField>& headers,
                                                         absl::string_view operator_name);

inline constexpr size_t kMaxKeptHeaders = 16;
inline constexpr size_t kMaxKeptHeaderBytes = 4 << 10;

// The headers whose names begin with "X-<operator>-", unchanged and in order. A header is left out if its name has
// characters other than visible ASCII, or its value has characters other than visible ASCII and spaces. All headers
// that ReadSignedHeaders accepted are kept; any other header is left out if it would exceed a limit.
std::vector<HeaderField> KeepOperatorHeaders(std::vector<HeaderField> headers, absl::string_view operator_name);

// The signed timestamp as its header spelled it, perhaps with leading zeros, since the signature covers that spelling.
// `kept` comes from KeepOperatorHeaders. Returns `timestamp_ms` in decimal digits if no kept timestamp header has that
// value.
std::string SignedTimestampOf(const std::vector<HeaderField>& kept, absl::string_view operator_name,
                              int64_t timestamp_ms);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_
