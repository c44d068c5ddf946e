#include "stamp/webauthn_challenge.h"

#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

TEST(WebAuthnChallengeTest, IsTheDigestOfEveryVectorsBody) {
  for (const StampVector& vector : StampVectors()) {
    EXPECT_EQ(WebAuthnChallenge(vector.body), vector.body_sha256) << vector.id;
  }
}

// The vector "webauthn-hello": the challenge that upstream's own package passed to an authenticator.
TEST(WebAuthnChallengeTest, EqualsTheChallengeOfUpstreamsPackage) {
  EXPECT_EQ(WebAuthnChallenge(R"({"hello":"world"})"),
            "93a23971a914e5eacbf0a8d25154cda309c3c1c72fbb9914d47c60f3cb681588");
}

}  // namespace
}  // namespace stampgate
