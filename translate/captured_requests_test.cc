// What upstream's own client sends, operation by operation, against what we render for the same input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/request_translator.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::Json;
using ::stampgate::testing::JsonOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::Operations;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;

// The captured bodies by path.
const std::map<std::string, std::string>& Captured() {
  static const auto* const captured = [] {
    auto* bodies = new std::map<std::string, std::string>;
    std::ifstream file("tests/vectors/sdk-requests.json");
    std::stringstream text;
    text << file.rdbuf();
    const Json vectors = JsonOf(text.str());
    for (const Json& request : vectors.members.at("requests").elements) {
      const Json& sent = request.members.at("request");
      bodies->emplace(sent.members.at("path").text, sent.members.at("body").text);
    }
    return bodies;
  }();
  return *captured;
}

struct Row {
  const char* method;
  const char* path;
  const char* request;  // in protobuf text format, without what all of the kind share
};

const Row kRows[] = {
    {"Oauth2Authenticate", "submit/oauth2_authenticate", R"pb(
       parameters {
         oauth2_credential_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000001"
         auth_code: "code"
         redirect_uri: "https://app.example/cb"
         code_verifier: "verifier"
         nonce: "dbfff49084371caa77df52f193ce55417b26373c2c4ea18e155499f36c7de7c5"
         bearer_token_target_public_key: "021f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
       }
       generate_app_proofs: true
     )pb"},
    {"Oauth", "submit/oauth", R"pb(
       parameters {
         oidc_token: "ZXlK"
         target_public_key: "041f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
                            "1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
         api_key_name: "k"
         expiration_seconds: 900
         invalidate_existing: true
       }
       generate_app_proofs: true
     )pb"},
    {"CreateSessionProfile", "submit/create_session_profile", R"pb(
       parameters {
         session_profile_name: "signing"
         scope: "activity.action == 'SIGN'"
         expiration_seconds: 600
         notes: "n"
       }
     )pb"},
    {"DeleteWebhookEndpoint", "submit/delete_webhook_endpoint", R"pb(
       parameters { endpoint_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000004" }
       generate_app_proofs: true
     )pb"},
    {"CreateOauthProviders", "submit/create_oauth_providers", R"pb(
       parameters {
         user_id: "99999999-8888-4777-8666-555555555555"
         oauth_providers { provider_name: "Google" oidc_token: "ZXlK" }
         oauth_providers {
           provider_name: "Apple"
           oidc_claims { iss: "https://appleid.apple.com" sub: "s" aud: "a" }
         }
       }
       generate_app_proofs: true
     )pb"},
    {"CreatePolicies", "submit/create_policies", R"pb(
       parameters {
         policies {
           policy_name: "p"
           effect: EFFECT_DENY
           condition: "a && b < 3"
           consensus: "true"
           notes: "n"
           time: "true"
         }
       }
       generate_app_proofs: true
     )pb"},
    {"EarnWithdraw", "submit/earn_withdraw", R"pb(
       parameters {
         wrapper_address: "0x0101010101010101010101010101010101010101"
         sign_with: "0x0202020202020202020202020202020202020202"
         chain_caip2: EARN_CHAIN_EIP155_8453
         sponsor: true
         amount_value: "MAX"
       }
       generate_app_proofs: true
     )pb"},
    {"CreateSmartContractInterface", "submit/create_smart_contract_interface", R"pb(
       parameters {
         smart_contract_address: "0x0303030303030303030303030303030303030303"
         smart_contract_interface: "[{\"type\":\"function\",\"name\":\"\303\251\"}]"
         type: SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM
         label: "l"
         notes: "n"
       }
       generate_app_proofs: true
     )pb"},
    {"StampLogin", "submit/stamp_login", R"pb(
       parameters {
         public_key: "021f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
         expiration_seconds: 900
         invalidate_existing: false
         session_profile_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000003"
       }
       generate_app_proofs: true
     )pb"},
    {"VerifyOtp", "submit/verify_otp", R"pb(
       parameters {
         otp_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000008"
         encrypted_otp_bundle: "{\"encappedPublic\":\"04\"}"
         expiration_seconds: 3600
       }
       generate_app_proofs: true
     )pb"},
    {"CreateOauth2Credential", "submit/create_oauth2_credential", R"pb(
       parameters { provider: OAUTH2_PROVIDER_DISCORD client_id: "c" encrypted_client_secret: "e" }
       generate_app_proofs: true
     )pb"},
    {"DeleteOauthProviders", "submit/delete_oauth_providers", R"pb(
       parameters {
         user_id: "99999999-8888-4777-8666-555555555555"
         provider_ids: "aaaaaaaa-bbbb-4ccc-8ddd-000000000005"
       }
       generate_app_proofs: true
     )pb"},
    {"DeleteApiKeys", "submit/delete_api_keys", R"pb(
       parameters {
         user_id: "99999999-8888-4777-8666-555555555555"
         api_key_ids: "aaaaaaaa-bbbb-4ccc-8ddd-000000000002"
       }
       generate_app_proofs: true
     )pb"},
    {"ExportWalletAccount", "submit/export_wallet_account", R"pb(
       parameters {
         address: "0x0404040404040404040404040404040404040404"
         target_public_key: "041f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
                            "1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f"
       }
       generate_app_proofs: true
     )pb"},
    {"DeleteSubOrganization", "submit/delete_sub_organization", R"pb(
       parameters { delete_without_export: true }
       generate_app_proofs: true
     )pb"},
    {"UpdateOrganizationName", "submit/update_organization_name", R"pb(
       parameters { organization_name: "\303\234n\303\257code & <Co>" }
       generate_app_proofs: true
     )pb"},
    {"UpdateMfaPolicy", "submit/update_mfa_policy", R"pb(
       parameters {
         user_id: "99999999-8888-4777-8666-555555555555"
         mfa_policy_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000010"
         mfa_policy_name: "m"
         condition: "true"
         required_authentication_methods {
           any { type: AUTHENTICATION_TYPE_PASSKEY id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000009" }
           any { type: AUTHENTICATION_TYPE_EMAIL_OTP }
         }
         required_authentication_methods { any { type: AUTHENTICATION_TYPE_SESSION } }
         order: 0
         notes: "n"
       }
     )pb"},
    {"ListWalletAccounts", "query/list_wallet_accounts", R"pb(
       wallet_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000011"
       include_wallet_details: true
       pagination_options {
         limit: 100
         before: "aaaaaaaa-bbbb-4ccc-8ddd-000000000012"
         after: "aaaaaaaa-bbbb-4ccc-8ddd-000000000013"
       }
     )pb"},
    {"GetWalletAccount", "query/get_wallet_account", R"pb(
       wallet_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000011"
       address: "0x0404040404040404040404040404040404040404"
       path: "m/44'/60'/0'/0/0"
     )pb"},
    {"GetAuthenticators", "query/get_authenticators", R"pb(
       user_id: "99999999-8888-4777-8666-555555555555"
     )pb"},
    {"GetMfaPolicies", "query/get_mfa_policies", R"pb(
       user_id: "99999999-8888-4777-8666-555555555555"
     )pb"},
    {"GetPolicy", "query/get_policy", R"pb(
       policy_id: "aaaaaaaa-bbbb-4ccc-8ddd-000000000006"
     )pb"},
    // What the proto does not list goes through the general operations.
    {"SubmitOperation", "submit/approve_activity", R"pb(
       path: "approve_activity"
       activity_type: "ACTIVITY_TYPE_APPROVE_ACTIVITY"
       parameters: "{\"fingerprint\":\"sha256:abababababababababababababababababababababababababababababababab\"}"
       generate_app_proofs: true
     )pb"},
    {"SubmitOperation", "submit/reject_activity", R"pb(
       path: "reject_activity"
       activity_type: "ACTIVITY_TYPE_REJECT_ACTIVITY"
       parameters: "{\"fingerprint\":\"sha256:abababababababababababababababababababababababababababababababab\"}"
       generate_app_proofs: true
     )pb"},
    {"QueryOperation", "query/get_activity", R"pb(
       path: "get_activity"
       parameters: "{\"activityId\":\"aaaaaaaa-bbbb-4ccc-8ddd-000000000020\"}"
     )pb"},
    {"QueryOperation", "query/whoami", R"pb(path: "whoami")pb"},
};

class CapturedRequestTest : public ::testing::TestWithParam<Row> {};

TEST_P(CapturedRequestTest, IsWhatWeRenderMemberForMember) {
  const Operation& operation = OperationOf(GetParam().method);
  auto request = RequestOf(
      operation, absl::StrCat("organization_id: \"11111111-2222-4333-8444-555555555555\" ",
                              operation.is_submit() ? "timestamp_ms: 1755500000000 " : "", GetParam().request));

  absl::StatusOr<RenderedRequest> rendered = TranslateUnstamped(Operations(), operation, *request);

  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(rendered->path, absl::StrCat("/public/v1/", GetParam().path));
  EXPECT_EQ(rendered->organization_id, "11111111-2222-4333-8444-555555555555");
  ASSERT_TRUE(Captured().count(rendered->path) == 1) << rendered->path;
  const std::string body =
      operation.is_submit() ? rendered->SubmitBody(*rendered->timestamp_ms) : rendered->QueryBody();
  EXPECT_EQ(JsonOf(body), JsonOf(Captured().at(rendered->path)));
}

TEST_P(CapturedRequestTest, IsReadAsTheSameRequestIfAClientStampsIt) {
  const Operation& operation = OperationOf(GetParam().method);
  auto expected = RequestOf(
      operation, absl::StrCat("organization_id: \"11111111-2222-4333-8444-555555555555\" ",
                              operation.is_submit() ? "timestamp_ms: 1755500000000 " : "", GetParam().request));
  const std::string& body = Captured().at(absl::StrCat("/public/v1/", GetParam().path));
  v1::ClientStamp stamp;
  stamp.set_body(body);
  stamp.set_api_key("a stamp");
  std::unique_ptr<google::protobuf::Message> request(operation.request_prototype->New());
  request->GetReflection()->MutableMessage(request.get(), operation.request->client_stamp)->CopyFrom(stamp);
  if (operation.general) {
    const auto* path = operation.path_segment->field;
    request->GetReflection()->SetString(request.get(), path, expected->GetReflection()->GetString(*expected, path));
  }

  absl::StatusOr<RenderedRequest> rendered = TranslateRequest(Operations(), operation, *request);

  ASSERT_THAT(rendered, StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(operation.is_submit() ? rendered->SubmitBody(0) : rendered->QueryBody(), body);
  EXPECT_EQ(request->SerializeAsString(), expected->SerializeAsString()) << request->DebugString();
}

INSTANTIATE_TEST_SUITE_P(All, CapturedRequestTest, ::testing::ValuesIn(kRows), [](const auto& info) {
  std::string name = info.param.path;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(CapturedRequestsTest, EveryOperationAndEveryCaptureIsCompared) {
  std::set<std::string> paths;
  std::set<std::string> methods;
  for (const Row& row : kRows) {
    paths.insert(absl::StrCat("/public/v1/", row.path));
    methods.insert(row.method);
  }
  for (const auto& [path, body] : Captured()) EXPECT_EQ(paths.count(path), 1u) << path;
  for (const Operation& operation : Operations().operations()) {
    if (operation.kind == v1::OPERATION_KIND_DISCOVERY) continue;
    EXPECT_EQ(methods.count(operation.method->name()), 1u) << operation.full_name;
  }
}

}  // namespace
}  // namespace stampgate
