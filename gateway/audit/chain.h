// The chain of the audit log, which shows a change: every record carries a MAC over itself and the MAC before it.
//
// A record's line is `{"seq":N,` its members `,"mac":"M"}` and a line feed, and M is, in lower-case hex,
//
//   HMAC-SHA-256(key, MAC of the record before it, as 32 bytes; the line up to and without `,"mac":"`)
//
// Before the very first record stand 32 zero bytes. So who has the key can check a record with nothing but the line
// before it, and who has not can neither change, insert, move nor leave out one. What the chain by itself does not show
// is that records at its end are missing: for that, keep its head elsewhere.
#ifndef STAMPGATE_GATEWAY_AUDIT_CHAIN_H_
#define STAMPGATE_GATEWAY_AUDIT_CHAIN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

inline constexpr size_t kAuditKeyBytes = 32;

using AuditMac = std::array<uint8_t, 32>;

std::string MacHex(const AuditMac& mac);
// Nothing, unless it is 64 lower-case hex digits.
std::optional<AuditMac> ParseMacHex(absl::string_view hex);

// A place in the chain: its last record so far. The default is the place before the first.
struct AuditPosition {
  uint64_t sequence = 0;
  AuditMac mac{};

  friend bool operator==(const AuditPosition&, const AuditPosition&) = default;
};

// The chain's last record, as it is kept elsewhere: "SEQ:MAC".
struct AuditHead {
  uint64_t sequence = 0;
  std::string mac_hex;

  std::string ToString() const;
};
// Errors: kInvalidArgument, in one line.
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// Writes and checks lines. One thread at a time.
class AuditChain {
 public:
  // Errors: kInvalidArgument if the key has another size than kAuditKeyBytes; and those of SecretBytes::Create.
  static absl::StatusOr<AuditChain> Create(const SecretBytes& key);

  // Appends the line of the record that follows `position` and has these members to `out`, and moves `position` to it.
  void AppendLine(absl::string_view members, AuditPosition* position, std::string& out);

  // Whether `line`, which has no line feed, follows a record with the MAC `previous`; then `mac` is its own.
  bool Follows(absl::string_view line, const AuditMac& previous, AuditMac* mac);

  // Whether `line` has the form of a record: what a MAC would be checked in.
  static bool HasForm(absl::string_view line);

 private:
  AuditChain(SecretBytes keyed, SecretBytes state) : keyed_(std::move(keyed)), state_(std::move(state)) {}

  AuditMac MacOf(const AuditMac& previous, absl::string_view text);

  // States of the hash function, as good as the key: one that has taken the key in, and one to work in.
  SecretBytes keyed_;
  SecretBytes state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CHAIN_H_
