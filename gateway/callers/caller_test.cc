#include "gateway/callers/caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "stamp/secret/sha256.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Caller CallerOf(const std::string& text) {
  return Caller(testing::Proto<config::v1::Caller>(text), *OperationSet::BuiltIn());
}

Question Ask(absl::string_view method, absl::string_view organization_id) {
  Question question;
  question.method = method;
  question.organization_id = organization_id;
  return question;
}

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kWithdraw[] = "/stampgate.v1.EarnService/EarnWithdraw";
constexpr char kList[] = "/stampgate.v1.EventService/ListEvents";
constexpr char kSubscribe[] = "/stampgate.v1.EventService/Subscribe";

std::string HexDigest(absl::string_view token) {
  const auto digest = Sha256(token);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

TEST(CallerTest, WithoutGrantsNothingIsAllowed) {
  const Caller caller = CallerOf("name: 'a'");
  const Caller::Decision decision = caller.Decide(Ask(kGetPolicy, "o"));
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.key, "");
  EXPECT_EQ(decision.why, "no grant has this method");
}

TEST(CallerTest, TheWeightIsOneByDefault) {
  EXPECT_EQ(CallerOf("name: 'a'").weight(), 1);
  EXPECT_EQ(CallerOf("name: 'a' weight: 7").weight(), 7);
}

TEST(CallerTest, TheFirstGrantThatAllowsChoosesTheKey) {
  const Caller caller = CallerOf(
      "grants {methods: 'PolicyService/GetPolicy' organizations: 'a' key: 'one'}"
      "grants {methods: 'PolicyService/GetPolicy' organizations: ['a', 'b'] key: 'two'}"
      "grants {classes: POLICY_CLASS_QUERY all_organizations: true}"
      "grants {classes: POLICY_CLASS_QUERY all_organizations: true key: 'never'}");
  EXPECT_EQ(caller.Decide(Ask(kGetPolicy, "a")).key, "one");
  EXPECT_EQ(caller.Decide(Ask(kGetPolicy, "b")).key, "two");
  EXPECT_TRUE(caller.Decide(Ask(kGetPolicy, "c")).allowed);
  EXPECT_EQ(caller.Decide(Ask(kGetPolicy, "c")).key, "");
}

TEST(CallerTest, IfAGrantRefusesTheNextGrantDecides) {
  const Caller caller = CallerOf(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o' key: 'small'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}"
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o' key: 'large'"
      "        amount_limits {chain: 'eip155:1' max_amount: '1000'}}");
  Question question = Ask(kWithdraw, "o");
  const auto key = [&](const char* amount) {
    const testing::Parsed parsed(
        testing::OperationOf("EarnWithdraw"),
        absl::StrCat("parameters {chain_caip2: EARN_CHAIN_EIP155_1 amount_value: '", amount, "'}"));
    question.request = &*parsed;
    const Caller::Decision decision = caller.Decide(question);
    EXPECT_EQ(decision.allowed, !decision.key.empty());
    EXPECT_EQ(decision.allowed, decision.why.empty());
    return decision.key;
  };
  EXPECT_EQ(key("10"), "small");
  EXPECT_EQ(key("11"), "large");
  EXPECT_EQ(key("1000"), "large");
  EXPECT_EQ(key("1001"), "");
  EXPECT_EQ(key("MAX"), "");
}

TEST(CallerTest, ADenialNamesTheMissingGrant) {
  const Caller caller = CallerOf(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o' amount_limits {chain: 'eip155:1' max_amount: "
      "'5'}}"
      "grants {methods: 'PolicyService/GetPolicy' organizations: 'o'}");
  Question question = Ask(kWithdraw, "o");
  const testing::Parsed parsed(testing::OperationOf("EarnWithdraw"), "parameters {amount_value: '6'}");
  question.request = &*parsed;
  EXPECT_EQ(caller.Decide(question).why, "amount_value is not within amount_limits");
  EXPECT_EQ(caller.Decide(Ask(kGetPolicy, "p")).why, "no grant has this method for this organization");
  EXPECT_EQ(caller.Decide(Ask("/stampgate.v1.UserService/GetAuthenticators", "o")).why, "no grant has this method");
  question = Ask("/stampgate.v1.GeneralService/QueryOperation", "o");
  question.general = true;
  question.general_path = "whoami";
  EXPECT_EQ(caller.Decide(question).why, "no grant has this path and activity type");
}

