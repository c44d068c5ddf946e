#include "gateway/config/settings/nearest_name.h"

#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

const std::vector<absl::string_view> kNames = {"GetPolicy", "GetPolicies", "ListUsers", "a"};

TEST(NearestNameTest, FindsTheNameThatNeedsTheFewestChanges) {
  EXPECT_EQ(NearestName("GetPolicy", kNames), "GetPolicy");
  EXPECT_EQ(NearestName("GetPolcy", kNames), "GetPolicy");
  EXPECT_EQ(NearestName("GetPolicie", kNames), "GetPolicies");
  EXPECT_EQ(NearestName("/ListUser", kNames), "ListUsers");
  EXPECT_EQ(NearestName("LisstUssers", kNames), "ListUsers");
}

TEST(NearestNameTest, UpperAndLowerCaseCountAsEqual) { EXPECT_EQ(NearestName("LISTusers", kNames), "ListUsers"); }

TEST(NearestNameTest, FindsNothingIfMoreThanThreeChangesAreNeeded) {
  EXPECT_EQ(NearestName("LitUxrx", kNames), "");
  EXPECT_EQ(NearestName("CreateUsers", kNames), "");
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("GetPolicy", {}), "");
}

TEST(NearestNameTest, FindsNothingIfMoreThanHalfTheTextWouldChange) {
  EXPECT_EQ(NearestName("b", kNames), "");
  EXPECT_EQ(NearestName("ab", kNames), "a");
  EXPECT_EQ(NearestName("bc", kNames), "");
}

TEST(NearestNameTest, AHugeTextTakesNoLongerThanAShortOne) {
  EXPECT_EQ(NearestName(std::string(1 << 20, 'x'), kNames), "");
}

}  // namespace
}  // namespace stampgate
