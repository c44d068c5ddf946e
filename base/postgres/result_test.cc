#include "base/postgres/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

// Returns a result with one row of these values, of which an absent one is NULL.
PostgresResult RowOf(const std::vector<std::optional<std::string>>& values) {
  PGresult* result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  std::vector<PGresAttDesc> columns(values.size());
  std::string name = "column";
  for (PGresAttDesc& column : columns) column = {name.data(), 0, 0, /*format=*/1, 0, 0, 0};
  PQsetResultAttrs(result, static_cast<int>(columns.size()), columns.data());
  for (size_t i = 0; i < values.size(); ++i) {
    std::optional<std::string> value = values[i];
    PQsetvalue(result, 0, static_cast<int>(i), value ? value->data() : nullptr,
               value ? static_cast<int>(value->size()) : -1);
  }
  return PostgresResult(result);
}

TEST(PostgresResultTest, NumbersHaveTheSignOfTheirType) {
  const PostgresResult row = RowOf({Bytes({0, 0, 0, 0, 0, 0, 1, 2}), Bytes({255, 255, 255, 254}), Bytes({128, 0}),
                                    Bytes({127, 255}), Bytes({1}), Bytes({0})});
  EXPECT_EQ(row.rows(), 1);
  EXPECT_EQ(row.Number(0, 0), 258);
  EXPECT_EQ(row.Number(0, 1), -2);
  EXPECT_EQ(row.Number(0, 2), -32768);
  EXPECT_EQ(row.Number(0, 3), 32767);
  EXPECT_EQ(row.Number(0, 4), 1) << "true";
  EXPECT_EQ(row.Number(0, 5), 0) << "false";
}

TEST(PostgresResultTest, NullIsZeroOrEmpty) {
  const PostgresResult row = RowOf({std::nullopt, std::string()});
  EXPECT_TRUE(row.IsNull(0, 0));
  EXPECT_FALSE(row.IsNull(0, 1));
  EXPECT_EQ(row.Number(0, 0), 0);
  EXPECT_EQ(row.Bytes(0, 0), "");
  EXPECT_THAT(row.Numbers(0, 0), IsEmpty());
}

TEST(PostgresResultTest, BytesCanContainZeros) { EXPECT_EQ(RowOf({Bytes({0, 1, 0})}).Bytes(0, 0), Bytes({0, 1, 0})); }

TEST(PostgresResultTest, ReadsArraysOfNumbers) {
  const PostgresResult row = RowOf({Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 3, 0,   0,  0, 1,  //
                                           0, 0, 0, 2, 0, 1, 0, 0, 0, 2, 0, 2,  0, 0, 0, 2, 255, 255}),
                                    Bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 21})});
  EXPECT_THAT(row.Numbers(0, 0), ElementsAre(1, 2, -1));
  EXPECT_THAT(row.Numbers(0, 1), IsEmpty());
}

TEST(PostgresResultTest, AnArrayThatIsCutEndsEarlier) {
  const PostgresResult row =
      RowOf({Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 9, 0})});
  EXPECT_THAT(row.Numbers(0, 0), ElementsAre(1));
}

}  // namespace
}  // namespace stampgate
