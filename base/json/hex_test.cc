#include "base/json/hex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stampgate {
namespace {

using testing::Eq;
using testing::Optional;

TEST(DecodeHexTest, ReadsTwoDigitsForEachByte) {
  EXPECT_THAT(DecodeHex("00ff7f"), Optional(Eq(std::string("\x00\xff\x7f", 3))));
  EXPECT_THAT(DecodeHex("aBCdeF"), Optional(Eq("\xab\xcd\xef")));
  EXPECT_THAT(DecodeHex(""), Optional(Eq("")));
}

TEST(DecodeHexTest, RefusesEverythingElse) {
  for (const char* text : {"0", "000", "0g", "g0", "0x00", " 00", "00 ", "0\n", "-1", "\xef\xbc\x90", "00\xff\xff"}) {
    EXPECT_EQ(DecodeHex(text), std::nullopt) << text;
  }
  EXPECT_EQ(DecodeHex(absl::string_view("0\0", 2)), std::nullopt);
}

}  // namespace
}  // namespace stampgate
