// The headers of a delivery: the six that are signed, and what is kept of all.
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
  std::string timestamp;  // as it was spelled, which is how it was signed
  int64_t timestamp_ms = 0;
  std::string event_id;
  std::string key_id;
  std::string signature_algorithm;
  std::string signature_version;
  std::array<uint8_t, 64> signature = {};
};

// Reads "X-<operator>-Timestamp", "-Event-Id", "-Signature-Key-Id", "-Signature-Algorithm", "-Signature-Version" and
// "-Signature". Names compare without case, values are taken as they are. The first rule that is broken rejects, and
// the first header in that order that breaks it is named (upstream's helper looks for missing ones in the same order):
//   1. each is there and not empty
//   2. none is there twice
//   3. timestamp: 1 to 16 digits, at most 2^53 - 1; event id and key id: see identifier.h; algorithm and version: 1 to
//      64 visible ASCII characters; signature: 128 hex digits of either case
std::variant<SignedHeaders, Rejection> ReadSignedHeaders(const std::vector<HeaderField>& headers,
                                                         absl::string_view operator_name);

inline constexpr size_t kMaxKeptHeaders = 16;
inline constexpr size_t kMaxKeptHeaderBytes = 4 << 10;

// The headers whose names begin with "X-<operator>-", as they came and in their order, as far as they are visible ASCII
// (values: and spaces). Headers that ReadSignedHeaders has read are all kept; of the others, one that would pass a
// limit is left out.
std::vector<HeaderField> KeepOperatorHeaders(std::vector<HeaderField> headers, absl::string_view operator_name);

// The signed timestamp as its header spelled it, which is how it was signed: it may begin with zeros. `kept` comes from
// KeepOperatorHeaders. `timestamp_ms` in decimal digits if no kept header of that name says the same number.
std::string SignedTimestampOf(const std::vector<HeaderField>& kept, absl::string_view operator_name,
                              int64_t timestamp_ms);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_
