#include "stamp/request_body.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

TEST(RequestBodyTest, ComputesTheDigestAndTheFingerprintOfEveryVector) {
  for (const StampVector& vector : StampVectors()) {
    const RequestBody body(vector.body);
    EXPECT_EQ(body.bytes(), vector.body);
    EXPECT_EQ(body.HexDigest(), vector.body_sha256) << vector.id;
    EXPECT_EQ(body.Fingerprint(), absl::StrCat("sha256:", vector.body_sha256)) << vector.id;
    EXPECT_EQ(FingerprintOf(body.sha256()), body.Fingerprint());
  }
}

TEST(RequestBodyTest, TheFingerprintChangesWithOneByte) {
  EXPECT_NE(RequestBody("{}").Fingerprint(), RequestBody("{} ").Fingerprint());
}

// Uses the body and the challenge of the vector "webauthn-hello", which upstream's own client library made.
TEST(RequestBodyTest, TheHexDigestIsTheChallengeThatUpstreamsClientLibraryGivesToAPasskey) {
  EXPECT_EQ(RequestBody(R"({"hello":"world"})").HexDigest(),
            "93a23971a914e5eacbf0a8d25154cda309c3c1c72fbb9914d47c60f3cb681588");
}

TEST(RequestBodyTest, TakeBytesReturnsTheBytes) {
  RequestBody body("{\"a\":1}");
  EXPECT_EQ(std::move(body).TakeBytes(), "{\"a\":1}");
}

}  // namespace
}  // namespace stampgate
