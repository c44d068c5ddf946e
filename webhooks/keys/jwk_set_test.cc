#include "webhooks/keys/jwk_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Set(absl::string_view keys) { return absl::StrCat(R"({"keys":[)", keys, "]}"); }

// Makes a key of the type that these tests use: the text of the member x.
absl::StatusOr<std::string> MakeKey(const JsonWebKey& jwk) {
  if (!jwk.Text("x").has_value()) return absl::InvalidArgumentError("no x");
  return std::string(*jwk.Text("x"));
}

absl::StatusOr<JwkSet<std::string>> Read(std::string json, SameId same_id = SameId::kFirstKeyCounts) {
  return ReadJwkSet<std::string>(std::move(json), {"x"}, same_id, MakeKey);
}

// Returns the keys as "id=key", or "-=key" for a key without an id. Returns the message if `set` is an error.
std::vector<std::string> KeysOf(const absl::StatusOr<JwkSet<std::string>>& set) {
  if (!set.ok()) return {std::string(set.status().message())};
  std::vector<std::string> keys;
  for (const auto& entry : set->keys) keys.push_back(absl::StrCat(entry.key_id.value_or("-"), "=", entry.key));
  return keys;
}

TEST(JwkSetTest, SetHasTheKeysInTheirOrder) {
  const absl::StatusOr<JwkSet<std::string>> set = Read(Set(R"({"kid":"b","x":"1"},{"x":"2"},{"kid":"a","x":"3"})"));
  EXPECT_THAT(KeysOf(set), ElementsAre("b=1", "-=2", "a=3"));
  EXPECT_THAT(set->refused, IsEmpty());
}

TEST(JwkSetTest, SetListsTheRefusedKeysWithTheirReasons) {
  const absl::StatusOr<JwkSet<std::string>> set =
      Read(Set(R"(7,{"kid":"a"},{"kid":1,"x":"1"},{"x":["1"]},{"kid":"a","x":"1"},null)"));
  EXPECT_THAT(KeysOf(set), ElementsAre("a=1"));
  EXPECT_THAT(set->refused,
              ElementsAre("key 0: not an object", "key 1: no x", "key 2: a member of another type than text",
                          "key 3: a member of another type than text", "key 5: not an object"));
}

TEST(JwkSetTest, OtherMembersMayHaveAnyValue) {
  EXPECT_THAT(KeysOf(Read(Set(R"({"x":"1","y":1,"d":1e400,"x5c":null,"key_ops":{}})"))), ElementsAre("-=1"));
}

TEST(JwkSetTest, TwoKeysWithOneIdMeanThatTheFirstCountsOrTheSetIsRefused) {
  const std::string two = Set(R"({"kid":"a","x":"1"},{"kid":"a","x":"2"},{"kid":"b","x":"3"})");
  const absl::StatusOr<JwkSet<std::string>> first = Read(two);
  EXPECT_THAT(KeysOf(first), ElementsAre("a=1", "b=3"));
  EXPECT_THAT(first->refused, ElementsAre("key 1: an earlier key has the same kid"));
  EXPECT_THAT(KeysOf(Read(two, SameId::kSetIsRefused)), ElementsAre("the key set gives one id to two different keys"));
}

TEST(JwkSetTest, ARepeatedKeyCountsOnce) {
  for (const SameId same_id : {SameId::kFirstKeyCounts, SameId::kSetIsRefused}) {
    const absl::StatusOr<JwkSet<std::string>> set =
        Read(Set(R"({"kid":"a","x":"1"},{"x":"1"},{"x":"2"},{"kid":"a","x":"1"},{"x":"1"})"), same_id);
    EXPECT_THAT(KeysOf(set), ElementsAre("a=1", "-=1", "-=2"));
    EXPECT_THAT(set->refused, IsEmpty());
  }
}

TEST(JwkSetTest, RefusesASetThatExceedsTheLimits) {
  std::string keys = R"({"x":"0"})";
  for (size_t i = 1; i < kMaxKeys; ++i) absl::StrAppend(&keys, R"(,{"x":")", i, "\"}");
  EXPECT_EQ(Read(Set(keys))->keys.size(), kMaxKeys);
  EXPECT_THAT(KeysOf(Read(Set(keys + ",7"))), ElementsAre("the key set has too many keys"));
  std::string json = Set(R"({"x":"1"})");
  json.resize(kMaxKeySetBytes, ' ');
  EXPECT_THAT(KeysOf(Read(json)), ElementsAre("-=1"));
  EXPECT_THAT(KeysOf(Read(json + " ")), ElementsAre("the key set is too large"));
}

TEST(JwkSetTest, RefusesASetWithoutAUsableKey) {
  EXPECT_THAT(KeysOf(Read("{}")), ElementsAre("the key set has no list of keys"));
  EXPECT_THAT(KeysOf(Read(R"({"keys":{}})")), ElementsAre("the key set has no list of keys"));
  EXPECT_THAT(KeysOf(Read(Set(""))), ElementsAre("the key set has no key that can be used"));
  EXPECT_THAT(KeysOf(Read(Set("7,8"))), ElementsAre("the key set has no key that can be used; key 0: not an object"));
  EXPECT_FALSE(Read("[]").ok());
  EXPECT_FALSE(Read("").ok());
}

TEST(JwkSetTest, ReadsTheOperationsOfAKey) {
  using Operations = JsonWebKey::Operations;
  const auto operations_of = [](absl::string_view member) {
    Operations operations = Operations::kNotGiven;
    const auto make = [&](const JsonWebKey& jwk) -> absl::StatusOr<std::string> {
      operations = jwk.operations;
      return "";
    };
    EXPECT_TRUE(ReadJwkSet<std::string>(Set(absl::StrCat("{", member, "}")), {}, SameId::kSetIsRefused, make).ok());
    return operations;
  };
  EXPECT_EQ(operations_of(""), Operations::kNotGiven);
  EXPECT_EQ(operations_of(R"("key_ops":["sign","verify"])"), Operations::kWithVerify);
  EXPECT_EQ(operations_of(R"("key_ops":[])"), Operations::kWithoutVerify);
  EXPECT_EQ(operations_of(R"("key_ops":["sign",1])"), Operations::kWithoutVerify);
  EXPECT_EQ(operations_of(R"("key_ops":"verify")"), Operations::kMalformed);
}

TEST(JwkSetTest, RecognizesAPrivateKey) {
  int private_keys = 0;
  const auto make = [&](const JsonWebKey& jwk) -> absl::StatusOr<std::string> {
    private_keys += jwk.is_private ? 1 : 0;
    return "";
  };
  const std::string json = Set(R"({"d":"1"},{"k":null},{"e":"1"})");
  EXPECT_TRUE(ReadJwkSet<std::string>(json, {}, SameId::kSetIsRefused, make).ok());
  EXPECT_EQ(private_keys, 2);
}

}  // namespace
}  // namespace stampgate
