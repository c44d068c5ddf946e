#include "base/json/base64.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"

namespace stampgate {
namespace {

struct Row {
  const char* text;
  const char* bytes;
};

TEST(Base64Test, ReadsTheCanonicalText) {
  for (const Row& row : {Row{"", ""}, Row{"Zg==", "f"}, Row{"Zm8=", "fo"}, Row{"Zm9v", "foo"}, Row{"+/8=", "\xfb\xff"},
                         Row{"Zm9vYg==", "foob"}}) {
    const std::optional<Base64> read = ReadBase64(row.text);
    ASSERT_TRUE(read.has_value()) << row.text;
    EXPECT_EQ(read->bytes, row.bytes);
    EXPECT_TRUE(read->canonical) << row.text;
  }
}

TEST(Base64Test, ReadsOtherSpellingsOfTheSameBytes) {
  for (const Row& row : {Row{"Zg", "f"}, Row{"Zg=", "f"}, Row{"Zm8", "fo"}, Row{"Zm8==", "fo"}, Row{"Zm9v=", "foo"},
                         Row{"=", ""}, Row{"-_8=", "\xfb\xff"}, Row{"-_8", "\xfb\xff"}, Row{"+_8=", "\xfb\xff"}}) {
    const std::optional<Base64> read = ReadBase64(row.text);
    ASSERT_TRUE(read.has_value()) << row.text;
    EXPECT_EQ(read->bytes, row.bytes);
    EXPECT_FALSE(read->canonical) << row.text;
  }
}

TEST(Base64Test, RejectsTextThatIsNotBase64) {
  for (const char* text : {"Z", "Z===", "Zg===", "Zh==", "Zm9", "Zm9v\n", " Zm9v", "Zm 9v",
                           "Zg==Zg==", "=Zg=", "Zm8\xff", "Zm9.", "\xc3\xa4"}) {
    EXPECT_FALSE(ReadBase64(text).has_value()) << text;
  }
  EXPECT_FALSE(ReadBase64(std::string("Zm9v\0", 5)).has_value());
}

TEST(Base64Test, EveryByteIsUnchangedAfterItIsWrittenAndRead) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
    const std::optional<Base64> read = ReadBase64(absl::Base64Escape(bytes));
    ASSERT_TRUE(read.has_value()) << byte;
    EXPECT_EQ(read->bytes, bytes);
    EXPECT_TRUE(read->canonical);
  }
}

}  // namespace
}  // namespace stampgate
