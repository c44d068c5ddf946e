// The MAC chain of the audit log, which reveals changes: every record has a MAC over itself and the MAC of the record
// before it.
//
// A record is one line: `{"seq":N,`, the other members of the record, `,"mac":"M"}`, and a line feed. M is the MAC in
// lower-case hex, computed as
//
//   HMAC-SHA-256(key, MAC of the record before it, as 32 bytes; the line up to and without `,"mac":"`)
//
// For record 1, 32 zero bytes replace the MAC of the record before it. A reader that has the key needs only the line
// before a record to check the record. Without the key, an attacker cannot change, insert or move records unnoticed,
// and can remove records unnoticed only from the end. To detect even such a removal, store the head (the number and the
// MAC of the last record) elsewhere.
#ifndef STAMPGATE_GATEWAY_AUDIT_CHAIN_H_
#define STAMPGATE_GATEWAY_AUDIT_CHAIN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"

namespace stampgate {

inline constexpr size_t kAuditKeyBytes = 32;

using AuditMac = std::array<uint8_t, 32>;

std::string MacHex(const AuditMac& mac);
// Parses a MAC. Returns nothing unless `hex` consists of 64 lower-case hex digits.
std::optional<AuditMac> ParseMacHex(absl::string_view hex);

// A position in the chain: directly after the record with this number and this MAC. The default value is that before
// record 1.
struct AuditPosition {
  uint64_t sequence = 0;
  AuditMac mac{};

  friend bool operator==(const AuditPosition&, const AuditPosition&) = default;
};

// The head of a chain: the number and the MAC of its last record. ToString returns the text "SEQ:MAC".
struct AuditHead {
  uint64_t sequence = 0;
  std::string mac_hex;

  std::string ToString() const;
};
// Parses a head. Errors: kInvalidArgument; the message is one line.
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// Writes and checks the lines of records. Only one thread may use it at a time.
class AuditChain {
 public:
  // Errors: kInvalidArgument if the key's size is not kAuditKeyBytes; the errors of SecretBytes::Create.
  static absl::StatusOr<AuditChain> Create(const SecretBytes& key);

  // Appends to `out` the line of a record that follows `position` and has the members `members`. Sets `position` to the
  // position after it.
  void AppendLine(absl::string_view members, AuditPosition* position, std::string& out);

  // Returns whether `line`, given without its line feed, is a valid record after a record with the MAC `previous`. If
  // it is, sets `mac` to the MAC of `line`.
  bool Follows(absl::string_view line, const AuditMac& previous, AuditMac* mac);

  // Returns whether `line` ends with a MAC, as every record does. Does not check the MAC.
  static bool HasForm(absl::string_view line);

 private:
  AuditChain(SecretBytes keyed, SecretBytes state) : keyed_(std::move(keyed)), state_(std::move(state)) {}

  AuditMac MacOf(const AuditMac& previous, absl::string_view text);

  // Two states of the hash function, which are as secret as the key. `keyed_` is the state after the hash function has
  // read the key, and never changes. MacOf copies `keyed_` to `state_` and computes the MAC there.
  SecretBytes keyed_;
  SecretBytes state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CHAIN_H_
