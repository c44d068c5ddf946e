#include "translate/response_translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "translate/answer_size.h"
#include "translate/message/reader.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::Details;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::HasValueAt;
using ::stampgate::testing::MapIn;
using ::stampgate::testing::NewMessage;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::Status Translate(absl::string_view method, UpstreamOutcome outcome, Message& response) {
  const Operation& operation = OperationOf(method);
  const ParsedMessage request(*operation.request);
  SentCall call{operation, request, 1755500000000, "sha256:0123"};
  const absl::StatusOr<TranslatedResponse> translated = TranslateOutcome(std::move(outcome), call);
  if (!translated.ok()) return translated.status();
  EXPECT_TRUE(response.ParseFromString(translated->bytes));
  EXPECT_EQ(translated->size, translated->bytes.size());
  return absl::OkStatus();
}

HttpAnswer Ok(std::string body) {
  HttpAnswer answer;
  answer.status = 200;
  answer.body = std::move(body);
  return answer;
}

TEST(ResponseTranslatorTest, AResponseThatClientsRejectIsOnlyCounted) {
  // Each unknown member needs its JSON Pointer, so the message is several times as large as the JSON.
  std::string body = R"({"activity":{"id":"a","status":"ACTIVITY_STATUS_COMPLETED","intent":{)"
                     R"("createPoliciesIntent":{)";
  for (int i = 0; body.size() < (1 << 20); ++i) absl::StrAppend(&body, i == 0 ? "" : ",", "\"", i, "\":0");
  body += "}}}}";
  const Operation& operation = OperationOf("CreatePolicies");
  const ParsedMessage request(*operation.request);
  const absl::StatusOr<TranslatedResponse> response =
      TranslateOutcome(Ok(body), SentCall{operation, request, 1755500000000, "sha256:0123"});
  ASSERT_THAT(response, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(response->bytes, "");
  EXPECT_GT(response->size, kMaxAnswerBytes);
  EXPECT_EQ(response->activity.id, "a");
  EXPECT_EQ(response->activity.status, "ACTIVITY_STATUS_COMPLETED");
  // The size is that of the whole message.
  std::string json = body;
  EXPECT_EQ(ReadJsonMessage(json, *operation.response).value().size(), response->size);
}

TEST(ResponseTranslatorTest, AResponseThatContainsItsActivityIsOk) {
  const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
  EXPECT_THAT(
      Translate("CreatePolicies", Ok(R"({"activity":{"id":"a","status":"ACTIVITY_STATUS_COMPLETED"}})"), *response),
      StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*response, "activity.id"), "a");
}

TEST(ResponseTranslatorTest, AResponseWithAnyListedStatusIsOkAndContainsTheStatus) {
  for (const char* status :
       {"ACTIVITY_STATUS_CREATED", "ACTIVITY_STATUS_PENDING", "ACTIVITY_STATUS_COMPLETED", "ACTIVITY_STATUS_FAILED",
        "ACTIVITY_STATUS_CONSENSUS_NEEDED", "ACTIVITY_STATUS_REJECTED", "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED"}) {
    for (const char* result :
         {"", ",\"result\":null", ",\"result\":{}", ",\"result\":{\"createPoliciesResult\":{\"policyIds\":[\"p\"]}}"}) {
      const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
      EXPECT_THAT(Translate("CreatePolicies",
                            Ok(absl::StrCat("{\"activity\":{\"status\":\"", status, "\"", result, "}}")), *response),
                  StatusIs(absl::StatusCode::kOk));
      EXPECT_EQ(ValueAt(*response, "activity.status"), status);
    }
  }
}

TEST(ResponseTranslatorTest, AResponseWithAFailedActivityIsOkAndContainsTheFailure) {
  const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
  EXPECT_THAT(Translate("CreatePolicies",
                        Ok(R"({"activity":{"status":"ACTIVITY_STATUS_FAILED","failure":{"code":9,"message":"no"}}})"),
                        *response),
              StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*response, "activity.failure.code"), "9");
  EXPECT_EQ(ValueAt(*response, "activity.failure.message"), "no");
}

