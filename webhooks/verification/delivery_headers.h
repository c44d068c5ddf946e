// Parses the six signed headers of a delivery, and selects the headers that the event log stores.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "webhooks/verification/delivery.h"
#include "webhooks/verification/rejection.h"

namespace stampgate {

struct SignedHeaders {
  std::string timestamp;  // the header's text, because the signature covers it with all digits
  int64_t timestamp_ms = 0;
  std::string event_id;
  std::string key_id;
  std::string signature_algorithm;
  std::string signature_version;
  std::array<uint8_t, 64> signature = {};
};

// Reads the six headers "X-<operator>-Timestamp", "-Event-Id", "-Signature-Key-Id", "-Signature-Algorithm",
// "-Signature-Version" and "-Signature"; <operator> is upstream's name. Ignores the case of names, and does not change
// values. Checks each rule for all headers that it concerns, in the order above, before the next rule. Rejects at the
// first violation:
//   1. the version and the algorithm, if they occur once and are not empty, are "v1" and "ed25519": otherwise the
//      forms of the other headers are not known
//   2. each header is present and not empty
//   3. each occurs once
//   4. timestamp: see ReadTimestamp; signature: 128 hex digits of either case
//   5. event id and key id: see IsIdentifier
// The rejection names the header that violates the rule, except for rule 1.
std::variant<SignedHeaders, Rejection> ReadSignedHeaders(const std::vector<HeaderField>& headers,
                                                         absl::string_view operator_name);

// Returns the milliseconds of a timestamp: 1 to 16 digits, at most 2^53 - 1. Returns nothing if `text` has another
// form.
std::optional<int64_t> ReadTimestamp(absl::string_view text);

inline constexpr size_t kMaxKeptHeaders = 16;
inline constexpr size_t kMaxKeptHeaderBytes = 4 << 10;

// Returns the headers whose names begin with "X-<operator>-", unchanged and in order. Keeps the six signed headers,
// which ReadSignedHeaders must have accepted. Leaves out any other header that would exceed one of the limits above.
// Also leaves out other headers whose name has characters other than visible ASCII, or whose value has characters other
// than visible ASCII and spaces.
std::vector<HeaderField> KeepOperatorHeaders(std::vector<HeaderField> headers, absl::string_view operator_name);

// Returns the text of the timestamp header with any leading zeros, because the signature covers all digits of the text.
// `kept` comes from KeepOperatorHeaders. If no kept timestamp header has the value `timestamp_ms`, returns
// `timestamp_ms` in decimal digits.
std::string SignedTimestampOf(const std::vector<HeaderField>& kept, absl::string_view operator_name,
                              int64_t timestamp_ms);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_DELIVERY_HEADERS_H_
