#include "translate/activity_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using testing::MessageOf;
using testing::ValueAt;

constexpr char kSubmit[] = "stampgate.v1.CreatePoliciesResponse";
constexpr char kQuery[] = "stampgate.v1.GetPolicyResponse";
constexpr char kGeneral[] = "stampgate.v1.SubmitOperationResponse";

// Returns the summary of a response of the type `type`.
ActivitySummary Of(const std::string& type, const std::string& text_proto) {
  const auto response = MessageOf(type, text_proto);
  return SummaryOf(testing::PlanOf(*response), response->SerializeAsString());
}

// Returns the summary of a response that is the JSON text `answer`.
ActivitySummary OfText(const std::string& answer) {
  return Of(kGeneral, absl::StrCat("answer: '", absl::CEscape(answer), "'"));
}

// Returns the response of the type `type` that ResponseOf makes.
std::unique_ptr<google::protobuf::Message> ResponseWith(const std::string& type, const ActivitySummary& summary) {
  return testing::MessageIn(type, ResponseOf(testing::PlanOf(*testing::NewMessage(type)), summary));
}

TEST(ActivitySummaryTest, ReturnsTheIdAndTheStatusOfTheActivity) {
  const ActivitySummary summary = Of(kSubmit, "activity {id: 'a-1' status: ACTIVITY_STATUS_CONSENSUS_NEEDED}");
  EXPECT_EQ(summary.id, "a-1");
  EXPECT_EQ(summary.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
}

TEST(ActivitySummaryTest, AResponseWithoutAnActivityHasAnEmptySummary) {
  EXPECT_EQ(Of(kSubmit, "").id, "");
  EXPECT_EQ(Of(kSubmit, "").status, "");
  EXPECT_EQ(Of(kQuery, "policy {policy_id: 'p'}").id, "");
}

// If upstream returns a status that the enum does not list, the reader leaves the field unset and stores the status in
// `unrecognized`.
TEST(ActivitySummaryTest, TheStatusIsEmptyIfItIsNotSet) { EXPECT_EQ(Of(kSubmit, "activity {id: 'a-1'}").status, ""); }

TEST(ActivitySummaryTest, ReadsTheSummaryFromAResponseThatIsJsonText) {
  const ActivitySummary summary = OfText(
      R"({"id":"x","activity":{"id":"a-\u0031","status":"ACTIVITY_STATUS_PENDING","result":{"id":"r"}},"status":"s"})");
  EXPECT_EQ(summary.id, "a-1");
  EXPECT_EQ(summary.status, "ACTIVITY_STATUS_PENDING");
}

TEST(ActivitySummaryTest, ATextWithoutAnActivityHasAnEmptySummary) {
  for (const char* answer : {"", "{}", "{", R"({"id":"x","status":"s"})", R"({"activity":"x"})", R"({"activity":null})",
                             R"({"activity":[{"id":"x"}]})", R"({"activity":{"id":7,"status":{}}})"}) {
    EXPECT_EQ(OfText(answer).id, "") << answer;
    EXPECT_EQ(OfText(answer).status, "") << answer;
  }
}

TEST(ActivitySummaryTest, AResponseOfASummaryContainsOnlyTheSummary) {
  const ActivitySummary summary = {"a-\"1", "ACTIVITY_STATUS_REJECTED"};
  const auto expected = MessageOf(kSubmit, "activity {id: 'a-\"1' status: ACTIVITY_STATUS_REJECTED}");
  EXPECT_EQ(ResponseOf(testing::PlanOf(*expected), summary), expected->SerializeAsString());
  const auto text = ResponseWith(kGeneral, summary);
  EXPECT_EQ(ValueAt(*text, "answer"), R"({"activity":{"id":"a-\"1","status":"ACTIVITY_STATUS_REJECTED"}})");
  EXPECT_EQ(OfText(ValueAt(*text, "answer")).id, summary.id);
  EXPECT_EQ(OfText(ValueAt(*text, "answer")).status, summary.status);
}

TEST(ActivitySummaryTest, AResponseOfASummaryOmitsAStatusThatTheEnumDoesNotList) {
  const auto response = ResponseWith(kSubmit, {"a-1", "ACTIVITY_STATUS_OF_NEXT_YEAR"});
  EXPECT_EQ(ValueAt(*response, "activity.id"), "a-1");
  EXPECT_EQ(ValueAt(*response, "activity.status"), "ACTIVITY_STATUS_UNSPECIFIED");
}

}  // namespace
}  // namespace stampgate
