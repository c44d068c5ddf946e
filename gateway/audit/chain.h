// The MAC chain of the audit log, which reveals changes: every record has a MAC over itself and the MAC before it.
//
// A record's line is `{"seq":N,` its members `,"mac":"M"}` and a line feed. M is, in lower-case hex,
//
//   HMAC-SHA-256(key, MAC of the record before it, as 32 bytes; the line up to and without `,"mac":"`)
//
// For the very first record, the MAC before it is 32 zero bytes. The owner of the key can therefore check a record with
// only the line before it; anybody else can neither change, insert, move nor remove one. The chain alone does not show
// that records at its end are missing: store its head elsewhere to detect that.
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
// Nothing, unless the text is 64 lower-case hex digits.
std::optional<AuditMac> ParseMacHex(absl::string_view hex);

// A place in the chain: after the record of this number. The default is the place before the first record.
struct AuditPosition {
  uint64_t sequence = 0;
  AuditMac mac{};

  friend bool operator==(const AuditPosition&, const AuditPosition&) = default;
};

// The last record of a chain, in the form in which it is stored elsewhere: "SEQ:MAC".
struct AuditHead {
  uint64_t sequence = 0;
  std::string mac_hex;

  std::string ToString() const;
};
// Errors: kInvalidArgument; the message is one line.
absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text);

// Writes and checks lines. One thread at a time.
class AuditChain {
 public:
  // Errors: kInvalidArgument if the key's size is not kAuditKeyBytes; and those of SecretBytes::Create.
  static absl::StatusOr<AuditChain> Create(const SecretBytes& key);

  // Appends the line of the next record after `position`, with these members, to `out`; advances `position` to it.
  void AppendLine(absl::string_view members, AuditPosition* position, std::string& out);

  // Whether `line`, which has no line feed, follows a record with the MAC `previous`. If so, sets `mac` to its own MAC.
  bool Follows(absl::string_view line, const AuditMac& previous, AuditMac* mac);

  // Whether `line` has the form of a record, so that it makes sense to check its MAC.
  static bool HasForm(absl::string_view line);

 private:
  AuditChain(SecretBytes keyed, SecretBytes state) : keyed_(std::move(keyed)), state_(std::move(state)) {}

  AuditMac MacOf(const AuditMac& previous, absl::string_view text);

  // States of the hash function, as secret as the key: one that has read the key, and one to compute in.
  SecretBytes keyed_;
  SecretBytes state_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_CHAIN_H_
