// The public keys that verify the signatures of deliveries, read from upstream's JSON Web Key Set. Specification: "Key
// discovery".
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
  std::string signature_algorithm;          // the name in the headers of deliveries, "ed25519"
  std::string signature_version;            // "v1"

  friend bool operator==(const VerificationKey&, const VerificationKey&) = default;
};

// The usable keys of a key set, by key id. Immutable. Limits: see jwk_set.h.
class KeySet {
 public:
  // Reads the response of upstream's discovery endpoint. Leaves out keys that have a wrong type, curve, use or
  // algorithm, a malformed id or point, or a point outside of the prime-order group. Also leaves out a key if an
  // earlier, different key that is usable has the same id. refused() lists these keys. Errors: kInvalidArgument if the
  // text is not a key set, exceeds the limits, or has no usable key.
  static absl::StatusOr<KeySet> Parse(std::string json, absl::string_view operator_name);

  // Returns the key with this id, or null if there is none.
  const VerificationKey* Find(absl::string_view key_id) const;

  // Returns one text for each key that was left out. The text contains the key's index in the set and the reason, but
  // no value of the key.
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  std::map<std::string, VerificationKey, std::less<>> keys_;
  std::vector<std::string> refused_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_KEY_SET_H_
