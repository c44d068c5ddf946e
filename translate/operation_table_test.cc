#include "translate/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::testing::ElementsAreArray;
using ::testing::NotNull;

constexpr auto kSubmit = v1::OPERATION_KIND_SUBMIT;
constexpr auto kQuery = v1::OPERATION_KIND_QUERY;
constexpr auto kLogin = v1::POLICY_CLASS_LOGIN;
constexpr auto kWrite = v1::POLICY_CLASS_WRITE;
constexpr auto kDangerous = v1::POLICY_CLASS_DANGEROUS;
constexpr auto kRead = v1::POLICY_CLASS_QUERY;

const google::protobuf::Descriptor* TypeOf(const std::string& name) {
  return OperationSet::BuiltIn()->pool().FindMessageTypeByName(name);
}

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

TEST(OperationTableTest, ListsExactlyTheSpecifiedOperations) {
  std::vector<std::string> expected;
  for (const Row& row : kRows) {
    expected.push_back(Line(absl::StrCat("/stampgate.v1.", row.method), row.kind, absl::StrCat("/public/v1/", row.path),
                            row.type, row.policy_class, row.general));
  }
  std::vector<std::string> listed;
  for (const Operation& operation : Operations().operations()) {
    listed.push_back(Line(operation.full_name, operation.kind, operation.path, operation.activity_type,
                          operation.policy_class, operation.general));
  }
  EXPECT_EQ(listed.size(), 26u + 1 + 2);
  EXPECT_THAT(listed, ElementsAreArray(expected));
}

TEST(OperationTableTest, AnActivityHasEndedIfItIsCompletedFailedOrRejected) {
  for (const char* status : {"COMPLETED", "FAILED", "REJECTED"}) {
    EXPECT_TRUE(Operations().IsFinalStatus(absl::StrCat("ACTIVITY_STATUS_", status))) << status;
  }
  for (const char* status :
       {"UNSPECIFIED", "CREATED", "PENDING", "CONSENSUS_NEEDED", "AUTHENTICATORS_NEEDED", "EXPIRED"}) {
    EXPECT_FALSE(Operations().IsFinalStatus(absl::StrCat("ACTIVITY_STATUS_", status))) << status;
  }
  EXPECT_FALSE(Operations().IsFinalStatus(""));
  EXPECT_FALSE(Operations().IsFinalStatus("COMPLETED"));
}

TEST(OperationTableTest, AnOperationIsFoundByItsFullName) {
  const Operation* found = Operations().Find("/stampgate.v1.ActivityService/GetActivity");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->path, "/public/v1/query/get_activity");
  EXPECT_EQ(Operations().Find("/stampgate.v1.EventService/Subscribe"), nullptr);
  for (const Operation& operation : Operations().operations()) {
    EXPECT_EQ(Operations().Find(operation.full_name), &operation) << operation.full_name;
  }
}

TEST(OperationTableTest, EveryOperationHasThePlansOfItsMessages) {
  for (const Operation& operation : Operations().operations()) {
    SCOPED_TRACE(operation.full_name);
    EXPECT_EQ(operation.request->descriptor, operation.method->input_type());
    EXPECT_EQ(operation.response->descriptor, operation.method->output_type());
    EXPECT_EQ(operation.organization_id != nullptr, operation.kind != v1::OPERATION_KIND_DISCOVERY);
    EXPECT_EQ(operation.timestamp_ms != nullptr, operation.kind == kSubmit);
    EXPECT_EQ(operation.wait_until != nullptr, operation.kind == kSubmit);
    EXPECT_EQ(operation.path_segment != nullptr, operation.general);
    EXPECT_EQ(operation.activity_type_field != nullptr, operation.general && operation.kind == kSubmit);
    EXPECT_EQ(operation.response->unrecognized != nullptr, !operation.general);
  }
}

// Returns the field of `oneof` whose name is `name` or `name` with a version after it.
const FieldDescriptor* MemberOf(const google::protobuf::Descriptor* oneof, absl::string_view name) {
  for (int i = 0; i < oneof->field_count(); ++i) {
    const FieldDescriptor* field = oneof->field(i);
    if (field->name() == name || field->name() == absl::StrCat(name, "_v2")) return field;
  }
  return nullptr;
}

