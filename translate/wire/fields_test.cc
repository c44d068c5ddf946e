#include "translate/wire/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "translate/wire/writer.h"

namespace stampgate {
namespace {

std::string Message() {
  WireWriter writer;
  writer.String(1, "first");
  writer.Varint(2, 300);
  writer.String(3, "");
  writer.String(1, "second");
  writer.Varint(2, 7);
  return writer.Take();
}

TEST(WireFieldsTest, ReturnTheLastValueOfAField) {
  const std::string message = Message();
  EXPECT_EQ(FindBytes(message, 1), "second");
  EXPECT_EQ(FindBytes(message, 3), "");
  EXPECT_EQ(FindVarint(message, 2), 7u);
}

TEST(WireFieldsTest, ForEachBytesReturnsEveryValueInItsOrder) {
  std::vector<std::string> values;
  ForEachBytes(Message(), 1, [&](absl::string_view value) { values.emplace_back(value); });
  EXPECT_THAT(values, ::testing::ElementsAre("first", "second"));
}

TEST(WireFieldsTest, ReturnNothingForAnAbsentFieldOrAnotherType) {
  const std::string message = Message();
  EXPECT_EQ(FindBytes(message, 2), std::nullopt);
  EXPECT_EQ(FindBytes(message, 4), std::nullopt);
  EXPECT_EQ(FindVarint(message, 1), std::nullopt);
  EXPECT_EQ(FindVarint("", 1), std::nullopt);
}

}  // namespace
}  // namespace stampgate
