#include "gateway/audit/chain.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"

namespace stampgate {
namespace {

using State = crypto_auth_hmacsha256_state;

constexpr absl::string_view kBeforeMac = ",\"mac\":\"";
constexpr absl::string_view kAfterMac = "\"}";
constexpr size_t kHexBytes = 2 * sizeof(AuditMac);
constexpr size_t kEndBytes = kBeforeMac.size() + kHexBytes + kAfterMac.size();

static_assert(sizeof(AuditMac) == crypto_auth_hmacsha256_BYTES);

// The memory of SecretBytes ends at the end of a page. Therefore the address of this memory is a multiple of the
// alignment of State if the size of the memory is such a multiple.
static_assert(sizeof(State) % alignof(State) == 0);
State* AsState(SecretBytes& bytes) { return reinterpret_cast<State*>(bytes.data()); }

absl::string_view AsText(const AuditMac& mac) { return {reinterpret_cast<const char*>(mac.data()), mac.size()}; }

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string MacHex(const AuditMac& mac) { return absl::BytesToHexString(AsText(mac)); }

std::optional<AuditMac> ParseMacHex(absl::string_view hex) {
  if (hex.size() != kHexBytes || !IsLowerHex(hex)) return std::nullopt;
  const std::string bytes = DecodeHex(hex).value();
  AuditMac mac;
  std::copy(bytes.begin(), bytes.end(), mac.begin());
  return mac;
}

std::string AuditHead::ToString() const { return absl::StrCat(sequence, ":", mac_hex); }

absl::StatusOr<AuditHead> ParseAuditHead(absl::string_view text) {
  const size_t colon = text.find(':');
  AuditHead head;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, colon), &head.sequence) ||
      !ParseMacHex(text.substr(colon + 1))) {
    return absl::InvalidArgumentError(
        "a head is the number of a record, a colon, and the record's MAC in 64 lower-case hex digits");
  }
  head.mac_hex = std::string(text.substr(colon + 1));
  return head;
}

absl::StatusOr<AuditChain> AuditChain::Create(const SecretBytes& key) {
  if (key.size() != kAuditKeyBytes) return absl::InvalidArgumentError("an audit key has 32 bytes");
  ABSL_ASSIGN_OR_RETURN(SecretBytes keyed, SecretBytes::Create(sizeof(State)));
  ABSL_ASSIGN_OR_RETURN(SecretBytes state, SecretBytes::Create(sizeof(State)));
  crypto_auth_hmacsha256_init(AsState(keyed), key.data(), key.size());
  keyed.MakeReadOnly();
  return AuditChain(std::move(keyed), std::move(state));
}

AuditMac AuditChain::MacOf(const AuditMac& previous, absl::string_view text) {
  State* state = AsState(state_);
  std::memcpy(state_.data(), keyed_.data(), keyed_.size());
  crypto_auth_hmacsha256_update(state, previous.data(), previous.size());
  crypto_auth_hmacsha256_update(state, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  AuditMac mac;
  crypto_auth_hmacsha256_final(state, mac.data());
  return mac;
}

void AuditChain::AppendLine(absl::string_view members, AuditPosition* position, std::string& out) {
  const size_t begin = out.size();
  ++position->sequence;
  absl::StrAppend(&out, "{\"seq\":", position->sequence, ",", members);
  position->mac = MacOf(position->mac, absl::string_view(out).substr(begin));
  absl::StrAppend(&out, kBeforeMac, MacHex(position->mac), kAfterMac, "\n");
}

bool AuditChain::HasForm(absl::string_view line) {
  if (line.size() <= kEndBytes || !absl::EndsWith(line, kAfterMac)) return false;
  const absl::string_view end = line.substr(line.size() - kEndBytes);
  return absl::StartsWith(end, kBeforeMac) && IsLowerHex(end.substr(kBeforeMac.size(), kHexBytes));
}

bool AuditChain::Follows(absl::string_view line, const AuditMac& previous, AuditMac* mac) {
  if (!HasForm(line)) return false;
  *mac = MacOf(previous, line.substr(0, line.size() - kEndBytes));
  const std::string hex = MacHex(*mac);
  const absl::string_view stands = line.substr(line.size() - kAfterMac.size() - kHexBytes, kHexBytes);
  return sodium_memcmp(hex.data(), stands.data(), hex.size()) == 0;
}

}  // namespace stampgate
