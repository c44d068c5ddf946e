#include "translate/request_translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/rendering.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::CheckAndRender;
using ::stampgate::testing::CheckAndRenderUnstamped;
using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

absl::StatusOr<RenderedRequest> Translate(absl::string_view method, const std::string& text_proto) {
  const Operation& operation = OperationOf(method);
  return CheckAndRender(operation, *RequestOf(operation, text_proto));
}

TEST(RequestTranslatorTest, TheBodyOfASubmitHasTheTypeTheTimestampAndTheFields) {
  auto rendered = Translate("CreatePolicies", R"pb(
    generate_app_proofs: false
    parameters { policies { policy_name: "a" effect: EFFECT_ALLOW notes: "" } }
    organization_id: "o"
  )pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/submit/create_policies");
  EXPECT_EQ(rendered->timestamp_ms, std::nullopt);
  EXPECT_EQ(rendered->SubmitBody(1755500000000),
            R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":"1755500000000","organizationId":"o",)"
            R"("parameters":{"policies":[{"policyName":"a","effect":"EFFECT_ALLOW","notes":""}]},)"
            R"("generateAppProofs":false})");
}

TEST(RequestTranslatorTest, ATimestampThatTheCallerChoseIsOnceInTheBody) {
  auto rendered = Translate("DeleteSubOrganization", R"pb(timestamp_ms: 18446744073709551615
                                                          organization_id: "o"
                                                          parameters {})pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->timestamp_ms, 18446744073709551615u);
  EXPECT_EQ(rendered->SubmitBody(*rendered->timestamp_ms),
            R"({"type":"ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION","timestampMs":"18446744073709551615",)"
            R"("organizationId":"o","parameters":{}})");
}

TEST(RequestTranslatorTest, ATimestampOfZeroCountsAsChosen) {
  auto rendered = Translate("DeleteSubOrganization", R"pb(timestamp_ms: 0
                                                          organization_id: "o"
                                                          parameters {})pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->timestamp_ms, 0u);
}

TEST(RequestTranslatorTest, AnIdempotencyKeyIsNotInTheBody) {
  auto rendered = Translate("DeleteSubOrganization", R"pb(organization_id: "o"
                                                          parameters {}
                                                          idempotency_key: "k-1")pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->idempotency_key, "k-1");
  EXPECT_EQ(rendered->SubmitBody(5), R"({"type":"ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION","timestampMs":"5",)"
                                     R"("organizationId":"o","parameters":{}})");
}

TEST(RequestTranslatorTest, TheBodyOfAQueryHasOnlyTheFieldsOfTheRequest) {
  auto rendered = Translate("ListWalletAccounts", R"pb(organization_id: "o"
                                                       include_wallet_details: false
                                                       pagination_options { limit: 1 })pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/query/list_wallet_accounts");
  EXPECT_EQ(rendered->QueryBody(),
            R"({"organizationId":"o","includeWalletDetails":false,"paginationOptions":{"limit":"1"}})");
}

TEST(RequestTranslatorTest, ADiscoveryHasNoOrganization) {
  auto rendered = Translate("GetWebhookKeySet", "");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/discovery/webhooks/jwks");
}

TEST(RequestTranslatorTest, TheBodyOfAGeneralSubmitHasTheTypeThatTheCallerChose) {
  auto rendered = Translate("SubmitOperation", R"pb(
    organization_id: "o"
    path: "brew_tea"
    activity_type: "ACTIVITY_TYPE_BREW_TEA_V3"
    parameters: " {\"cups\": 6.0, \"kind\":\"a\\u0062\"} "
    generate_app_proofs: true
  )pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/submit/brew_tea");
  EXPECT_EQ(rendered->SubmitBody(5), R"({"timestampMs":"5","organizationId":"o",)"
                                     R"("parameters":{"cups": 6.0, "kind":"a\u0062"},)"
                                     R"("generateAppProofs":true,"type":"ACTIVITY_TYPE_BREW_TEA_V3"})");
}

