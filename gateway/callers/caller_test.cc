#include "gateway/callers/caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Pair;

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
constexpr char kSeek[] = "/stampgate.v1.SubscriptionService/Seek";

std::string HexDigest(absl::string_view token) {
  const auto digest = Sha256(token);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

// Returns the ids of all parts.
std::set<std::string> IdsOf(const OrganizationSet& organizations) {
  std::set<std::string> ids;
  for (const auto& part : organizations.parts) part->ForEach([&ids](absl::string_view id) { ids.emplace(id); });
  return ids;
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

TEST(CallerTest, AnExplanationStatesWhatTheGrantsLackForAMethod) {
  const auto explain = [](const Caller& caller, absl::string_view method) {
    return caller.ExplainMissing(*OperationSet::BuiltIn()->FindMethod(method));
  };
  const Caller query = CallerOf("grants {classes: POLICY_CLASS_QUERY organizations: 'o'}");
  EXPECT_EQ(explain(query, "/stampgate.v1.WalletService/ListWallets"),
            "a grant has class query, but ListWallets is of 2026-09-22 and class_grants_as_of is not set: set it to "
            "this day or later, or name the method in a grant");
  EXPECT_EQ(explain(query, "/stampgate.v1.ActivityService/GetActivity"),
            "no grant has class dangerous or names the method");
  EXPECT_EQ(explain(query, "/stampgate.v1.OrganizationService/GetOrganization"),
            "GetOrganization is internal and in no class: a grant must name it");
  const Caller dangerous = CallerOf("grants {classes: POLICY_CLASS_DANGEROUS organizations: 'o'}");
  EXPECT_EQ(explain(dangerous, "/stampgate.v1.OrganizationService/GetOrganization"),
            "a grant has class dangerous, but GetOrganization is internal and in no class: a grant must name it");
  EXPECT_EQ(explain(CallerOf("name: 'a'"), kGetPolicy), "no grant has class query or names the method");
}

TEST(CallerTest, AGrantCanRefuseASubmitWithoutAnIdempotencyKey) {
  constexpr char kCreate[] = "/stampgate.v1.PolicyService/CreatePolicies";
  const testing::Parsed parsed(testing::OperationOf("CreatePolicies"), "organization_id: 'o'");
  Question question = Ask(kCreate, "o");
  const std::string grant =
      "grants {methods: 'PolicyService/CreatePolicies' organizations: 'o' key: 'keyed' "
      "require_idempotency_key: true}";
  const Caller caller = CallerOf(grant);
  question.lacks_key = true;
  EXPECT_TRUE(caller.Decide(question).allowed);  // the request has not been read
  question.request = &*parsed;
  const Caller::Decision denied = caller.Decide(question);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.closest, Grant::Fit::kNoKey);
  EXPECT_EQ(denied.why, "idempotency_key is not set, and the grant has require_idempotency_key");
  // The first grant that allows the call counts, as for every other rule.
  const Caller both =
      CallerOf(grant + "grants {methods: 'PolicyService/CreatePolicies' organizations: 'o' key: 'keyless'}");
  EXPECT_EQ(both.Decide(question).key, "keyless");
  question.lacks_key = false;
  EXPECT_EQ(caller.Decide(question).key, "keyed");
  EXPECT_EQ(both.Decide(question).key, "keyed");
}

TEST(CallerTest, AMissingKeyIsTheReasonOnlyIfAGrantAllowsTheCallOtherwise) {
  const Caller caller = CallerOf(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o' require_idempotency_key: true"
      " amount_limits {chain: 'eip155:1' max_amount: '5'}}"
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'p'}");
  const testing::Parsed parsed(testing::OperationOf("EarnWithdraw"), "parameters {amount_value: '6'}");
  Question question = Ask(kWithdraw, "o");
  question.request = &*parsed;
  question.lacks_key = true;
  EXPECT_EQ(caller.Decide(question).closest, Grant::Fit::kNotTheValues);
  question.organization_id = "q";
  EXPECT_EQ(caller.Decide(question).closest, Grant::Fit::kNotTheOrganization);
}

TEST(CallerTest, TheOrganizationsOfAnEventMethodAreTheUnionOfItsGrants) {
  const Caller caller = CallerOf(
      "grants {methods: 'EventService/ListEvents' organizations: ['a', 'b']}"
      "grants {classes: POLICY_CLASS_EVENTS organizations: 'c'}"
      "grants {classes: POLICY_CLASS_QUERY all_organizations: true}");
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kList)), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(caller.OrganizationsOf(kList).all);
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kSubscribe)), ElementsAre("c"));
  EXPECT_FALSE(caller.OrganizationsOf(kSubscribe).all);
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kWithdraw)), IsEmpty());
  EXPECT_FALSE(caller.OrganizationsOf(kWithdraw).all);
  EXPECT_FALSE(caller.OrganizationsOf("").all);
}

// An organizations file can have millions of ids, so nothing may copy them.
TEST(CallerTest, TheIdsOfAFileAreShared) {
  const auto ids = std::make_shared<const OrganizationIds>(std::vector<absl::string_view>{"a", "b"});
  const auto config = testing::Proto<config::v1::Caller>(
      "grants {classes: [POLICY_CLASS_QUERY, POLICY_CLASS_EVENTS] organizations_file: 'f'}"
      "grants {classes: POLICY_CLASS_EVENTS organizations: 'c'}");
  const Caller caller(config, *OperationSet::BuiltIn(), "", {ids, nullptr});
  EXPECT_TRUE(caller.Decide(Ask(kGetPolicy, "a")).allowed);
  EXPECT_FALSE(caller.Decide(Ask(kGetPolicy, "c")).allowed);
  for (const char* method : {kList, kSubscribe}) {
    EXPECT_THAT(IdsOf(caller.OrganizationsOf(method)), ElementsAre("a", "b", "c"));
    EXPECT_EQ(caller.OrganizationsOf(method).parts.front(), ids);
  }
}

TEST(CallerTest, OnlyLocalMethodsHaveOrganizations) {
  const Caller caller = CallerOf(
      "grants {classes: [POLICY_CLASS_QUERY, POLICY_CLASS_EVENTS] organizations: 'a'}"
      "grants {classes: POLICY_CLASS_DANGEROUS organizations: 'b'}");
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kList)), ElementsAre("a"));
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kSeek)), ElementsAre("b"));
  EXPECT_THAT(IdsOf(caller.OrganizationsOf(kGetPolicy)), IsEmpty());
}

// EventService and SubscriptionService use OrganizationsOf to find the organizations whose events a caller may see.
// OrganizationsOf returns organizations only for local methods.
TEST(CallerTest, AllMethodsOfTheServicesOfEventsAreLocal) {
  std::map<std::string, int> methods;
  for (const ApiMethod& method : OperationSet::BuiltIn()->methods()) {
    const std::string service(method.method->service()->name());
    const bool is_of_events = service == "EventService" || service == "SubscriptionService";
    EXPECT_EQ(method.kind == v1::OPERATION_KIND_LOCAL, is_of_events) << method.full_name;
    if (is_of_events) ++methods[service];
  }
  EXPECT_THAT(methods, ElementsAre(Pair("EventService", Gt(0)), Pair("SubscriptionService", Gt(0))));
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
