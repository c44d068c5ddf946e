#include "translate/operation_set/activity_type.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(ActivityTypeTest, OnlyAVersionAtTheEndIsRemoved) {
  EXPECT_EQ(WithoutVersion("ACTIVITY_TYPE_VERIFY_OTP_V2"), "ACTIVITY_TYPE_VERIFY_OTP");
  EXPECT_EQ(WithoutVersion("ACTIVITY_TYPE_VERIFY_OTP_V12"), "ACTIVITY_TYPE_VERIFY_OTP");
  for (const char* type : {"ACTIVITY_TYPE_VERIFY_OTP", "ACTIVITY_TYPE_OAUTH2", "ACTIVITY_TYPE_V", "TYPE_V2_SIGN", ""}) {
    EXPECT_EQ(WithoutVersion(type), type);
  }
}

}  // namespace
}  // namespace stampgate
