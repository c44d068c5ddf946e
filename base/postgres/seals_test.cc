#include "base/postgres/seals.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "absl/strings/escaping.h"

namespace stampgate {
namespace {

Seals SealsOf(uint8_t key, absl::string_view purpose) {
  std::array<uint8_t, 32> bytes;
  bytes.fill(key);
  return Seals(bytes.data(), purpose);
}

// Made by another program: HMAC-SHA-256 of the SHA-256 of "content" under the HMAC-SHA-256 of "purpose" under 32
// bytes 2.
TEST(SealsTest, ASealIsAnHmac) {
  EXPECT_EQ(absl::BytesToHexString(SealsOf(2, "purpose").Make("content")),
            "279294f3aaf3538b072898e1da22bacccd8b33861eab4670d29bd6cb0f310cc6");
}

TEST(SealsTest, ASealIsValidOnlyForItsKeyItsPurposeAndItsContent) {
  const Seals seals = SealsOf(2, "purpose");
  const std::string seal = seals.Make("content");
  EXPECT_TRUE(seals.IsValid(seal, "content"));
  EXPECT_TRUE(SealsOf(2, "purpose").IsValid(seal, "content"));
  EXPECT_FALSE(seals.IsValid(seal, "Content"));
  EXPECT_FALSE(seals.IsValid(seal, ""));
  EXPECT_FALSE(SealsOf(3, "purpose").IsValid(seal, "content"));
  EXPECT_FALSE(SealsOf(2, "purposes").IsValid(seal, "content"));
  for (const std::string& other : {std::string(), seal.substr(1), seal + "x", std::string(32, '\0')}) {
    EXPECT_FALSE(seals.IsValid(other, "content"));
  }
  for (size_t i = 0; i < seal.size(); ++i) {
    std::string changed = seal;
    changed[i] ^= 1;
    EXPECT_FALSE(seals.IsValid(changed, "content"));
  }
}

}  // namespace
}  // namespace stampgate
