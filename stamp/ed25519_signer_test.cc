#include "stamp/ed25519_signer.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/hex.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

std::shared_ptr<const Signer> MakeFrom(absl::string_view seed_hex) {
  return MakeEd25519Signer(ParseKeyText(absl::StrCat(seed_hex, ":ed25519")).value()).value();
}

// Uses the examples of RFC 8032, section 7.1: tests 1, 2 and 3.
TEST(Ed25519SignerTest, ReturnsTheSignaturesThatRfc8032Publishes) {
  struct {
    const char *seed, *public_key, *body, *signature;
  } const cases[] = {
      {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe2"
       "465"
       "5141438e7a100b"},
      {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
       "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302ae"
       "eb0"
       "0d291612bb0c00"},
      {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28"
       "dc0"
       "27beceea1ec40a"},
  };
  for (const auto& expected : cases) {
    std::shared_ptr<const Signer> signer = MakeFrom(expected.seed);
    EXPECT_EQ(signer->public_key_hex(), expected.public_key);
    EXPECT_EQ(SignNow(*signer, DecodeHex(expected.body).value()), expected.signature);
  }
}

TEST(Ed25519SignerTest, ReturnsTheSignatureOfEveryVector) {
  int seen = 0;
  for (const StampVector& vector : StampVectors()) {
    if (vector.curve != Curve::kEd25519) continue;
    std::shared_ptr<const Signer> signer = MakeEd25519Signer(ParseKeyText(vector.key_texts[0]).value()).value();
    EXPECT_EQ(SignNow(*signer, vector.body), vector.signature) << vector.id;
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

TEST(Ed25519SignerTest, SignsOnManyThreads) {
  std::shared_ptr<const Signer> signer = MakeFrom("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const std::string expected = SignNow(*signer, "{}");
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) threads.emplace_back([&] { same += SignNow(*signer, "{}") == expected; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 32);
}

TEST(Ed25519SignerTest, RefusesAKeyOfAnotherCurve) {
  PrivateKey key = ParseKeyText("cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739").value();
  EXPECT_EQ(MakeEd25519Signer(key).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stampgate
