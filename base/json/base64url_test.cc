#include "base/json/base64url.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace stampgate {
namespace {

TEST(Base64UrlTest, ReturnsTheEncodedBytes) {
  EXPECT_EQ(DecodeBase64Url(""), "");
  EXPECT_EQ(DecodeBase64Url("Zg"), "f");
  EXPECT_EQ(DecodeBase64Url("Zm8"), "fo");
  EXPECT_EQ(DecodeBase64Url("Zm9v"), "foo");
  EXPECT_EQ(DecodeBase64Url("-_8"), "\xfb\xff");
}

TEST(Base64UrlTest, AcceptsOnlyTheCanonicalTextOfSomeBytes) {
  for (const char* text :
       {"Zg==", "Zg=", "Zh", "Zm9", "Zm9v\n", " Zm9v", "Zm 9v", "+/8", "Z", "Zm9vZ", "Zm8\xff", "\xc3\xa4"}) {
    EXPECT_EQ(DecodeBase64Url(text), std::nullopt) << text;
  }
  EXPECT_EQ(DecodeBase64Url(std::string("Zm9v\0", 5)), std::nullopt);
}

// Replaces one digit by every possible byte. Only digits of the alphabet are accepted, and encoding the decoded bytes
// returns the text.
TEST(Base64UrlTest, RejectsBytesOutsideTheAlphabet) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string text = "AAAA";
    text[1] = static_cast<char>(byte);
    const bool digit = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '_';
    const auto bytes = DecodeBase64Url(text);
    EXPECT_EQ(bytes.has_value(), digit) << byte;
    EXPECT_EQ(absl::WebSafeBase64Escape(bytes.value_or("")), digit ? text : "");
  }
}

}  // namespace
}  // namespace stampgate
