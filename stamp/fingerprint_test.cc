#include "stamp/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

TEST(FingerprintTest, IsTheDigestOfEveryVectorsBody) {
  for (const StampVector& vector : StampVectors()) {
    EXPECT_EQ(Fingerprint(vector.body), absl::StrCat("sha256:", vector.body_sha256)) << vector.id;
  }
}

TEST(FingerprintTest, ChangesWithOneByte) { EXPECT_NE(Fingerprint("{}"), Fingerprint("{} ")); }

}  // namespace
}  // namespace stampgate
