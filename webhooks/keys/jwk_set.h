// Reads a JSON Web Key Set (RFC 7517) into keys of any type.
#ifndef STAMPGATE_WEBHOOKS_KEYS_JWK_SET_H_
#define STAMPGATE_WEBHOOKS_KEYS_JWK_SET_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxKeySetBytes = 64 << 10;
inline constexpr size_t kMaxKeys = 64;

// One JSON Web Key.
struct JsonWebKey {
  enum class Operations { kNotGiven, kWithVerify, kWithoutVerify, kMalformed };

  std::map<std::string, std::string, std::less<>> texts;  // the key's text members, among those that ReadJwkSet reads
  Operations operations = Operations::kNotGiven;          // the member key_ops
  bool is_private = false;                                // whether the key has a member d or k

  // Returns the text of a member, or nothing if the key lacks the member.
  std::optional<absl::string_view> Text(absl::string_view member) const {
    const auto found = texts.find(member);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }
};

// The usable keys of a set. `refused` has one text for each unusable key. The text contains the key's index in the set
// and the reason, but no value of the key.
template <typename Key>
struct JwkSet {
  struct Entry {
    std::optional<std::string> key_id;
    Key key;
  };

  std::vector<Entry> keys;
  std::vector<std::string> refused;
};

// What ReadJwkSet does if two different keys have the same id.
enum class SameId { kFirstKeyCounts, kSetIsRefused };

// The part of ReadJwkSet that does not depend on the type. Calls `add` with each key that is an object, unless one of
// the key's `members` is not text. If `add` returns a text, the key is refused, and the text is the reason. If `add`
// returns an error, WalkJwkSet returns that error. Returns the texts for JwkSet::refused.
absl::StatusOr<std::vector<std::string>> WalkJwkSet(
    std::string json, const std::vector<absl::string_view>& members,
    absl::FunctionRef<absl::StatusOr<std::string>(const JsonWebKey& jwk)> add);

// Reads a key set. `members` are the text members that `make` needs besides kid. Refuses a key if one of these members
// is not text, or if `make` returns an error, whose message is then the reason. Skips a key that equals an earlier key,
// if both have the same id or both have no id. Errors: kInvalidArgument if `json` is not a key set, exceeds the limits,
// has no usable key, or has two different keys with one id and `same_id` is kSetIsRefused.
template <typename Key>
absl::StatusOr<JwkSet<Key>> ReadJwkSet(std::string json, std::vector<absl::string_view> members, SameId same_id,
                                       absl::FunctionRef<absl::StatusOr<Key>(const JsonWebKey& jwk)> make) {
  JwkSet<Key> set;
  const auto add = [&](const JsonWebKey& jwk) -> absl::StatusOr<std::string> {
    absl::StatusOr<Key> key = make(jwk);
    if (!key.ok()) return std::string(key.status().message());
    std::optional<std::string> key_id;
    if (const auto kid = jwk.Text("kid"); kid.has_value()) key_id.emplace(*kid);
    for (const typename JwkSet<Key>::Entry& entry : set.keys) {
      if (entry.key_id != key_id) continue;
      if (entry.key == *key) return "";
      if (!key_id.has_value()) continue;
      if (same_id == SameId::kFirstKeyCounts) return "an earlier key has the same kid";
      return absl::InvalidArgumentError("the key set gives one id to two different keys");
    }
    set.keys.push_back({std::move(key_id), *std::move(key)});
    return "";
  };
  members.push_back("kid");
  ABSL_ASSIGN_OR_RETURN(std::vector<std::string> refused, WalkJwkSet(std::move(json), members, add));
  set.refused = std::move(refused);
  return set;
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_JWK_SET_H_
