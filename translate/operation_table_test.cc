#include "translate/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::stampgate::testing::Json;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::testing::IsEmpty;
using ::testing::NotNull;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

constexpr auto kSubmit = v1::OPERATION_KIND_SUBMIT;
constexpr auto kQuery = v1::OPERATION_KIND_QUERY;
constexpr auto kLogin = v1::POLICY_CLASS_LOGIN;
constexpr auto kWrite = v1::POLICY_CLASS_WRITE;
constexpr auto kDangerous = v1::POLICY_CLASS_DANGEROUS;
constexpr auto kRead = v1::POLICY_CLASS_QUERY;

struct Row {
  const char* method;
  v1::OperationKind kind;
  const char* path;
  const char* type;
  v1::PolicyClass policy_class;
  bool general = false;
};

// The operations as the specification defines them.
const Row kRows[] = {
    {"ActivityService/GetActivity", kQuery, "query/get_activity", "", kDangerous},
    {"ActivityService/ListActivities", kQuery, "query/list_activities", "", kDangerous},
    {"ActivityService/ApproveActivity", kSubmit, "submit/approve_activity", "ACTIVITY_TYPE_APPROVE_ACTIVITY",
     kDangerous},
    {"ActivityService/RejectActivity", kSubmit, "submit/reject_activity", "ACTIVITY_TYPE_REJECT_ACTIVITY", kDangerous},
    {"AuthenticationService/Oauth2Authenticate", kSubmit, "submit/oauth2_authenticate",
     "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE", kLogin},
    {"AuthenticationService/Oauth", kSubmit, "submit/oauth", "ACTIVITY_TYPE_OAUTH", kLogin},
    {"AuthenticationService/CreateSessionProfile", kSubmit, "submit/create_session_profile",
     "ACTIVITY_TYPE_CREATE_SESSION_PROFILE", kWrite},
    {"AuthenticationService/StampLogin", kSubmit, "submit/stamp_login", "ACTIVITY_TYPE_STAMP_LOGIN", kLogin},
    {"AuthenticationService/VerifyOtp", kSubmit, "submit/verify_otp", "ACTIVITY_TYPE_VERIFY_OTP_V2", kLogin},
    {"AuthenticationService/CreateOauth2Credential", kSubmit, "submit/create_oauth2_credential",
     "ACTIVITY_TYPE_CREATE_OAUTH2_CREDENTIAL", kDangerous},
    {"EarnService/EarnWithdraw", kSubmit, "submit/earn_withdraw", "ACTIVITY_TYPE_EARN_WITHDRAW", kDangerous},
    {"GeneralService/SubmitOperation", kSubmit, "submit/", "", kDangerous, /*general=*/true},
    {"GeneralService/QueryOperation", kQuery, "query/", "", kDangerous, /*general=*/true},
    {"OrganizationService/DeleteSubOrganization", kSubmit, "submit/delete_sub_organization",
     "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION", kDangerous},
    {"OrganizationService/UpdateOrganizationName", kSubmit, "submit/update_organization_name",
     "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME", kWrite},
    {"PolicyService/CreatePolicies", kSubmit, "submit/create_policies", "ACTIVITY_TYPE_CREATE_POLICIES", kDangerous},
    {"PolicyService/GetPolicy", kQuery, "query/get_policy", "", kRead},
    {"SmartContractService/CreateSmartContractInterface", kSubmit, "submit/create_smart_contract_interface",
     "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE", kWrite},
    {"UserService/CreateOauthProviders", kSubmit, "submit/create_oauth_providers",
     "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2", kDangerous},
    {"UserService/DeleteOauthProviders", kSubmit, "submit/delete_oauth_providers",
     "ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS", kDangerous},
    {"UserService/DeleteApiKeys", kSubmit, "submit/delete_api_keys", "ACTIVITY_TYPE_DELETE_API_KEYS", kDangerous},
    {"UserService/UpdateMfaPolicy", kSubmit, "submit/update_mfa_policy", "ACTIVITY_TYPE_UPDATE_MFA_POLICY", kDangerous},
    {"UserService/GetAuthenticators", kQuery, "query/get_authenticators", "", kRead},
    {"UserService/GetMfaPolicies", kQuery, "query/get_mfa_policies", "", kRead},
    {"WalletService/ExportWalletAccount", kSubmit, "submit/export_wallet_account",
     "ACTIVITY_TYPE_EXPORT_WALLET_ACCOUNT", kDangerous},
    {"WalletService/ListWalletAccounts", kQuery, "query/list_wallet_accounts", "", kRead},
    {"WalletService/GetWalletAccount", kQuery, "query/get_wallet_account", "", kRead},
    {"WebhookService/DeleteWebhookEndpoint", kSubmit, "submit/delete_webhook_endpoint",
     "ACTIVITY_TYPE_DELETE_WEBHOOK_ENDPOINT", kDangerous},
    {"WebhookService/GetWebhookKeySet", v1::OPERATION_KIND_DISCOVERY, "discovery/webhooks/jwks", "", kRead},
};

