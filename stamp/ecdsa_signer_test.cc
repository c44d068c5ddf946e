#include "stamp/ecdsa_signer.h"

#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

constexpr char kHexKey[] = "cf9c72915ea8bf71d8993d21d2dac3474508567ae98952cee6390556cdd0b739";

class EcdsaSignerTest : public testing::TestWithParam<Curve> {
 protected:
  const PrivateKey key_ = ParseKeyText(absl::StrCat(kHexKey, ":", CurveName(GetParam()))).value();
  const std::shared_ptr<const Signer> signer_ = MakeEcdsaSigner(key_).value();
};

INSTANTIATE_TEST_SUITE_P(Curves, EcdsaSignerTest, testing::Values(Curve::kP256, Curve::kSecp256k1),
                         [](const auto& info) { return std::string(CurveName(info.param)); });

TEST_P(EcdsaSignerTest, ReturnsItsPublicKeyAndScheme) {
  EXPECT_EQ(signer_->public_key_hex(), DerivePublicKey(key_).value().Hex());
  EXPECT_EQ(signer_->public_key_hex().size(), 66u);
  EXPECT_EQ(signer_->scheme(), StampScheme(GetParam()));
}

TEST_P(EcdsaSignerTest, SignsBodiesOfEverySize) {
  std::string body;
  for (size_t size : {0, 1, 55, 56, 63, 64, 65, 1000, 1 << 20}) {
    body.resize(size, 'x');
    EXPECT_TRUE(Verifies(GetParam(), signer_->public_key_hex(), body, SignNow(*signer_, body))) << size;
  }
}

TEST_P(EcdsaSignerTest, ReturnsLowerCaseHexOfDer) {
  for (int i = 0; i < 500; ++i) {
    const std::string signature = SignNow(*signer_, absl::StrCat(i));
    EXPECT_EQ(signature.substr(0, 2), "30");
    EXPECT_LE(signature.size(), 144u);
    EXPECT_EQ(signature.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST_P(EcdsaSignerTest, NeverUsesANonceTwice) {
  std::set<std::string> rs;
  for (int i = 0; i < 500; ++i) rs.insert(SignNow(*signer_, "the same body").substr(8, 64));
  EXPECT_EQ(rs.size(), 500u);
}

// OpenSSL keeps a random generator for each thread in the locked arena. An arena of 64 KiB was full after 256 threads
// had signed.
TEST_P(EcdsaSignerTest, FourHundredThreadsThatLiveAtTheSameTimeCanSign) {
  constexpr int kThreads = 400;
  std::latch all_signed(kThreads);
  std::atomic<int> genuine = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string body = absl::StrCat("{\"i\":", i, "}");
      genuine += Verifies(GetParam(), signer_->public_key_hex(), body, SignNow(*signer_, body));
      all_signed.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(genuine, kThreads);
}

TEST(EcdsaSignerErrorTest, RefusesAnEd25519Key) {
  PrivateKey key = ParseKeyText(absl::StrCat(kHexKey, ":ed25519")).value();
  EXPECT_EQ(MakeEcdsaSigner(key).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EcdsaSignerErrorTest, RefusesAScalarOutOfRange) {
  PrivateKey key{Curve::kP256, SecretBytes::Create(kScalarBytes).value()};
  EXPECT_EQ(MakeEcdsaSigner(key).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stampgate
