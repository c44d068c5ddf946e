#include "gateway/grpc_port/header_fields.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json/hex.h"

namespace stampgate {
namespace {

size_t Count(absl::string_view block) { return HeaderFields().Read(block); }

size_t CountHex(absl::string_view hex) {
  const std::optional<std::string> block = DecodeHex(hex);
  EXPECT_TRUE(block.has_value());
  return Count(block.value_or(""));
}

// RFC 7541, appendix C.
TEST(HeaderFieldsTest, CountsTheFieldsOfTheExamples) {
  EXPECT_EQ(CountHex("400a637573746f6d2d6b65790d637573746f6d2d686561646572"), 1u);        // C.2.1
  EXPECT_EQ(CountHex("040c2f73616d706c652f70617468"), 1u);                                // C.2.2
  EXPECT_EQ(CountHex("100870617373776f726406736563726574"), 1u);                          // C.2.3
  EXPECT_EQ(CountHex("82"), 1u);                                                          // C.2.4
  EXPECT_EQ(CountHex("828684410f7777772e6578616d706c652e636f6d"), 4u);                    // C.3.1
  EXPECT_EQ(CountHex("828684be58086e6f2d6361636865"), 5u);                                // C.3.2
  EXPECT_EQ(CountHex("828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565"), 5u);  // C.3.3
  EXPECT_EQ(CountHex("828684418cf1e3c2e5f23a6ba0ab90f4ff"), 4u);                          // C.4.1
  EXPECT_EQ(CountHex("3fe13f82"), 2u);  // a new size of the table, then a field
}

TEST(HeaderFieldsTest, CountsEachReference) { EXPECT_EQ(Count(std::string(12'000, '\xbe')), 12'000u); }

TEST(HeaderFieldsTest, ReadsLongIndexesAndTexts) {
  const std::string text(1000, '\x82');
  // 127 + 873: 0x7f 0xe9 0x06.
  const std::string length = "\x7f\xe9\x06";
  EXPECT_EQ(Count(absl::StrCat("\x40", length, text, length, text, "\x82")), 2u);
  EXPECT_EQ(Count(absl::StrCat("\xff\x80\x01", "\x82")), 2u);                // an index of two bytes
  EXPECT_EQ(Count(absl::StrCat("\x7f\x80\x01", length, text, "\x82")), 2u);  // the same, with a value
  EXPECT_EQ(Count(absl::StrCat("\x0f\x80\x01", length, text, "\x82")), 2u);
  EXPECT_EQ(Count(absl::StrCat("\x40\x01x", std::string(1, '\0'), "\x82")), 2u);  // an empty value
}

TEST(HeaderFieldsTest, TheBytesMayBeDividedAnywhere) {
  std::mt19937 random(7);
  std::string block;
  const std::string zero(1, '\0');
  const std::vector<std::string> fields = {"\x82", "\xff\x80\x01",
                                           "\x41\x03"
                                           "abc",
                                           absl::StrCat("\x40\x01x", zero),
                                           absl::StrCat("\x10\x7f\x01", std::string(128, 'y'), "\x01z")};
  for (int i = 0; i < 500; ++i) block += fields[random() % fields.size()];
  for (int round = 0; round < 100; ++round) {
    HeaderFields counter;
    size_t count = 0;
    for (size_t at = 0; at < block.size();) {
      const size_t part = 1 + random() % (round + 1);
      count += counter.Read(absl::string_view(block).substr(at, part));
      at += part;
    }
    EXPECT_EQ(count, 500u);
  }
}

TEST(HeaderFieldsTest, AnEndlessLengthEndsNothing) {
  HeaderFields counter;
  EXPECT_EQ(counter.Read(absl::StrCat("\x40\x7f", std::string(100'000, '\xff'))), 1u);
  EXPECT_EQ(counter.Read("\x82\x82"), 0u);
}

}  // namespace
}  // namespace stampgate
