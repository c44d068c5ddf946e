#include "stamp/private_key.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/json/hex.h"
#include "gtest/gtest.h"

namespace stampgate {
namespace {

PrivateKey MakeKey(Curve curve, absl::string_view hex) {
  const std::string bytes = DecodeHex(hex).value();
  SecretBytes scalar = SecretBytes::Create(bytes.size()).value();
  std::copy(bytes.begin(), bytes.end(), scalar.data());
  return {curve, std::move(scalar)};
}

constexpr char kOne[] = "0000000000000000000000000000000000000000000000000000000000000001";
constexpr char kZero[] = "0000000000000000000000000000000000000000000000000000000000000000";

struct Order {
  Curve curve;
  const char* below;
  const char* order;
  const char* above;
  const char* generator;  // the public key of scalar 1
  const char* negated;    // the public key of scalar n - 1
};

const Order kOrders[] = {
    {Curve::kP256, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550",
     "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
     "026b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"},
    {Curve::kSecp256k1, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
     "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
     "0379be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"},
};

TEST(PrivateKeyTest, DerivesThePublicKeysOfTheSmallestAndTheLargestScalar) {
  for (const Order& order : kOrders) {
    EXPECT_EQ(DerivePublicKey(MakeKey(order.curve, kOne)).value().Hex(), order.generator);
    EXPECT_EQ(DerivePublicKey(MakeKey(order.curve, order.below)).value().Hex(), order.negated);
  }
}

// Uses the key of RFC 8032, section 7.1, test 1.
TEST(PrivateKeyTest, DerivesTheEd25519KeyThatRfc8032Publishes) {
  PublicKey key =
      DerivePublicKey(MakeKey(Curve::kEd25519, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
          .value();
  EXPECT_EQ(key.Hex(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(key.uncompressed, "");
}

TEST(PrivateKeyTest, RefusesScalarsOutOfRange) {
  for (const Order& order : kOrders) {
    for (const char* hex : {kZero, order.order, order.above}) {
      EXPECT_EQ(DerivePublicKey(MakeKey(order.curve, hex)).status().code(), absl::StatusCode::kInvalidArgument) << hex;
    }
  }
  EXPECT_EQ(DerivePublicKey(MakeKey(Curve::kEd25519, kZero)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PrivateKeyTest, RejectsScalarsOfOtherLengths) {
  for (Curve curve : kCurves) {
    EXPECT_EQ(DerivePublicKey(MakeKey(curve, "01")).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(DerivePublicKey(MakeKey(curve, std::string(66, '1'))).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(PrivateKeyTest, APublicKeyMatchesOnlyItsOwnTwoForms) {
  PublicKey key = DerivePublicKey(MakeKey(Curve::kP256, kOne)).value();
  EXPECT_TRUE(key.Matches(key.encoded));
  EXPECT_TRUE(key.Matches(key.uncompressed));
  EXPECT_FALSE(key.Matches(""));
  EXPECT_FALSE(key.Matches(DecodeHex(kOrders[0].negated).value()));
  EXPECT_FALSE(DerivePublicKey(MakeKey(Curve::kEd25519, kOne)).value().Matches(""));
}

}  // namespace
}  // namespace stampgate
