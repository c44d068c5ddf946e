#include "translate/answer_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "translate/error.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::Details;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

SentCall Call(const char* method) {
  const Operation& operation = OperationOf(method);
  static const auto& none = *new ParsedMessage(*operation.request);
  return {operation, none, operation.is_submit() ? 1755500000000u : 0u, operation.is_submit() ? "sha256:0123" : ""};
}

TEST(AnswerSizeTest, TheLimitIsBelowTheLimitOfClientLibraries) {
  EXPECT_EQ(kMaxAnswerBytes, 4128768u);  // the comments of error_reason.proto state this number
  EXPECT_LT(kMaxAnswerBytes, 4u << 20);
}

TEST(AnswerSizeTest, TheErrorOfASubmitIdentifiesTheActivity) {
  const absl::Status status =
      AnswerTooLarge(Call("CreatePolicies"), {.id = "act-1", .status = "ACTIVITY_STATUS_COMPLETED"}, 5000000);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("the call was carried out")));
  const Details details = DetailsOf(status);
  EXPECT_EQ(details.domain, "stampgate");
  EXPECT_EQ(details.reason, "ANSWER_TOO_LARGE");
  EXPECT_EQ(details.retry_delay, std::nullopt);
  EXPECT_THAT(details.metadata,
              ElementsAre(Pair("activity_id", "act-1"), Pair("activity_status", "ACTIVITY_STATUS_COMPLETED"),
                          Pair("answer_bytes", "5000000"), Pair("fingerprint", "sha256:0123"),
                          Pair("max_answer_bytes", "4128768"), Pair("timestamp_ms", "1755500000000")));
}

TEST(AnswerSizeTest, TheErrorOfAGeneralSubmitIdentifiesTheActivity) {
  const SentCall call = Call("SubmitOperation");
  const auto response =
      testing::MessageOf("stampgate.v1.SubmitOperationResponse",
                         R"pb(answer: '{"activity":{"id":"act-2","status":"ACTIVITY_STATUS_PENDING"}}')pb");
  const ActivitySummary activity = SummaryOf(*call.operation.response, response->SerializeAsString());
  const Details details = DetailsOf(AnswerTooLarge(call, activity, 5000000));
  EXPECT_EQ(details.metadata.at("activity_id"), "act-2");
  EXPECT_EQ(details.metadata.at("activity_status"), "ACTIVITY_STATUS_PENDING");
}

TEST(AnswerSizeTest, TheErrorOfASubmitWithoutAnActivityNamesNone) {
  const Details details = DetailsOf(AnswerTooLarge(Call("SubmitOperation"), {}, 5000000));
  EXPECT_EQ(details.metadata.count("activity_id"), 0u);
  EXPECT_EQ(details.metadata.count("activity_status"), 0u);
}

TEST(AnswerSizeTest, TheErrorOfAQueryStatesTheSizes) {
  const absl::Status status = AnswerTooLarge(Call("GetPolicy"), {}, 5000000);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange,
                               "the call was carried out, but the response is too large: 5000000 bytes, but "
                               "clients accept 4128768; request less data"));
  EXPECT_EQ(DetailsOf(status).reason, "ANSWER_TOO_LARGE");
  EXPECT_THAT(DetailsOf(status).metadata,
              ElementsAre(Pair("answer_bytes", "5000000"), Pair("max_answer_bytes", "4128768")));
}

}  // namespace
}  // namespace stampgate
