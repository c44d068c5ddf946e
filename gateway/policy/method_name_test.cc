#include "gateway/policy/method_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gateway/policy/testing.pb.h"
#include "translate/testing/extended_set.h"

namespace stampgate {
namespace {

// Returns the set of the program's operations and those of testing.proto.
const OperationSet& Set() {
  static const auto& set = *new OperationSet::Shared(testing::SetWith(*testing::MoveRequest::descriptor()->file()));
  return *set;
}

// The expected classes are chosen by hand. The class dangerous contains exports, deletions, changes of policies and
// keys, votes, methods that move money, and reads of activities, which contain what any submit has returned. Methods of
// class query only read. Methods of class write create or change
// something that can be undone.
TEST(MethodNameTest, EachMethodHasTheClassThatFitsItsPossibleHarm) {
  std::map<std::string, std::string> classes;
  for (const ApiMethod& method : Set().methods()) {
    absl::string_view name = method.full_name;
    if (!absl::ConsumePrefix(&name, "/stampgate.v1.")) continue;
    classes[std::string(name)] = v1::PolicyClass_Name(method.policy_class) + (method.general ? " general" : "");
  }
  const std::map<std::string, std::string> expected = {
      {"ActivityService/ApproveActivity", "POLICY_CLASS_DANGEROUS"},
      {"ActivityService/GetActivity", "POLICY_CLASS_DANGEROUS"},
      {"ActivityService/ListActivities", "POLICY_CLASS_DANGEROUS"},
      {"ActivityService/RejectActivity", "POLICY_CLASS_DANGEROUS"},
      {"AuthenticationService/CreateOauth2Credential", "POLICY_CLASS_DANGEROUS"},
      {"AuthenticationService/CreateSessionProfile", "POLICY_CLASS_WRITE"},
      {"AuthenticationService/Oauth", "POLICY_CLASS_LOGIN"},
      {"AuthenticationService/Oauth2Authenticate", "POLICY_CLASS_LOGIN"},
      {"AuthenticationService/StampLogin", "POLICY_CLASS_LOGIN"},
      {"AuthenticationService/VerifyOtp", "POLICY_CLASS_LOGIN"},
      {"EarnService/EarnWithdraw", "POLICY_CLASS_DANGEROUS"},
      {"EventService/GetEvent", "POLICY_CLASS_EVENTS"},
      {"EventService/ListEvents", "POLICY_CLASS_EVENTS"},
      {"EventService/ReadEventBody", "POLICY_CLASS_EVENTS"},
      {"EventService/Subscribe", "POLICY_CLASS_EVENTS"},
      {"GeneralService/QueryOperation", "POLICY_CLASS_DANGEROUS general"},
      {"GeneralService/SubmitOperation", "POLICY_CLASS_DANGEROUS general"},
      {"OrganizationService/DeleteSubOrganization", "POLICY_CLASS_DANGEROUS"},
      {"OrganizationService/UpdateOrganizationName", "POLICY_CLASS_WRITE"},
      {"PolicyService/CreatePolicies", "POLICY_CLASS_DANGEROUS"},
      {"PolicyService/GetPolicy", "POLICY_CLASS_QUERY"},
      {"SmartContractService/CreateSmartContractInterface", "POLICY_CLASS_WRITE"},
      {"UserService/CreateOauthProviders", "POLICY_CLASS_DANGEROUS"},
      {"UserService/DeleteApiKeys", "POLICY_CLASS_DANGEROUS"},
      {"UserService/DeleteOauthProviders", "POLICY_CLASS_DANGEROUS"},
      {"UserService/GetAuthenticators", "POLICY_CLASS_QUERY"},
      {"UserService/GetMfaPolicies", "POLICY_CLASS_QUERY"},
      {"UserService/UpdateMfaPolicy", "POLICY_CLASS_DANGEROUS"},
      {"WalletService/ExportWalletAccount", "POLICY_CLASS_DANGEROUS"},
      {"WalletService/GetWalletAccount", "POLICY_CLASS_QUERY"},
      {"WalletService/ListWalletAccounts", "POLICY_CLASS_QUERY"},
      {"WebhookService/DeleteWebhookEndpoint", "POLICY_CLASS_DANGEROUS"},
      {"WebhookService/GetWebhookKeySet", "POLICY_CLASS_QUERY"},
  };
  EXPECT_EQ(classes, expected);
}

TEST(MethodNameTest, AMethodWithoutAClassIsDangerous) {
  const ApiMethod* move = FindApiMethod(Set(), "stampgate.testing.VaultService/Move");
  ASSERT_NE(move, nullptr);
  EXPECT_EQ(move->policy_class, v1::POLICY_CLASS_DANGEROUS);
}

TEST(MethodNameTest, OnlyMethodsOfStampgateHaveAShortName) {
  const ApiMethod* method = FindApiMethod(Set(), "PolicyService/GetPolicy");
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(method->full_name, "/stampgate.v1.PolicyService/GetPolicy");
  EXPECT_EQ(FindApiMethod(Set(), "stampgate.v1.PolicyService/GetPolicy"), method);
  EXPECT_NE(FindApiMethod(Set(), "stampgate.testing.VaultService/Look"), nullptr);
  EXPECT_EQ(FindApiMethod(Set(), "VaultService/Look"), nullptr);
}

TEST(MethodNameTest, NoOtherTextIsTheNameOfAMethod) {
  for (const char* name :
       {"", "/", "GetPolicy", "PolicyService", "PolicyService/", "/PolicyService/GetPolicy", "policyservice/getpolicy",
        "PolicyService/getpolicy", "PolicyService/GetPolicy ", " PolicyService/GetPolicy", "PolicyService/*", "*",
        "PolicyService.GetPolicy", "/stampgate.v1.PolicyService/GetPolicy", "v1.PolicyService/GetPolicy",
        "stampgate.v1./PolicyService/GetPolicy", "PolicyService/GetPolic", "PolicyService/GetPolicyX",
        // These methods exist, but a grant cannot name them.
        "grpc.health.v1.Health/Check", "StampService/Prepare", "stampgate.testing.VaultService/Chat"}) {
    EXPECT_EQ(FindApiMethod(Set(), name), nullptr) << name;
  }
}

TEST(MethodNameTest, AMethodAndItsClassAreNamedAsInAGrant) {
  EXPECT_EQ(PolicyNameOf("/stampgate.v1.PolicyService/GetPolicy"), "PolicyService/GetPolicy");
  EXPECT_EQ(PolicyNameOf("/another.v1.Service/Get"), "another.v1.Service/Get");
  for (const ApiMethod& method : Set().methods()) {
    EXPECT_EQ(FindApiMethod(Set(), PolicyNameOf(method.full_name)), &method);
  }
  EXPECT_EQ(ClassNameOf(*FindApiMethod(Set(), "PolicyService/GetPolicy")), "query");
}

}  // namespace
}  // namespace stampgate