TEST(ResponseTranslatorTest, AResponseWithAnUnlistedStatusIsOkAndContainsTheStatus) {
  const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
  EXPECT_THAT(Translate("CreatePolicies", Ok(R"({"activity":{"status":"ACTIVITY_STATUS_NEW"}})"), *response),
              StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*response, "activity.status"), "ACTIVITY_STATUS_UNSPECIFIED");
  EXPECT_EQ(MapIn(*response, "unrecognized").at("/activity/status"), "\"ACTIVITY_STATUS_NEW\"");
}

TEST(ResponseTranslatorTest, AResponseMayLackAList) {
  const auto response = NewMessage("stampgate.v1.ListWalletAccountsResponse");
  EXPECT_THAT(Translate("ListWalletAccounts", Ok("{}"), *response), StatusIs(absl::StatusCode::kOk));
}

TEST(ResponseTranslatorTest, JsonTextIsReadWhateverItsContentType) {
  HttpAnswer answer = Ok(R"({"policy":{"policyId":"p"}})");
  const auto response = NewMessage("stampgate.v1.GetPolicyResponse");
  EXPECT_THAT(Translate("GetPolicy", answer, *response), StatusIs(absl::StatusCode::kOk));
}

TEST(ResponseTranslatorTest, TheResponseOfAGeneralOperationMayBeAnyObject) {
  const auto response = NewMessage("stampgate.v1.SubmitOperationResponse");
  EXPECT_THAT(Translate("SubmitOperation", Ok(R"({"activity": {}})"), *response), StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*response, "answer"), R"({"activity": {}})");
}

// With HTTP status 200, each of these bodies is an invalid response both to the submit and to the query of these tests.
// A response to that query must contain a policy.
constexpr const char* kUnreadable[] = {
    "",
    " ",
    "<!DOCTYPE html><html><body>Sign in</body></html>",
    "OK",
    "null",
    "true",
    "[]",
    R"([{"activity":{},"policy":{}}])",
    "{",
    R"({"activity":{"id":"a")",
    R"({"policy":{"policyId":"p")",
    R"({"activity":{},"policy":{}} trailing)",
    R"({"activity":{},"policy":{},"activity":{},"policy":{}})",
    "{\"activity\":{\"id\":\"\xff\"},\"policy\":{\"policyId\":\"\xff\"}}",
    "{}",
    R"({"activity":null,"policy":null})",
    R"({"activity":[],"policy":[]})",
    R"({"activity":"a","policy":"p"})",
    R"({"Activity":{},"Policy":{}})",
    R"({"data":{"activity":{},"policy":{}}})",
};

TEST(ResponseTranslatorTest, TheOutcomeOfASubmitWithAnUnreadableResponseIsUnknown) {
  for (const char* body : kUnreadable) {
    SCOPED_TRACE(body);
    const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
    const absl::Status status = Translate("CreatePolicies", Ok(body), *response);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnknown, StartsWith("upstream's response is unreadable: ")));
    const Details details = DetailsOf(status);
    EXPECT_EQ(details.domain, "stampgate");
    EXPECT_EQ(details.reason, "OUTCOME_UNKNOWN");
    EXPECT_EQ(details.metadata.at("timestamp_ms"), "1755500000000");
    EXPECT_EQ(details.metadata.at("fingerprint"), "sha256:0123");
    EXPECT_EQ(details.retry_delay, std::nullopt);
    EXPECT_EQ(response->ByteSizeLong(), 0u);
  }
}

TEST(ResponseTranslatorTest, AnUnreadableResponseToAQueryIsAnInternalError) {
  for (const char* body : kUnreadable) {
    SCOPED_TRACE(body);
    const auto response = NewMessage("stampgate.v1.GetPolicyResponse");
    const absl::Status status = Translate("GetPolicy", Ok(body), *response);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, StartsWith("upstream's response is unreadable: ")));
    EXPECT_EQ(DetailsOf(status).domain, "stampgate");
    EXPECT_EQ(DetailsOf(status).reason, "UPSTREAM_ANSWER_UNREADABLE");
    EXPECT_EQ(response->ByteSizeLong(), 0u);
  }
}