std::string Line(absl::string_view full_name, v1::OperationKind kind, absl::string_view path, absl::string_view type,
                 v1::PolicyClass policy_class, bool general) {
  return absl::StrCat(full_name, " ", v1::OperationKind_Name(kind), " ", path, " ", type, " ",
                      v1::PolicyClass_Name(policy_class), general ? " general" : "");
}

bool IsSpecified(const Operation& operation) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&operation](const Row& row) {
    return operation.full_name == absl::StrCat("/stampgate.v1.", row.method);
  });
}

std::string SegmentOf(const Operation& operation) { return operation.path.substr(operation.path.rfind('/') + 1); }

// Returns the schema of upstream's operations, which tests/simulator/schema/README.md describes. It does not come from
// the source of the protos.
const Json& Schema() {
  static const auto& schema = *new Json([] {
    std::ifstream file("tests/simulator/schema/schema.json");
    std::stringstream text;
    text << file.rdbuf();
    return testing::JsonOf(text.str());
  }());
  return schema;
}

// Returns the operation's entry in the schema, or null if it has none.
const Json* SchemaOf(const Operation& operation) {
  const auto& operations = Schema().members.at("operations").members;
  const auto found = operations.find(operation.path);
  return found == operations.end() ? nullptr : &found->second;
}

TEST(OperationTableTest, HasTheSpecifiedOperations) {
  std::vector<std::string> expected;
  for (const Row& row : kRows) {
    expected.push_back(Line(absl::StrCat("/stampgate.v1.", row.method), row.kind, absl::StrCat("/public/v1/", row.path),
                            row.type, row.policy_class, row.general));
  }
  std::vector<std::string> listed;
  for (const Operation& operation : Operations().operations()) {
    if (!IsSpecified(operation)) continue;
    // Those about activities came after 0.1.0: see OnlyTheMethodsOfTheFirstReleaseHaveNoDay.
    EXPECT_NE(operation.since.empty(), absl::StrContains(operation.full_name, "ActivityService"))
        << operation.full_name;
    listed.push_back(Line(operation.full_name, operation.kind, operation.path, operation.activity_type,
                          operation.policy_class, operation.general));
  }
  EXPECT_EQ(listed.size(), 26u + 1 + 2);
  EXPECT_THAT(listed, UnorderedElementsAreArray(expected));
}

TEST(OperationTableTest, TheOtherOperationsAreThoseOfTheSchema) {
  std::set<std::string> missing;
  for (const auto& [path, unused] : Schema().members.at("operations").members) missing.insert(path);
  std::vector<std::string> earlier;  // the activity types of which the schema has a newer version
  for (const Operation& operation : Operations().operations()) {
    missing.erase(operation.path);
    if (IsSpecified(operation)) continue;
    SCOPED_TRACE(operation.full_name);
    const Json* schema = SchemaOf(operation);
    ASSERT_THAT(schema, NotNull());
    EXPECT_EQ(schema->members.at("kind").text, operation.is_submit() ? "submit" : "query");
    EXPECT_FALSE(operation.general);
    if (!operation.is_submit()) {
      EXPECT_EQ(operation.activity_type, "");
      continue;
    }
    const auto& versions = schema->members.at("versions").members;
    EXPECT_TRUE(versions.contains(operation.activity_type)) << operation.activity_type;
    // The types differ only in their versions, which have one digit, so the newest type is the last one.
    if (versions.rbegin()->first != operation.activity_type) earlier.push_back(operation.activity_type);
  }
  EXPECT_THAT(missing, IsEmpty());
  // The crate has newer types that its client does not send.
  EXPECT_THAT(earlier,
              UnorderedElementsAre("ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", "ACTIVITY_TYPE_CREATE_SWAP_QUOTE",
                                   "ACTIVITY_TYPE_EXECUTE_SWAP_V2", "ACTIVITY_TYPE_EXECUTE_SWAP_V3"));
}

// Returns the names of the JSON members of `plan`.
std::vector<std::string> MembersOf(const MessagePlan& plan) {
  std::vector<std::string> members;
  for (const auto& [name, unused] : plan.by_json_name) members.emplace_back(name);
  return members;
}

