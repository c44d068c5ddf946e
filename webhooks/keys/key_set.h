// The public keys that sign deliveries: a JSON Web Key Set. Specification: "Key discovery".
#ifndef STAMPGATE_WEBHOOKS_KEYS_KEY_SET_H_
#define STAMPGATE_WEBHOOKS_KEYS_KEY_SET_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

struct VerificationKey {
  std::array<uint8_t, 32> public_key = {};  // a point of the prime-order group
  std::string signature_algorithm;          // as deliveries name it, "ed25519"
  std::string signature_version;            // "v1"

  friend bool operator==(const VerificationKey&, const VerificationKey&) = default;
};

// Immutable. Limits: see jwk_set.h.
class KeySet {
 public:
  // Reads the answer of the discovery endpoint. A key that cannot be used (wrong type, curve, use or algorithm, a
  // malformed id or point, a point of small order) is left out and listed in refused(); so is a key whose id a usable
  // key before it has. Errors: kInvalidArgument if the text is no key set, is larger than the limits, or has no key
  // that can be used.
  static absl::StatusOr<KeySet> Parse(std::string json, absl::string_view operator_name);

  // Null if there is none.
  const VerificationKey* Find(absl::string_view key_id) const;

  // For each key that was left out: its place in the list and why; never a value.
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  std::map<std::string, VerificationKey, std::less<>> keys_;
  std::vector<std::string> refused_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_KEY_SET_H_
