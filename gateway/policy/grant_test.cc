#include "gateway/policy/grant.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/policy/expected_rights.h"
#include "gateway/policy/method_name.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using Fit = Grant::Fit;

Grant GrantOf(const std::string& text, absl::string_view as_of = "") {
  return Grant(testing::Proto<config::v1::Grant>(text), *OperationSet::BuiltIn(), as_of);
}

Fit Ask(const Grant& grant, absl::string_view method, std::optional<absl::string_view> organization_id) {
  Question question;
  question.method = method;
  question.organization_id = organization_id;
  return grant.Ask(question).fit;
}

Fit AskGeneral(const Grant& grant, absl::string_view path, absl::string_view type,
               absl::string_view organization_id = "o") {
  Question question;
  question.method =
      type.empty() ? "/stampgate.v1.GeneralService/QueryOperation" : "/stampgate.v1.GeneralService/SubmitOperation";
  question.organization_id = organization_id;
  question.general = true;
  question.general_path = path;
  question.general_type = type;
  return grant.Ask(question).fit;
}

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";

TEST(GrantTest, AClassGrantsItsMethodsUpToTheDayAndNoOthers) {
  const OperationSet& operations = *OperationSet::BuiltIn();
  const std::map<std::string, v1::PolicyClass> classes = {{"query", v1::POLICY_CLASS_QUERY},
                                                          {"login", v1::POLICY_CLASS_LOGIN},
                                                          {"write", v1::POLICY_CLASS_WRITE},
                                                          {"dangerous", v1::POLICY_CLASS_DANGEROUS},
                                                          {"events", v1::POLICY_CLASS_EVENTS}};
  const std::string newest = operations.newest_since();
  ASSERT_FALSE(newest.empty());
  for (const auto& [name, granted] : classes) {
    for (const std::string& as_of : {std::string(), std::string("2026-09-22"), std::string("2026-10-21"), newest}) {
      const Grant grant =
          GrantOf(absl::StrCat("classes: ", v1::PolicyClass_Name(granted), " all_organizations: true"), as_of);
      int allowed = 0;
      for (const ApiMethod& method : operations.methods()) {
        const auto rights = AllExpectedRights().find(PolicyNameOf(method.full_name));
        // Only the methods of GeneralService have no rights here.
        EXPECT_EQ(rights == AllExpectedRights().end(), method.general) << method.full_name;
        const bool expected = rights != AllExpectedRights().end() && rights->second.policy_class == name &&
                              !rights->second.internal && rights->second.since <= as_of;
        allowed += expected;
        EXPECT_EQ(Ask(grant, method.full_name, "o") == Fit::kAllowed, expected) << name << as_of << method.full_name;
        EXPECT_EQ(grant.HasMethod(method.full_name), expected) << name << as_of << method.full_name;
      }
      EXPECT_GT(allowed, 0) << name << as_of;
    }
  }
}

TEST(GrantTest, NoClassAndNoMethodNameGrantsGeneralService) {
  const Grant grant = GrantOf(
      "classes: [POLICY_CLASS_QUERY, POLICY_CLASS_LOGIN, POLICY_CLASS_WRITE, POLICY_CLASS_DANGEROUS,"
      " POLICY_CLASS_EVENTS, POLICY_CLASS_UNSPECIFIED]"
      " methods: ['GeneralService/SubmitOperation', 'GeneralService/QueryOperation'] all_organizations: true",
      OperationSet::BuiltIn()->newest_since());
  EXPECT_EQ(AskGeneral(grant, "init_otp", "ACTIVITY_TYPE_INIT_OTP"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "whoami", ""), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "", ""), Fit::kNotTheMethod);
}

TEST(GrantTest, AMethodIsGrantedByItsShortAndItsFullName) {
  for (const char* name : {"PolicyService/GetPolicy", "stampgate.v1.PolicyService/GetPolicy"}) {
    const Grant grant = GrantOf(absl::StrCat("methods: '", name, "' organizations: 'o'"));
    for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
      EXPECT_EQ(Ask(grant, method.full_name, "o") == Fit::kAllowed, method.full_name == kGetPolicy) << method.full_name;
    }
  }
}