// A vote has no result of its own.
TEST(OperationTableTest, EverySubmitHasAnIntentAndEverySubmitExceptAVoteHasAResult) {
  int submits = 0;
  int votes = 0;
  for (const Operation& operation : Operations().operations()) {
    if (!operation.is_submit() || operation.general) continue;
    SCOPED_TRACE(operation.full_name);
    ++submits;
    const std::string segment = operation.path.substr(operation.path.rfind('/') + 1);
    const FieldDescriptor* intent = MemberOf(TypeOf("stampgate.v1.ActivityIntent"), absl::StrCat(segment, "_intent"));
    ASSERT_THAT(intent, NotNull());
    EXPECT_EQ(intent->message_type(), operation.request->Find("parameters")->field->message_type());
    if (segment == "approve_activity" || segment == "reject_activity") {
      ++votes;
      continue;
    }
    const FieldDescriptor* result = MemberOf(TypeOf("stampgate.v1.ActivityResult"), absl::StrCat(segment, "_result"));
    ASSERT_THAT(result, NotNull());
    EXPECT_EQ(result->message_type()->name(), absl::StrCat(operation.method->name(), "Result"));
  }
  EXPECT_EQ(submits, 19);
  EXPECT_EQ(votes, 2);
  EXPECT_EQ(TypeOf("stampgate.v1.ActivityIntent")->field_count(), submits);
  EXPECT_EQ(TypeOf("stampgate.v1.ActivityResult")->field_count(), submits - votes);
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
  for (const char* segment : {"", "submit", "init_otp", "whoami", "Oauth", "oauth2", "/oauth"}) {
    EXPECT_FALSE(Operations().ListsPathSegment(segment)) << segment;
  }
}

TEST(OperationTableTest, ListsActivityTypesOfAnyVersion) {
  for (const char* type :
       {"ACTIVITY_TYPE_OAUTH", "ACTIVITY_TYPE_OAUTH_V1", "ACTIVITY_TYPE_OAUTH_V17", "ACTIVITY_TYPE_VERIFY_OTP",
        "ACTIVITY_TYPE_VERIFY_OTP_V2", "ACTIVITY_TYPE_VERIFY_OTP_V3", "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS",
        "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE", "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE_V02"}) {
    EXPECT_TRUE(Operations().ListsActivityType(type)) << type;
  }
  for (const char* type :
       {"", "ACTIVITY_TYPE_", "ACTIVITY_TYPE_OAUTH_", "ACTIVITY_TYPE_OAUTH_V", "ACTIVITY_TYPE_OAUTH2",
        "ACTIVITY_TYPE_OAUTHV2", "ACTIVITY_TYPE_INIT_OTP_V3", "ACTIVITY_TYPE_OTP_LOGIN_V2", "_V2"}) {
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

// Returns the status of a table in which the option of DeleteApiKeys has these values in addition.
absl::Status StatusWith(const std::string& rule) {
  const OperationSet::Shared set = testing::ChangedOperations({{"UserService/DeleteApiKeys", rule}});
  return OperationTable::Create("Service", set).status();
}

constexpr char kOtherPath[] = "path: '/public/v1/submit/delete_oauth_providers' ";

TEST(OperationTableTest, VersionsOfAnActivityTypeCanShareAPathIfTheirRulesAreTheSame) {
  const std::string version = absl::StrCat(kOtherPath, "activity_type: 'ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS_V2' ");
  EXPECT_EQ(StatusWith(version), absl::OkStatus());
  const std::string fault =
      "stampgate.v1.UserService.DeleteApiKeys must have the policy class and stamped_by_client of the other "
      "version";
  EXPECT_EQ(StatusWith(absl::StrCat(version, "policy_class: POLICY_CLASS_WRITE")).message(), fault);
  EXPECT_EQ(StatusWith(absl::StrCat(version, "stamped_by_client: true")).message(), fault);
}

TEST(OperationTableTest, OtherOperationsCannotShareAPathOrAnActivityType) {
  EXPECT_EQ(StatusWith(kOtherPath).message(),
            "stampgate.v1.UserService.DeleteApiKeys has the path of another operation");
  EXPECT_EQ(StatusWith("activity_type: 'ACTIVITY_TYPE_DELETE_OAUTH_PROVIDERS'").message(),
            "stampgate.v1.UserService.DeleteApiKeys has the activity type of another operation");
}

}  // namespace
}  // namespace stampgate