TEST(CallerTest, TheOrganizationsOfAnEventMethodAreTheUnionOfItsGrants) {
  const Caller caller = CallerOf(
      "grants {methods: 'EventService/ListEvents' organizations: ['a', 'b']}"
      "grants {classes: POLICY_CLASS_EVENTS organizations: 'c'}"
      "grants {classes: POLICY_CLASS_QUERY all_organizations: true}");
  EXPECT_THAT(caller.OrganizationsOf(kList).ids, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(caller.OrganizationsOf(kList).all);
  EXPECT_THAT(caller.OrganizationsOf(kSubscribe).ids, ElementsAre("c"));
  EXPECT_FALSE(caller.OrganizationsOf(kSubscribe).all);
  EXPECT_THAT(caller.OrganizationsOf(kWithdraw).ids, IsEmpty());
  EXPECT_FALSE(caller.OrganizationsOf(kWithdraw).all);
  EXPECT_FALSE(caller.OrganizationsOf("").all);
}

TEST(CallerTest, MethodsThatTheSameGrantsAllowShareOneSet) {
  const Caller one = CallerOf("grants {classes: POLICY_CLASS_EVENTS organizations: ['a', 'b']}");
  EXPECT_THAT(one.OrganizationsOf(kList).ids, ElementsAre("a", "b"));
  EXPECT_EQ(&one.OrganizationsOf(kList), &one.OrganizationsOf(kSubscribe));
  const Caller two = CallerOf(
      "grants {classes: POLICY_CLASS_EVENTS organizations: 'a'} grants {classes: POLICY_CLASS_EVENTS organizations: "
      "'b'} grants {methods: 'EventService/GetEvent' organizations: 'c'}");
  EXPECT_EQ(&two.OrganizationsOf(kList), &two.OrganizationsOf(kSubscribe));
  EXPECT_NE(&two.OrganizationsOf(kList), &two.OrganizationsOf("/stampgate.v1.EventService/GetEvent"));
}

TEST(CallerTest, MethodsOfOtherClassesThanEventsHaveNoOrganizations) {
  const Caller caller = CallerOf("grants {classes: [POLICY_CLASS_QUERY, POLICY_CLASS_EVENTS] organizations: 'a'}");
  EXPECT_THAT(caller.OrganizationsOf(kList).ids, ElementsAre("a"));
  EXPECT_THAT(caller.OrganizationsOf(kGetPolicy).ids, IsEmpty());
}

// EventService uses OrganizationsOf to find the organizations whose events a caller may see. OrganizationsOf returns
// organizations only for methods of class events.
TEST(CallerTest, AllMethodsOfTheEventServiceAreOfClassEvents) {
  int methods = 0;
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
    if (method.method->service()->name() != "EventService") continue;
    ++methods;
    EXPECT_EQ(method.policy_class, v1::POLICY_CLASS_EVENTS) << method.full_name;
  }
  EXPECT_GT(methods, 0);
}

TEST(CallerTest, OneGrantForAllOrganizationsGivesTheCallerAllOrganizations) {
  const Caller caller = CallerOf(
      "grants {classes: POLICY_CLASS_EVENTS organizations: 'a'} grants {classes: POLICY_CLASS_EVENTS "
      "all_organizations: true}");
  EXPECT_TRUE(caller.OrganizationsOf(kList).all);
}

TEST(CallerTest, ATokenIsKnownByItsDigest) {
  const std::string other = absl::AsciiStrToUpper(HexDigest("other token"));
  const Caller caller = CallerOf(absl::StrCat("token_sha256: ['", HexDigest("token"), "', '", other, "']"));
  EXPECT_TRUE(caller.wants_token());
  EXPECT_TRUE(caller.HasToken(Sha256("token")));
  EXPECT_TRUE(caller.HasToken(Sha256("other token")));
  EXPECT_FALSE(caller.HasToken(Sha256("")));
  EXPECT_FALSE(caller.HasToken(Sha256("token ")));
  EXPECT_FALSE(caller.HasToken({}));
  for (size_t i = 0; i < 32; ++i) {
    auto digest = Sha256("token");
    digest[i] ^= 1;
    EXPECT_FALSE(caller.HasToken(digest)) << i;
  }
}

TEST(CallerTest, ACallerWithoutTokensMatchesNoToken) {
  const Caller plain = CallerOf("name: 'a' loopback: true");
  EXPECT_FALSE(plain.wants_token());
  EXPECT_FALSE(plain.HasToken({}));
  EXPECT_FALSE(plain.HasToken(Sha256("")));
  EXPECT_FALSE(plain.HasSubject("", ""));
}

TEST(CallerTest, AJsonWebTokenIsKnownByItsIssuerAndItsSubject) {
  const Caller caller = CallerOf("token {issuer: 'cluster' subjects: ['system:a', 'system:b']}");
  EXPECT_TRUE(caller.wants_token());
  EXPECT_TRUE(caller.HasSubject("cluster", "system:a"));
  EXPECT_TRUE(caller.HasSubject("cluster", "system:b"));
  EXPECT_FALSE(caller.HasSubject("other", "system:a"));
  EXPECT_FALSE(caller.HasSubject("", "system:a"));
  for (const char* subject : {"", "system:c", "system:", "system:ab", "SYSTEM:A", "system:a "}) {
    EXPECT_FALSE(caller.HasSubject("cluster", subject)) << subject;
  }
  EXPECT_FALSE(caller.HasToken({}));
}

}  // namespace
}  // namespace stampgate