TEST(GrantTest, AQuestionMustNameItsMethodInFull) {
  const Grant grant = GrantOf("classes: POLICY_CLASS_QUERY all_organizations: true");
  for (const char* name : {"", "PolicyService/GetPolicy", "/PolicyService/GetPolicy",
                           "stampgate.v1.PolicyService/GetPolicy", "/stampgate.v1.PolicyService/getPolicy",
                           "/stampgate.v1.PolicyService/GetPolicy/", "/stampgate.v1.PolicyService/GetPolicy "}) {
    EXPECT_EQ(Ask(grant, name, "o"), Fit::kNotTheMethod) << name;
  }
}

TEST(GrantTest, OrganizationIdsMustMatchExactly) {
  const Grant grant = GrantOf("methods: 'PolicyService/GetPolicy' organizations: ['abc-1', 'Other']");
  EXPECT_EQ(Ask(grant, kGetPolicy, "abc-1"), Fit::kAllowed);
  EXPECT_EQ(Ask(grant, kGetPolicy, "Other"), Fit::kAllowed);
  for (const absl::string_view other : {"", "*", "all", "abc", "abc-", "abc-12", "ABC-1", "Abc-1", "other", " abc-1",
                                        "abc-1 ", "abc-1\n", "abc-1,Other", "abc\u20101", "abc-\uff11", "bc-1"}) {
    EXPECT_EQ(Ask(grant, kGetPolicy, other), Fit::kNotTheOrganization) << other;
  }
  EXPECT_EQ(Ask(grant, kGetPolicy, absl::string_view("abc-1\0", 6)), Fit::kNotTheOrganization);
}

TEST(GrantTest, AGrantForAllOrganizationsAllowsEveryOrganization) {
  const Grant grant = GrantOf("methods: 'PolicyService/GetPolicy' all_organizations: true");
  for (const char* id : {"", "a", "b"}) EXPECT_EQ(Ask(grant, kGetPolicy, id), Fit::kAllowed);
}

TEST(GrantTest, AGrantWithoutOrganizationsAllowsOnlyCallsWithoutAnOrganization) {
  const Grant grant = GrantOf("methods: ['PolicyService/GetPolicy', 'WebhookService/GetWebhookKeySet']");
  EXPECT_EQ(Ask(grant, "/stampgate.v1.WebhookService/GetWebhookKeySet", std::nullopt), Fit::kAllowed);
  EXPECT_EQ(Ask(grant, kGetPolicy, "o"), Fit::kNotTheOrganization);
  EXPECT_EQ(Ask(grant, kGetPolicy, ""), Fit::kNotTheOrganization);
}

TEST(GrantTest, AGeneralOperationMustMatchPathAndTypeExactly) {
  const Grant grant = GrantOf(
      "general_operations {path: 'init_otp' activity_type: 'ACTIVITY_TYPE_INIT_OTP_V3'}"
      "general_operations {path: 'otp_login' activity_type: 'ACTIVITY_TYPE_OTP_LOGIN'}"
      "general_operations {path: 'whoami'} organizations: 'o'");
  EXPECT_EQ(AskGeneral(grant, "init_otp", "ACTIVITY_TYPE_INIT_OTP_V3"), Fit::kAllowed);
  EXPECT_EQ(AskGeneral(grant, "otp_login", "ACTIVITY_TYPE_OTP_LOGIN"), Fit::kAllowed);
  EXPECT_EQ(AskGeneral(grant, "whoami", ""), Fit::kAllowed);
  // The grant does not allow an operation whose path and activity type do not both match one entry of the grant.
  EXPECT_EQ(AskGeneral(grant, "init_otp", "ACTIVITY_TYPE_OTP_LOGIN"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "otp_login", "ACTIVITY_TYPE_INIT_OTP_V3"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "init_otp", "ACTIVITY_TYPE_INIT_OTP"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "init_otp", "ACTIVITY_TYPE_INIT_OTP_V2"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "init_otp", ""), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "whoami", "ACTIVITY_TYPE_WHOAMI"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "INIT_OTP", "ACTIVITY_TYPE_INIT_OTP_V3"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "init_otp_", "ACTIVITY_TYPE_INIT_OTP_V3"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "", "ACTIVITY_TYPE_INIT_OTP_V3"), Fit::kNotTheMethod);
  EXPECT_EQ(AskGeneral(grant, "whoami", "", "p"), Fit::kNotTheOrganization);
  // The grant allows no typed operation.
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) EXPECT_FALSE(grant.HasMethod(method.full_name));
}

