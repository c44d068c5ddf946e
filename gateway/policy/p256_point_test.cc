#include "gateway/policy/p256_point.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr char kX[] = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
constexpr char kY[] = "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";       // odd
constexpr char kMinusY[] = "b01cbd1c01e58065711814b583f061e9d431cca994cea1313449bf97c840ae0a";  // even
// 5 is the x coordinate of a point. kFiveAndPrime is 5 plus the field's prime, which also fits into 32 bytes.
constexpr char kFive[] = "0000000000000000000000000000000000000000000000000000000000000005";
constexpr char kFiveAndPrime[] = "ffffffff00000001000000000000000000000001000000000000000000000004";
constexpr char kFiveY[] = "459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc";

std::string Decoded(absl::string_view hex) {
  return absl::BytesToHexString(DecodeExportKey(hex).value_or(std::string("none")));
}
const std::string& None() {
  static const auto& none = *new std::string(absl::BytesToHexString("none"));
  return none;
}

TEST(ExportKeyTest, EveryFormAndCaseOfAPointIsTheSameKey) {
  const std::string compressed = absl::StrCat("03", kX);
  for (const std::string& hex : {compressed, absl::StrCat("04", kX, kY)}) {
    EXPECT_EQ(Decoded(hex), compressed);
    EXPECT_EQ(Decoded(absl::AsciiStrToUpper(hex)), compressed);
  }
  EXPECT_EQ(Decoded("036B17d1F2e12C4247f8bCe6E563a440F277037d812dEb33a0f4A13945d898C296"), compressed);
}

TEST(ExportKeyTest, APointAndItsNegativeAreTwoKeys) {
  EXPECT_EQ(Decoded(absl::StrCat("02", kX)), absl::StrCat("02", kX));
  EXPECT_EQ(Decoded(absl::StrCat("04", kX, kMinusY)), absl::StrCat("02", kX));
}

TEST(ExportKeyTest, CoordinatesThatAreNotOnTheCurveAreNoKey) {
  EXPECT_EQ(Decoded(absl::StrCat("04", kX, kX)), None());
  EXPECT_EQ(Decoded(absl::StrCat("04", kY, kX)), None());
  std::string flipped = kY;
  flipped.back() = '4';
  EXPECT_EQ(Decoded(absl::StrCat("04", kX, flipped)), None());
  // No point of the curve has the x coordinate 1, 2, 3 or 4.
  for (const char* x : {"1", "2", "3", "4"}) EXPECT_EQ(Decoded(absl::StrCat("02", std::string(63, '0'), x)), None());
}

TEST(ExportKeyTest, ACoordinateAboveThePrimeIsNoKey) {
  EXPECT_EQ(Decoded(absl::StrCat("02", kFive)), absl::StrCat("02", kFive));
  EXPECT_EQ(Decoded(absl::StrCat("04", kFive, kFiveY)), absl::StrCat("02", kFive));
  EXPECT_EQ(Decoded(absl::StrCat("02", kFiveAndPrime)), None());
  EXPECT_EQ(Decoded(absl::StrCat("04", kFiveAndPrime, kFiveY)), None());
}

TEST(ExportKeyTest, ThePointAtInfinityIsNoKey) {
  EXPECT_EQ(Decoded("00"), None());
  EXPECT_EQ(Decoded(std::string(66, '0')), None());
  EXPECT_EQ(Decoded(std::string(130, '0')), None());
  EXPECT_EQ(Decoded(absl::StrCat("04", std::string(128, '0'))), None());
}

TEST(ExportKeyTest, TheHybridFormIsNoKey) {
  for (const char* form : {"06", "07"}) {
    EXPECT_EQ(Decoded(absl::StrCat(form, kX, kY)), None());
    EXPECT_EQ(Decoded(absl::StrCat(form, kX, kMinusY)), None());
    EXPECT_EQ(Decoded(absl::StrCat(form, kX)), None());
  }
}

TEST(ExportKeyTest, AKeyWhoseLengthDoesNotFitItsFormIsNoKey) {
  EXPECT_EQ(Decoded(absl::StrCat("04", kX)), None());
  EXPECT_EQ(Decoded(absl::StrCat("03", kX, kY)), None());
  EXPECT_EQ(Decoded(absl::StrCat("03", kX, "00")), None());
  EXPECT_EQ(Decoded(absl::StrCat("0300", kX)), None());
  EXPECT_EQ(Decoded(absl::StrCat("04", kX, kY, "00")), None());
  for (const char* form : {"01", "05", "08", "0a", "ff"}) {
    EXPECT_EQ(Decoded(absl::StrCat(form, kX)), None()) << form;
    EXPECT_EQ(Decoded(absl::StrCat(form, kX, kY)), None()) << form;
  }
}

TEST(ExportKeyTest, GarbageIsNoKey) {
  const std::string good = absl::StrCat("03", kX);
  for (const std::string& bad :
       {std::string(), std::string("0"), std::string("03"), std::string("04"), good.substr(1), good + "0", "0x" + good,
        " " + good, good + " ", good + "\n", good + std::string(1, '\0'), "g3" + good.substr(2), absl::StrCat("-3", kX),
        absl::StrCat("\uff10\uff13", kX), std::string(66, 'f'), std::string(100000, '0')}) {
    EXPECT_EQ(Decoded(bad), None()) << bad.substr(0, 80);
  }
}

TEST(ExportKeyTest, EveryDecodedKeyIsItsOwnCompressedForm) {
  std::mt19937 random(20240701);
  int decoded = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random() % 4 == 0 ? 65 : 33, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    bytes[0] = static_cast<char>(random() % 8);
    const std::string hex = absl::BytesToHexString(bytes);
    const std::string key = Decoded(hex);
    if (key == None()) continue;
    ++decoded;
    EXPECT_EQ(key, hex);
    EXPECT_EQ(Decoded(key), key);
  }
  // About half of all x coordinates belong to a point of the curve, and two of the eight first bytes are valid. So
  // about one eighth of the compressed texts encode a point.
  EXPECT_GT(decoded, 300);
  EXPECT_LT(decoded, 800);
}

}  // namespace
}  // namespace stampgate
