#include "translate/operation_set/date.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(DateTest, ADayOfTheCalendarIsADate) {
  for (const char* date : {"2026-09-22", "2024-02-29", "2026-12-31", "2026-01-01"}) EXPECT_TRUE(IsDate(date)) << date;
}

TEST(DateTest, AnyOtherTextIsNoDate) {
  for (const char* text :
       {"",           "2026",        "2026-09",     "2026-9-22",  "2026-09-2",  "2026-02-29",          "2026-02-30",
        "2026-04-31", "2026-13-01",  "2026-00-01",  "2026-01-00", "2026-01-32", "22-09-2026",          "2026/09/22",
        "20260922",   "2026-09-22 ", " 2026-09-22", " 2026-9-22", "2026-9-22 ", "2026-09-22T00:00:00", "+026-09-22",
        "-026-09-22", "12026-09-2",  "yyyy-mm-dd",  "2026-09-0x"}) {
    EXPECT_FALSE(IsDate(text)) << text;
  }
}

}  // namespace
}  // namespace stampgate
