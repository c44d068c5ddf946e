#include "translate/activity_summary.h"

#include <gtest/gtest.h>

#include "stampgate/v1/general_service.pb.h"
#include "stampgate/v1/policy_service.pb.h"

namespace stampgate {
namespace {

class ActivitySummaryTest : public testing::Test {
 protected:
  template <typename Response>
  ActivitySummary Of(const Response& response) {
    return SummaryOf(**plans_.Compile(Response::descriptor()), response.SerializeAsString());
  }

  MessagePlans plans_{"Service"};
};

TEST_F(ActivitySummaryTest, ReturnsTheIdAndTheStatusOfTheActivity) {
  v1::CreatePoliciesResponse response;
  response.mutable_activity()->set_id("a-1");
  response.mutable_activity()->set_status(v1::ACTIVITY_STATUS_CONSENSUS_NEEDED);
  EXPECT_EQ(Of(response).id, "a-1");
  EXPECT_EQ(Of(response).status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
}

TEST_F(ActivitySummaryTest, AResponseWithoutAnActivityHasAnEmptySummary) {
  EXPECT_EQ(Of(v1::CreatePoliciesResponse()).id, "");
  EXPECT_EQ(Of(v1::CreatePoliciesResponse()).status, "");
  v1::GetPolicyResponse query;
  query.mutable_policy()->set_policy_id("p");
  EXPECT_EQ(Of(query).id, "");
}

// If upstream returns a status that the enum does not list, the reader leaves the field unset and stores the status in
// `unrecognized`.
TEST_F(ActivitySummaryTest, TheStatusIsEmptyIfItIsNotSet) {
  v1::CreatePoliciesResponse response;
  response.mutable_activity()->set_id("a-1");
  EXPECT_EQ(Of(response).status, "");
}

TEST_F(ActivitySummaryTest, ReadsTheSummaryFromAResponseThatIsJsonText) {
  v1::SubmitOperationResponse response;
  response.set_answer(
      R"({"id":"x","activity":{"id":"a-\u0031","status":"ACTIVITY_STATUS_PENDING","result":{"id":"r"}},"status":"s"})");
  EXPECT_EQ(Of(response).id, "a-1");
  EXPECT_EQ(Of(response).status, "ACTIVITY_STATUS_PENDING");
}

TEST_F(ActivitySummaryTest, ATextWithoutAnActivityHasAnEmptySummary) {
  for (const char* answer : {"", "{}", "{", R"({"id":"x","status":"s"})", R"({"activity":"x"})", R"({"activity":null})",
                             R"({"activity":[{"id":"x"}]})", R"({"activity":{"id":7,"status":{}}})"}) {
    v1::SubmitOperationResponse response;
    response.set_answer(answer);
    EXPECT_EQ(Of(response).id, "") << answer;
    EXPECT_EQ(Of(response).status, "") << answer;
  }
}

TEST_F(ActivitySummaryTest, AResponseOfASummaryContainsOnlyTheSummary) {
  const ActivitySummary summary = {"a-\"1", "ACTIVITY_STATUS_REJECTED"};
  v1::CreatePoliciesResponse expected;
  expected.mutable_activity()->set_id(summary.id);
  expected.mutable_activity()->set_status(v1::ACTIVITY_STATUS_REJECTED);
  EXPECT_EQ(ResponseOf(**plans_.Compile(expected.GetDescriptor()), summary), expected.SerializeAsString());
  v1::SubmitOperationResponse text;
  EXPECT_TRUE(text.ParseFromString(ResponseOf(**plans_.Compile(text.GetDescriptor()), summary)));
  EXPECT_EQ(text.answer(), R"({"activity":{"id":"a-\"1","status":"ACTIVITY_STATUS_REJECTED"}})");
  EXPECT_EQ(Of(text).id, summary.id);
  EXPECT_EQ(Of(text).status, summary.status);
}

TEST_F(ActivitySummaryTest, AResponseOfASummaryOmitsAStatusThatTheEnumDoesNotList) {
  v1::CreatePoliciesResponse response;
  EXPECT_TRUE(response.ParseFromString(
      ResponseOf(**plans_.Compile(response.GetDescriptor()), {"a-1", "ACTIVITY_STATUS_OF_NEXT_YEAR"})));
  EXPECT_EQ(response.activity().id(), "a-1");
  EXPECT_EQ(response.activity().status(), v1::ACTIVITY_STATUS_UNSPECIFIED);
}

}  // namespace
}  // namespace stampgate
