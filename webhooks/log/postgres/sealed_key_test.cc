#include "webhooks/log/postgres/sealed_key.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "absl/strings/match.h"

namespace stampgate {
namespace {

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

std::array<uint8_t, 32> Key() {
  std::array<uint8_t, 32> key;
  std::iota(key.begin(), key.end(), uint8_t{1});
  return key;
}

SecretBytes StoreKey(uint8_t byte) {
  SecretBytes key = *SecretBytes::Create(32);
  key.data()[31] = byte;
  return key;
}

TEST(SealedKeyTest, OpensWithTheKeyThatSealedIt) {
  const SecretBytes store_key = StoreKey(1);
  const std::array<uint8_t, 32> key = Key();
  const std::string sealed = SealKey(key, store_key);
  EXPECT_EQ(OpenSealedKey(sealed, store_key).value(), key);
  EXPECT_FALSE(absl::StrContains(sealed, std::string(key.begin(), key.end())));
}

TEST(SealedKeyTest, SealsDifferentlyEachTime) {
  const SecretBytes store_key = StoreKey(1);
  EXPECT_NE(SealKey(Key(), store_key), SealKey(Key(), store_key));
}

TEST(SealedKeyTest, AnotherKeyIsRefused) {
  const absl::Status status = OpenSealedKey(SealKey(Key(), StoreKey(1)), StoreKey(2)).status();
  EXPECT_EQ(status.code(), kRefused);
  EXPECT_TRUE(absl::StrContains(status.message(), "key file"));
}

TEST(SealedKeyTest, ChangedBytesAreRefused) {
  const SecretBytes store_key = StoreKey(1);
  const std::string sealed = SealKey(Key(), store_key);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(OpenSealedKey(changed, store_key).status().code(), kRefused) << i;
  }
  for (const std::string& text : {std::string(), sealed.substr(1), sealed + "x"}) {
    EXPECT_EQ(OpenSealedKey(text, store_key).status().code(), kRefused) << text.size();
  }
}

}  // namespace
}  // namespace stampgate
