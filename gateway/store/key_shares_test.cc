#include "gateway/store/key_shares.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

TEST(KeySharesTest, ACallerAloneMayHaveAllKeys) {
  KeyShares shares;
  EXPECT_FALSE(shares.HasShare("a", 10));
  shares.Add("a", 9);
  EXPECT_FALSE(shares.HasShare("a", 10));
  shares.Add("a", 1);
  EXPECT_TRUE(shares.HasShare("a", 10));
}

TEST(KeySharesTest, BesideOthersACallerMayHaveItsShare) {
  KeyShares shares;
  shares.Add("a", 10);
  EXPECT_FALSE(shares.HasShare("b", 10));
  shares.Add("b", 4);
  EXPECT_FALSE(shares.HasShare("b", 10));
  shares.Add("b", 1);
  EXPECT_TRUE(shares.HasShare("b", 10));
  EXPECT_TRUE(shares.HasShare("a", 10));
  // When the keys of one have expired, the other may have all again.
  shares.Add("a", -10);
  EXPECT_FALSE(shares.HasShare("b", 10));
}

// Each caller comes when the others have taken what they can.
TEST(KeySharesTest, AllCallersTogetherHaveABound) {
  constexpr int64_t kMax = 10'000;
  KeyShares shares;
  int64_t all = 0;
  double bound = 0;
  for (int n = 1; n <= 50; ++n) {
    const std::string caller = absl::StrCat("caller-", n);
    int64_t own = 0;
    for (; !shares.HasShare(caller, kMax); ++own) shares.Add(caller, 1);
    EXPECT_GT(own, 0);
    all += own;
    bound += 1.0 / n;
    EXPECT_LE(static_cast<double>(all), bound * kMax + n);
  }
}

}  // namespace
}  // namespace stampgate
