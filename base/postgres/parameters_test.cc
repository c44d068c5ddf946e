#include "base/postgres/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace stampgate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNull;

std::string ValueOf(const PostgresParameters& parameters, size_t index) {
  const PostgresParameters::Arguments arguments = parameters.arguments();
  return {arguments.values.at(index), static_cast<size_t>(arguments.lengths.at(index))};
}

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(PostgresParametersTest, EachParameterHasItsTypeInBinaryFormat) {
  PostgresParameters parameters;
  parameters.Bool(true).Bigint(7).Text("text").Bytes("bytes").Bigints({1}).ByteArrays({"a"});
  const PostgresParameters::Arguments arguments = parameters.arguments();
  EXPECT_THAT(arguments.types, ElementsAre(16, 20, 25, 17, 1016, 1001));
  EXPECT_THAT(arguments.formats, Each(1));
  EXPECT_THAT(arguments.lengths, ElementsAre(1, 8, 4, 5, 32, 25));
}

TEST(PostgresParametersTest, NumbersAreBigEndian) {
  PostgresParameters parameters;
  parameters.Bigint(0x0102030405060708).Bigint(-2).Bigint(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ValueOf(parameters, 0), Bytes({1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ValueOf(parameters, 1), Bytes({255, 255, 255, 255, 255, 255, 255, 254}));
  EXPECT_EQ(ValueOf(parameters, 2), Bytes({128, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(PostgresParametersTest, OnlyAnAbsentNumberIsNull) {
  PostgresParameters parameters;
  parameters.Bigint(std::nullopt).Text("").Bytes("");
  const PostgresParameters::Arguments arguments = parameters.arguments();
  EXPECT_THAT(arguments.values[0], IsNull());
  EXPECT_NE(arguments.values[1], nullptr) << "an empty text is not NULL";
  EXPECT_NE(arguments.values[2], nullptr);
}

TEST(PostgresParametersTest, AnArrayHasASizeBeforeEachElement) {
  PostgresParameters parameters;
  parameters.ByteArrays({"", Bytes({0, 9})}).Bigints({});
  EXPECT_EQ(ValueOf(parameters, 0), Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1,  //
                                           0, 0, 0, 0,                                                   //
                                           0, 0, 0, 2, 0, 9}));
  EXPECT_EQ(ValueOf(parameters, 1), Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace stampgate
