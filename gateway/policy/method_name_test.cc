#include "gateway/policy/method_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gateway/policy/expected_rights.h"
#include "gateway/policy/testing.pb.h"
#include "translate/testing/extended_set.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAreArray;

// Returns the set of the program's operations and those of testing.proto.
const OperationSet& Set() {
  static const auto& set = *new OperationSet::Shared(testing::SetWith(*testing::MoveRequest::descriptor()->file()));
  return *set;
}

// Returns the part of a full name after "/stampgate.v1.", or an empty text for a method of another package.
std::string ShortName(absl::string_view full_name) {
  return absl::ConsumePrefix(&full_name, "/stampgate.v1.") ? std::string(full_name) : "";
}

// The expected classes are in tests/vectors, where each has been reviewed. The class dangerous contains exports,
// deletions, changes of policies and keys, votes, methods that move money, and reads of activities, which contain what
// any submit has returned. Methods of class query only read. Methods of class write create or change something that can
// be undone.
TEST(MethodNameTest, EachMethodHasTheClassThatFitsItsPossibleHarm) {
  std::map<std::string, std::string> classes;
  for (const ApiMethod& method : Set().methods()) {
    const std::string name = ShortName(method.full_name);
    if (name.empty()) continue;
    classes[name] = v1::PolicyClass_Name(method.policy_class) + (method.general ? " general" : "");
  }
  std::map<std::string, std::string> expected = {
      {"GeneralService/QueryOperation", "POLICY_CLASS_DANGEROUS general"},
      {"GeneralService/SubmitOperation", "POLICY_CLASS_DANGEROUS general"},
  };
  for (const auto& [name, rights] : AllExpectedRights()) {
    expected[name] = absl::StrCat("POLICY_CLASS_", absl::AsciiStrToUpper(rights.policy_class));
  }
  EXPECT_THAT(classes, UnorderedElementsAreArray(expected));
}

TEST(MethodNameTest, EachMethodHasTheOtherRightsThatFitItsPossibleHarm) {
  for (const ApiMethod& method : Set().methods()) {
    const auto expected = AllExpectedRights().find(ShortName(method.full_name));
    if (expected == AllExpectedRights().end()) continue;
    EXPECT_EQ(method.since, expected->second.since) << method.full_name;
    EXPECT_EQ(method.internal, expected->second.internal) << method.full_name;
    EXPECT_EQ(method.moves_unread_amount, expected->second.moves_unread_amount) << method.full_name;
  }
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
  EXPECT_EQ(ClassNameOf(v1::POLICY_CLASS_QUERY), "query");
}

}  // namespace
}  // namespace stampgate
