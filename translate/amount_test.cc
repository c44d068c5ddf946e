#include "translate/amount.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stampgate {
namespace {

TEST(AmountTest, AcceptsMaxAndDigitsWithoutALeadingZero) {
  for (const std::string& good :
       {std::string("MAX"), std::string("0"), std::string("1"), std::string("9"), std::string("10"),
        std::string("1000000000000000000"), std::string(78, '9'), "1" + std::string(77, '0')}) {
    EXPECT_TRUE(IsAmount(good)) << good;
  }
}

TEST(AmountTest, RejectsEveryOtherText) {
  for (const std::string& bad :
       {std::string(),         std::string("00"),          std::string("01"),        std::string("000"),
        std::string("+1"),     std::string("-1"),          std::string("-0"),        std::string("1.0"),
        std::string("1e5"),    std::string("0x1"),         std::string(" 1"),        std::string("1 "),
        std::string("1\n"),    std::string("1\0", 2),      std::string("\0", 1),     std::string("1,000"),
        std::string("1_000"),  std::string("max"),         std::string("Max"),       std::string("MAX "),
        std::string(" MAX"),   std::string("MAX1"),        std::string("MAX\0", 4),  std::string("MA"),
        std::string("MAXI"),   std::string("\u0661"),      std::string("\uff11"),    std::string("1\u0660"),
        std::string("\u2168"), std::string("\xb9"),        std::string("1\x80"),     std::string(79, '9'),
        std::string(79, '1'),  "0" + std::string(77, '1'), std::string(100000, '1'), std::string("Infinity")}) {
    EXPECT_FALSE(IsAmount(bad)) << bad.substr(0, 90);
  }
}

// Compares IsAmount with a simple, slow implementation of the regular expression MAX|0|[1-9][0-9]{0,77}.
TEST(AmountTest, AgreesWithTheRegularExpression) {
  const auto matches = [](absl::string_view text) {
    if (text == "MAX" || text == "0") return true;
    if (text.empty() || text.size() > 78 || text[0] < '1' || text[0] > '9') return false;
    return text.find_first_not_of("0123456789") == absl::string_view::npos;
  };
  std::mt19937 random(20240702);
  const absl::string_view alphabet = "00123456789 MAX-+.eEx\xC2\xB9";
  int good = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text;
    const size_t size = random() % 4 == 0 ? 70 + random() % 12 : random() % 5;
    const size_t letters = random() % 3 == 0 ? alphabet.size() : 11;
    for (size_t i = 0; i < size; ++i) text += alphabet[random() % letters];
    EXPECT_EQ(IsAmount(text), matches(text)) << text;
    good += matches(text);
  }
  EXPECT_GT(good, 5000);
  EXPECT_LT(good, 45000);
}

}  // namespace
}  // namespace stampgate