TEST(RequestTranslatorTest, TheParametersOfAGeneralQueryAreWrittenBesideTheOtherFields) {
  auto rendered =
      Translate("QueryOperation", R"pb(organization_id: "o" path: "list_teapots" parameters: "{\"filter\":[1e2]}")pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/query/list_teapots");
  EXPECT_EQ(rendered->QueryBody(), R"({"organizationId":"o","filter":[1e2]})");

  rendered = Translate("QueryOperation", R"pb(organization_id: "o" path: "find_teapot")pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->QueryBody(), R"({"organizationId":"o"})");
}

TEST(RequestTranslatorTest, ACarriedRequestIsSentInTheSpellingOfTheCaller) {
  auto rendered = Translate("SubmitOperation", R"pb(
    organization_id: "o"
    path: "create_wallet"
    activity_type: "ACTIVITY_TYPE_CREATE_WALLET"
    parameters: " {\"accounts\":[], \"walletName\":\"\\u0077\"} "
  )pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, "/public/v1/submit/create_wallet");
  EXPECT_EQ(rendered->SubmitBody(5),
            R"({"timestampMs":"5","organizationId":"o","parameters":{"accounts":[], "walletName":"\u0077"},)"
            R"("type":"ACTIVITY_TYPE_CREATE_WALLET"})");
}

TEST(RequestTranslatorTest, ACarriedRequestMustSatisfyTheRulesOfItsOwnMethod) {
  using Found = std::vector<std::pair<std::string, std::string>>;
  const auto check = [](const char* method, absl::string_view path, absl::string_view type,
                        absl::string_view parameters) {
    std::string text = absl::StrCat("organization_id: 'o' path: '", path, "' parameters: '", parameters, "'");
    if (!type.empty()) absl::StrAppend(&text, " activity_type: '", type, "'");
    return Found(DetailsOf(Translate(method, text).status()).violations);
  };
  constexpr char kHold[] = "must not have a value that the request's fields cannot hold exactly: ";
  constexpr char kCreate[] = "ACTIVITY_TYPE_CREATE_WALLET";
  EXPECT_THAT(check("SubmitOperation", "create_wallet", kCreate, R"({"accounts":[]})"),
              ElementsAre(Pair("parameters.wallet_name", "is required")));
  EXPECT_THAT(
      check("SubmitOperation", "create_wallet", kCreate, R"({"walletName":"w"})"),
      ElementsAre(Pair("parameters", "must have the list, map or text, which may be empty: /parameters/accounts")));
  EXPECT_THAT(check("SubmitOperation", "create_wallet", kCreate, R"({"walletName":"w","accounts":[],"colour":1})"),
              ElementsAre(Pair("parameters", absl::StrCat(kHold, "/parameters/colour"))));
  EXPECT_THAT(check("QueryOperation", "get_wallet", "", R"({})"), ElementsAre(Pair("wallet_id", "is required")));
  EXPECT_THAT(check("QueryOperation", "get_wallet", "", R"({"walletId":"w","colour":1})"),
              ElementsAre(Pair("parameters", absl::StrCat(kHold, "/colour"))));
}

TEST(RequestTranslatorTest, ACarriedRequestNeedsTheStampThatItsOwnMethodNeeds) {
  constexpr char kSession[] = R"pb(
    organization_id: "o"
    path: "create_read_only_session"
    activity_type: "ACTIVITY_TYPE_CREATE_READ_ONLY_SESSION"
    parameters: "{}"
  )pb";
  EXPECT_THAT(DetailsOf(Translate("SubmitOperation", kSession).status()).violations,
              ElementsAre(Pair("client_stamp", "is required: upstream acts for the party that stamps this")));
}

TEST(RequestTranslatorTest, AnErrorListsAllViolations) {
  absl::Status status = Translate("CreatePolicies", R"pb(parameters { policies { effect: 77 } })pb").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               Eq("the request is not valid: organization_id is required")));
  EXPECT_EQ(DetailsOf(status).domain, "stampgate");
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_THAT(DetailsOf(status).violations,
              ::testing::ElementsAre(
                  Pair("organization_id", "is required"), Pair("parameters.policies[0].policy_name", "is required"),
                  Pair("parameters.policies[0].effect", "must be one of the listed values, not number 77"),
                  Pair("parameters.policies[0].notes", "is required (it may be empty, but must be set)")));
}

TEST(RequestTranslatorTest, TheRulesOfGeneralOperationsAreChecked) {
  absl::Status status = Translate("QueryOperation", R"pb(organization_id: "o" path: "get_policy")pb").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DetailsOf(status).violations,
              Contains(Pair("path", HasSubstr("an operation that has a method of its own"))));
}

TEST(RequestTranslatorTest, AnErrorQuotesNoValue) {
  absl::Status status = Translate("SubmitOperation", R"pb(organization_id: "hush"
                                                          path: "hush/hush"
                                                          activity_type: "hush"
                                                          parameters: "{\"a\":hush}")pb")
                            .status();
  EXPECT_THAT(DetailsOf(status).violations, SizeIs(3));
  EXPECT_THAT(status.ToString(), Not(HasSubstr("hush")));
}

TEST(RequestTranslatorTest, TheSameMessageGivesTheSameBytes) {
  for (const Operation& operation : Operations().operations()) {
    SCOPED_TRACE(operation.full_name);
    std::unique_ptr<Message> request = testing::NewRequest(operation);
    testing::FillFully(*request, *operation.request);
    std::unique_ptr<Message> copy(request->New());
    ASSERT_TRUE(copy->ParseFromString(request->SerializeAsString()));

    auto first = CheckAndRenderUnstamped(operation, *request);
    auto second = CheckAndRenderUnstamped(operation, *copy);

    ASSERT_THAT(first, StatusIs(absl::StatusCode::kOk));
    ASSERT_THAT(second, StatusIs(absl::StatusCode::kOk));
    const std::string body = operation.is_submit() ? first->SubmitBody(1) : first->QueryBody();
    EXPECT_EQ(operation.is_submit() ? second->SubmitBody(1) : second->QueryBody(), body);
    // JsonOf fails the test unless the body is strict JSON without duplicate members.
    (void)testing::JsonOf(body);
  }
}

TEST(RequestTranslatorTest, BodiesForTwoTimestampsDifferOnlyInTheTimestamp) {
  auto rendered = Translate("Oauth", R"pb(organization_id: "o"
                                          parameters { oidc_token: "t" target_public_key: "k" })pb");
  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  const std::string body = rendered->SubmitBody(1);
  EXPECT_EQ(rendered->members, "");
  rendered->TakeBack(body, 1);
  testing::Json first = testing::JsonOf(body);
  testing::Json second = testing::JsonOf(rendered->SubmitBody(2));
  EXPECT_EQ(first.members.at("timestampMs").text, "1");
  EXPECT_EQ(second.members.at("timestampMs").text, "2");
  second.members["timestampMs"] = first.members["timestampMs"];
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace stampgate