TEST(GrantTest, TheValuesAreCheckedLast) {
  const Grant grant = GrantOf(
      "methods: 'EarnService/EarnWithdraw' organizations: 'o' amount_limits {chain: 'eip155:1' max_amount: '5'}");
  const Operation& withdraw = testing::OperationOf("EarnWithdraw");
  Question question;
  question.method = "/stampgate.v1.EarnService/EarnWithdraw";
  question.organization_id = "p";
  const testing::Parsed above(withdraw, "parameters {chain_caip2: EARN_CHAIN_EIP155_1 amount_value: '6'}");
  question.request = &*above;
  EXPECT_EQ(grant.Ask(question).fit, Fit::kNotTheOrganization);
  EXPECT_EQ(grant.Ask(question).why, "");
  question.organization_id = "o";
  EXPECT_EQ(grant.Ask(question).fit, Fit::kNotTheValues);
  EXPECT_EQ(grant.Ask(question).why, "amount_value is not within amount_limits");
  const testing::Parsed within(withdraw, "parameters {chain_caip2: EARN_CHAIN_EIP155_1 amount_value: '5'}");
  question.request = &*within;
  EXPECT_EQ(grant.Ask(question).fit, Fit::kAllowed);
  question.method = kGetPolicy;
  EXPECT_EQ(grant.Ask(question).fit, Fit::kNotTheMethod);
}

TEST(GrantTest, AGrantWithDestinationsAllowsNoMethodThatMovesAssetsWithoutStatingADestination) {
  int unchecked = 0;
  for (const auto& [name, rights] : AllExpectedRights()) {
    const std::string method = "/stampgate.v1." + name;
    const std::string grant = absl::StrCat("methods: '", name, "' organizations: 'o' ");
    EXPECT_TRUE(GrantOf(grant).HasMethod(method)) << name;
    const Grant limited = GrantOf(grant + "destinations: 'a'");
    EXPECT_EQ(limited.HasMethod(method), !rights.moves_to_unread_destination) << name;
    if (!rights.moves_to_unread_destination) continue;
    ++unchecked;
    EXPECT_EQ(Ask(limited, method, "p"), Fit::kNotTheOrganization) << name;
    Question question;
    question.method = method;
    question.organization_id = "o";
    EXPECT_EQ(limited.Ask(question).fit, Fit::kNotTheValues) << name;
    EXPECT_EQ(limited.Ask(question).why, "destinations cannot be checked for this method: grant it without them");
  }
  EXPECT_GT(unchecked, 20);
}

TEST(GrantTest, AClassWithDestinationsDoesNotCoverAMethodThatMovesAssetsWithoutStatingADestination) {
  const OperationSet& operations = *OperationSet::BuiltIn();
  const std::string dangerous = "classes: POLICY_CLASS_DANGEROUS all_organizations: true ";
  const Grant all = GrantOf(dangerous, operations.newest_since());
  const Grant limited = GrantOf(dangerous + "destinations: 'a'", operations.newest_since());
  for (const auto& [name, rights] : AllExpectedRights()) {
    const std::string method = "/stampgate.v1." + name;
    EXPECT_EQ(limited.HasMethod(method), all.HasMethod(method) && !rights.moves_to_unread_destination) << name;
  }
}

TEST(GrantTest, AnUnknownMethodNameGrantsNothing) {
  const Grant grant = GrantOf("methods: ['PolicyService/None', '*', ''] all_organizations: true");
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) EXPECT_FALSE(grant.HasMethod(method.full_name));
  EXPECT_FALSE(grant.HasMethod(""));
}

}  // namespace
}  // namespace stampgate
