#include "webhooks/keys/jwk_set.h"

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/json/reader.h"

namespace stampgate {
namespace {

absl::Status Invalid(absl::string_view why) { return absl::InvalidArgumentError(why); }

absl::Status ReadOperations(JsonValue& value, JsonWebKey::Operations& operations) {
  operations = JsonWebKey::Operations::kMalformed;
  if (value.kind() != JsonValue::Kind::kArray) return absl::OkStatus();
  operations = JsonWebKey::Operations::kWithoutVerify;
  return value.ForEachElement([&](size_t, JsonValue& element) {
    if (element.kind() == JsonValue::Kind::kString && element.string() == "verify") {
      operations = JsonWebKey::Operations::kWithVerify;
    }
    return absl::OkStatus();
  });
}

// Reads one key. Sets `refusal` if a member that must be text has another type.
absl::Status ReadKey(JsonValue& value, const std::vector<absl::string_view>& members, JsonWebKey& jwk,
                     std::string& refusal) {
  return value.ForEachMember([&](absl::string_view name, JsonValue& member) {
    if (name == "key_ops") return ReadOperations(member, jwk.operations);
    if (name == "d" || name == "k") jwk.is_private = true;
    if (!absl::c_linear_search(members, name)) return absl::OkStatus();
    if (member.kind() == JsonValue::Kind::kString && member.string().has_value()) {
      jwk.texts.emplace(name, *member.string());
    } else {
      refusal = "a member of another type than text";
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WalkJwkSet(
    std::string json, const std::vector<absl::string_view>& members,
    absl::FunctionRef<absl::StatusOr<std::string>(const JsonWebKey& jwk)> add) {
  if (json.size() > kMaxKeySetBytes) return Invalid("the key set is too large");
  std::vector<std::string> refused;
  bool has_list = false;
  bool has_key = false;
  const auto walk = [&](size_t index, JsonValue& value) -> absl::Status {
    if (index == kMaxKeys) return Invalid("the key set has too many keys");
    std::string refusal;
    if (value.kind() == JsonValue::Kind::kObject) {
      JsonWebKey jwk;
      ABSL_RETURN_IF_ERROR(ReadKey(value, members, jwk, refusal));
      if (refusal.empty()) {
        ABSL_ASSIGN_OR_RETURN(std::string added, add(jwk));
        refusal = std::move(added);
      }
    } else {
      refusal = "not an object";
    }
    has_key = has_key || refusal.empty();
    if (!refusal.empty()) refused.push_back(absl::StrCat("key ", index, ": ", refusal));
    return absl::OkStatus();
  };
  const absl::Status status = ReadJsonObject(json, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      if (name != "keys" || value.kind() != JsonValue::Kind::kArray) return absl::OkStatus();
      has_list = true;
      return value.ForEachElement(walk);
    });
  });
  if (!status.ok()) return status;
  if (!has_list) return Invalid("the key set has no list of keys");
  if (!has_key) {
    return Invalid(absl::StrCat("the key set has no key that can be used", refused.empty() ? "" : "; ",
                                refused.empty() ? "" : refused.front()));
  }
  return refused;
}

}  // namespace stampgate