TEST(OperationTableTest, TheOtherRequestsHaveTheMembersOfTheSchema) {
  const auto& messages = Schema().members.at("messages").members;
  const auto& names = Schema().members.at("names").members;
  for (const Operation& operation : Operations().operations()) {
    if (IsSpecified(operation)) continue;
    SCOPED_TRACE(operation.full_name);
    const Json& schema = *SchemaOf(operation);
    std::string type;
    const MessagePlan* plan = operation.request;
    if (operation.is_submit()) {
      const std::string& intent =
          schema.members.at("versions").members.at(operation.activity_type).members.at("intent").text;
      type = messages.at("Intent").members.at(intent).text;
      type.pop_back();  // the mark "?"
      plan = operation.request->Find("parameters")->message;
    } else {
      type = schema.members.at("request").text;
    }
    std::set<std::string> expected;
    for (const auto& [name, unused] : messages.at(type).members) expected.insert(name);
    if (names.contains(type)) {
      for (const auto& [newer, unused] : names.at(type).members) expected.insert(newer);
    }
    EXPECT_THAT(MembersOf(*plan), UnorderedElementsAreArray(expected)) << type;
  }
}

// Returns the field of the intents or the results of activities that has this JSON name, or null if there is none.
const FieldDescriptor* PartOf(absl::string_view part, absl::string_view json_name) {
  const MessagePlan& parts = *OperationOf("VerifyOtp").response->Find("activity")->message->Find(part)->message;
  const auto found = parts.by_json_name.find(json_name);
  return found == parts.by_json_name.end() ? nullptr : found->second->field;
}

// A vote has no result of its own.
TEST(OperationTableTest, EverySubmitHasAnIntentAndEverySubmitExceptAVoteHasAResult) {
  int specified = 0;
  std::vector<std::string> without_result;
  for (const Operation& operation : Operations().operations()) {
    if (!operation.is_submit() || operation.general) continue;
    SCOPED_TRACE(operation.full_name);
    specified += IsSpecified(operation);
    const auto& version = SchemaOf(operation)->members.at("versions").members.at(operation.activity_type).members;
    const FieldDescriptor* intent = PartOf("intent", version.at("intent").text);
    ASSERT_THAT(intent, NotNull());
    // Of the other one, 0.2.0 has the intent without a method.
    if (operation.activity_type != "ACTIVITY_TYPE_EXECUTE_SWAP_V3") {
      EXPECT_EQ(intent->message_type(), operation.request->Find("parameters")->field->message_type());
    }
    if (!version.contains("result")) {
      without_result.push_back(SegmentOf(operation));
      continue;
    }
    const FieldDescriptor* result = PartOf("result", version.at("result").text);
    ASSERT_THAT(result, NotNull());
    if (IsSpecified(operation)) {
      EXPECT_EQ(result->message_type()->name(), absl::StrCat(operation.method->name(), "Result"));
    }
  }
  EXPECT_EQ(specified, 19);
  EXPECT_THAT(without_result, UnorderedElementsAre("approve_activity", "reject_activity"));
}

TEST(OperationTableTest, EveryIntentAndEveryResultIsInTheSchema) {
  const MessagePlan& activity = *OperationOf("VerifyOtp").response->Find("activity")->message;
  for (const auto& [part, type] : {std::pair("intent", "Intent"), std::pair("result", "Result")}) {
    const auto& expected = Schema().members.at("messages").members.at(type).members;
    const MessagePlan& plan = *activity.Find(part)->message;
    EXPECT_GT(plan.fields.size(), 100) << type;
    for (const std::string& name : MembersOf(plan)) EXPECT_TRUE(expected.contains(name)) << type << " " << name;
  }
}

TEST(OperationTableTest, IntentsAndResultsHaveTheSpecifiedNames) {
  struct Name {
    const char* intent;
    const char* result;
  };
  // Checks the names that cannot be derived from the name of the operation.
  for (const Name& name :
       {Name{"createOauthProvidersIntentV2", "createOauthProvidersResultV2"},
        Name{"verifyOtpIntentV2", "verifyOtpResult"}, Name{"oauth2AuthenticateIntent", "oauth2AuthenticateResult"},
        Name{"createOauth2CredentialIntent", "createOauth2CredentialResult"}}) {
    const MessagePlan& activity = *OperationOf("VerifyOtp").response->Find("activity")->message;
    EXPECT_TRUE(activity.Find("intent")->message->by_json_name.contains(name.intent)) << name.intent;
    EXPECT_TRUE(activity.Find("result")->message->by_json_name.contains(name.result)) << name.result;
  }
}

