// A JSON Web Key Set (RFC 7517), read into keys of any type.
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
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxKeySetBytes = 64 << 10;
inline constexpr size_t kMaxKeys = 64;

// One JSON Web Key.
struct JsonWebKey {
  enum class Operations { kNotGiven, kWithVerify, kWithoutVerify, kMalformed };

  std::map<std::string, std::string, std::less<>> texts;  // the members that the reader asked for
  Operations operations = Operations::kNotGiven;          // the member key_ops
  bool is_private = false;                                // has a member d or k

  // Nothing if the key lacks the member.
  std::optional<absl::string_view> Text(absl::string_view member) const {
    const auto found = texts.find(member);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }
};

// Keys that can be used, and for each other key its place in the list and the reason; never a value.
template <typename Key>
struct JwkSet {
  struct Entry {
    std::optional<std::string> key_id;
    Key key;
  };

  std::vector<Entry> keys;
  std::vector<std::string> refused;
};

// What happens if two different keys have the same id.
enum class SameId { kFirstKeyCounts, kSetIsRefused };

// The walk below, without the types. Calls `add` with each key that is an object whose `members`, if there, are texts.
// A key is refused if `add` returns a reason. An error of `add` ends the walk. Returns the refusals.
absl::StatusOr<std::vector<std::string>> WalkJwkSet(
    std::string json, const std::vector<absl::string_view>& members,
    absl::FunctionRef<absl::StatusOr<std::string>(const JsonWebKey& jwk)> add);

// Reads a key set. `members` are the texts that `make` wants to see, besides kid. A key is refused if `make` returns an
// error, whose message is then the reason, and if one of these members is not text. A key that equals an earlier one of
// the same id, or without an id, is dropped in silence. Errors: kInvalidArgument if the text is no key set, is larger
// than the limits, has no key that can be used, or has two different keys of one id and `same_id` forbids that.
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
      if (same_id == SameId::kFirstKeyCounts) return "another key before it has its kid";
      return absl::InvalidArgumentError("the key set gives one id to two different keys");
    }
    set.keys.push_back({std::move(key_id), *std::move(key)});
    return "";
  };
  members.push_back("kid");
  absl::StatusOr<std::vector<std::string>> refused = WalkJwkSet(std::move(json), members, add);
  if (!refused.ok()) return refused.status();
  set.refused = *std::move(refused);
  return set;
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_JWK_SET_H_