TEST(ResponseTranslatorTest, AnErrorNamesTheMissingMemberAndQuotesNothing) {
  const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
  EXPECT_THAT(
      Translate("CreatePolicies", Ok(R"({"token":"hush-hush"})"), *response),
      StatusIs(absl::StatusCode::kUnknown, ::testing::AllOf(HasSubstr("it has no activity"), Not(HasSubstr("hush")))));
  EXPECT_THAT(Translate("CreatePolicies", Ok("hush-hush"), *response),
              StatusIs(absl::StatusCode::kUnknown, Not(HasSubstr("hush"))));
}

TEST(ResponseTranslatorTest, AnyHttpStatusExcept2xxIsAnErrorWhateverTheBody) {
  HttpAnswer answer = Ok(R"({"policy":{"policyId":"p"}})");
  answer.status = 404;
  const auto response = NewMessage("stampgate.v1.GetPolicyResponse");
  EXPECT_THAT(Translate("GetPolicy", answer, *response), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(HasValueAt(*response, "policy"));
  answer.status = 300;
  EXPECT_THAT(Translate("GetPolicy", answer, *response), StatusIs(absl::StatusCode::kInternal));
  answer.status = 199;
  EXPECT_THAT(Translate("GetPolicy", answer, *response), StatusIs(absl::StatusCode::kInternal));
}

TEST(ResponseTranslatorTest, ACompleteResponseWithAny2xxStatusIsOk) {
  for (int http = 200; http < 300; ++http) {
    SCOPED_TRACE(http);
    HttpAnswer answer = Ok(R"({"policy":{"policyId":"p"},"activity":{"id":"a"}})");
    answer.status = http;
    const auto policy = NewMessage("stampgate.v1.GetPolicyResponse");
    EXPECT_THAT(Translate("GetPolicy", answer, *policy), StatusIs(absl::StatusCode::kOk));
    EXPECT_EQ(ValueAt(*policy, "policy.policy_id"), "p");
    const auto activity = NewMessage("stampgate.v1.CreatePoliciesResponse");
    EXPECT_THAT(Translate("CreatePolicies", answer, *activity), StatusIs(absl::StatusCode::kOk));
    EXPECT_EQ(ValueAt(*activity, "activity.id"), "a");
    for (const char* body : {"", "{", "{}"}) {
      answer.body = body;
      const Details unknown = DetailsOf(Translate("CreatePolicies", answer, *activity));
      EXPECT_EQ(unknown.reason, "OUTCOME_UNKNOWN") << body;
      const Details unreadable = DetailsOf(Translate("GetPolicy", answer, *policy));
      EXPECT_EQ(unreadable.reason, "UPSTREAM_ANSWER_UNREADABLE") << body;
      for (const Details& details : {unknown, unreadable}) {
        EXPECT_EQ(details.metadata.count("http_status"), http == 200 ? 0u : 1u);
      }
    }
  }
}

TEST(ResponseTranslatorTest, AResponseMayContainAMemberNameThatIsNotUnicode) {
  const std::string body = R"({"activity":{"id":"a"},"\ud800":1})";
  const auto response = NewMessage("stampgate.v1.CreatePoliciesResponse");
  EXPECT_THAT(Translate("CreatePolicies", Ok(body), *response), StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*response, "activity.id"), "a");
  EXPECT_EQ(MapIn(*response, "unrecognized").at(""), body);
  const auto general = NewMessage("stampgate.v1.SubmitOperationResponse");
  EXPECT_THAT(Translate("SubmitOperation", Ok(body), *general), StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ValueAt(*general, "answer"), body);
}

TEST(ResponseTranslatorTest, AnExchangeWithoutAResponseIsAnError) {
  const auto response = NewMessage("stampgate.v1.GetPolicyResponse");
  EXPECT_THAT(Translate("GetPolicy", TransportFailure{TransportFailure::Cause::kTimeout, true, ""}, *response),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

}  // namespace
}  // namespace stampgate