TEST(OperationTableTest, ListsThePathSegmentsOfTypedOperationsOnly) {
  for (const Row& row : kRows) {
    if (row.general) continue;
    const std::string path = row.path;
    EXPECT_TRUE(Operations().ListsPathSegment(path.substr(path.rfind('/') + 1))) << path;
  }
  // These operations are not in the specification.
  for (const char* segment : {"init_otp", "whoami"}) EXPECT_TRUE(Operations().ListsPathSegment(segment)) << segment;
  for (const char* segment : {"", "submit", "find_teapot", "Whoami", "Oauth", "oauth2", "/oauth"}) {
    EXPECT_FALSE(Operations().ListsPathSegment(segment)) << segment;
  }
}

TEST(OperationTableTest, ListsActivityTypesOfAnyVersion) {
  for (const char* type :
       {"ACTIVITY_TYPE_OAUTH", "ACTIVITY_TYPE_OAUTH_V1", "ACTIVITY_TYPE_OAUTH_V17", "ACTIVITY_TYPE_VERIFY_OTP",
        "ACTIVITY_TYPE_VERIFY_OTP_V2", "ACTIVITY_TYPE_VERIFY_OTP_V3", "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS",
        "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE", "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE_V02", "ACTIVITY_TYPE_INIT_OTP",
        "ACTIVITY_TYPE_INIT_OTP_V3", "ACTIVITY_TYPE_OTP_LOGIN_V2"}) {
    EXPECT_TRUE(Operations().ListsActivityType(type)) << type;
  }
  for (const char* type :
       {"", "ACTIVITY_TYPE_", "ACTIVITY_TYPE_OAUTH_", "ACTIVITY_TYPE_OAUTH_V", "ACTIVITY_TYPE_OAUTH2",
        "ACTIVITY_TYPE_OAUTHV2", "ACTIVITY_TYPE_BREW_TEA", "ACTIVITY_TYPE_BREW_TEA_V2", "_V2"}) {
    EXPECT_FALSE(Operations().ListsActivityType(type)) << type;
  }
}

TEST(OperationTableTest, PutsTheOperatorsNameIntoJsonNames) {
  absl::StatusOr<std::unique_ptr<const OperationTable>> table = OperationTable::Create("ACME", OperationSet::BuiltIn());
  ASSERT_THAT(table, testing::StatusIs(absl::StatusCode::kOk));
  for (const Operation& operation : (*table)->operations()) {
    if (operation.method->name() != "GetWebhookKeySet") continue;
    const MessagePlan& key = *operation.response->Find("keys")->message;
    EXPECT_TRUE(key.by_json_name.contains("acme_signature_algorithm"));
    EXPECT_TRUE(key.by_json_name.contains("acme_signature_version"));
    return;
  }
  FAIL() << "there is no GetWebhookKeySet";
}

// Returns the status of a table in which the option of DeleteOauthProviders has these values in addition. A fault names
// DeleteOauthProviders, because it is after DeleteApiKeys.
absl::Status StatusWith(const std::string& rule) {
  const OperationSet::Shared set = testing::ChangedOperations({{"UserService/DeleteOauthProviders", rule}});
  return OperationTable::Create("Service", set).status();
}

constexpr char kOtherPath[] = "path: '/public/v1/submit/delete_api_keys' ";

TEST(OperationTableTest, VersionsOfAnActivityTypeCanShareAPathIfTheirRulesAreTheSame) {
  const std::string version = absl::StrCat(kOtherPath, "activity_type: 'ACTIVITY_TYPE_DELETE_API_KEYS_V2' ");
  EXPECT_EQ(StatusWith(version), absl::OkStatus());
  const std::string fault =
      "stampgate.v1.UserService.DeleteOauthProviders must have the policy class and stamped_by_client of the other "
      "version";
  EXPECT_EQ(StatusWith(absl::StrCat(version, "policy_class: POLICY_CLASS_WRITE")).message(), fault);
  EXPECT_EQ(StatusWith(absl::StrCat(version, "stamped_by_client: true")).message(), fault);
  for (const char* right : {"internal: true", "moves_unread_amount: true"}) {
    EXPECT_EQ(StatusWith(absl::StrCat(version, right)).message(),
              "stampgate.v1.UserService.DeleteOauthProviders must have internal and moves_unread_amount of the other "
              "version")
        << right;
  }
}

TEST(OperationTableTest, OtherOperationsCannotShareAPathOrAnActivityType) {
  EXPECT_EQ(StatusWith(kOtherPath).message(),
            "stampgate.v1.UserService.DeleteOauthProviders has the path of another operation");
  EXPECT_EQ(StatusWith("activity_type: 'ACTIVITY_TYPE_DELETE_API_KEYS'").message(),
            "stampgate.v1.UserService.DeleteOauthProviders has the activity type of another operation");
}

}  // namespace
}  // namespace stampgate
