#include "gateway/waiting/activity_report.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stampgate {
namespace {

constexpr absl::string_view kMembers = R"("id":"a","organizationId":"o","status":"S")";

TEST(ActivityReportTest, AnEventAndAResponseGiveTheSameReport) {
  const std::string activity = absl::StrCat("{", kMembers, R"(,"result":{"r":{}}})");
  const auto of_event = ReadActivityEvent(activity);
  const auto of_answer = ReadActivityAnswer(absl::StrCat(R"({"activity":)", activity, "}"));
  ASSERT_TRUE(of_event.ok() && of_answer.ok());
  for (const auto* report : {&*of_event, &*of_answer}) {
    EXPECT_EQ(report->activity, ActivityName("o", "a"));
    EXPECT_EQ(report->status, "S");
    EXPECT_TRUE(report->has_result);
  }
  EXPECT_EQ(*of_event->text, *of_answer->text);
}

TEST(ActivityReportTest, AnEmptyResultIsNone) {
  for (const char* result :
       {"", R"(,"result":null)", R"(,"result":{})", R"(,"result":{"r":null})", R"(,"result":[1])"}) {
    const auto report = ReadActivityEvent(absl::StrCat("{", kMembers, result, "}"));
    ASSERT_TRUE(report.ok()) << result;
    EXPECT_FALSE(report->has_result) << result;
  }
}

TEST(ActivityReportTest, ATextThatNamesNoActivityIsAnError) {
  for (const char* body :
       {"", "{", "[]", "{}", R"({"id":"a","organizationId":"o"})", R"({"id":"a","status":"S"})",
        R"({"organizationId":"o","status":"S"})", R"({"id":"","organizationId":"o","status":"S"})",
        R"({"id":1,"organizationId":"o","status":"S"})", R"({"activity":{"id":"a","organizationId":"o","status":"S"}})",
        R"({"id":"a","organizationId":"o","status":"S","status":"T"})",
        // An attempt to close the object around the event, and to add a second activity.
        R"({"id":"a"},"activity":{"id":"a","organizationId":"o","status":"S"})"}) {
    EXPECT_FALSE(ReadActivityEvent(body).ok()) << body;
  }
  EXPECT_FALSE(ReadActivityAnswer(absl::StrCat("{", kMembers, "}")).ok());
  EXPECT_FALSE(ReadActivityAnswer(absl::StrCat(R"({"activity":{)", kMembers, R"(},"activity":{}})")).ok());
}

}  // namespace
}  // namespace stampgate
