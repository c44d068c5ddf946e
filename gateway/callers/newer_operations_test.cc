// Tests what callers may do if the set of operations has newer ones than the operator has accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gateway/callers/caller.h"
#include "gateway/callers/description.h"
#include "gateway/callers/directory.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kGetEvent[] = "/stampgate.v1.EventService/GetEvent";
constexpr char kListEvents[] = "/stampgate.v1.EventService/ListEvents";

const OperationSet& Operations() {
  static const auto& set = *new OperationSet::Shared(testing::ChangedOperations(
      {{"PolicyService/GetPolicy", "since: '2026-08-10'"},
       {"EventService/GetEvent", "since: '2026-09-22'"},
       {"OrganizationService/UpdateOrganizationName", "since: '2026-09-22'"},
       {"UserService/GetAuthenticators", "since: '2026-09-22' internal: true"},
       {"EarnService/EarnWithdraw", "since: '2026-09-22'"},
       {"WalletService/ExportWalletAccount", "since: '2026-09-22' moves_unread_amount: true"}}));
  return *set;
}

config::v1::Caller ConfigOf(const std::string& text) { return testing::Proto<config::v1::Caller>(text); }

Caller::Decision Decide(const Caller& caller, absl::string_view method) {
  Question question;
  question.method = method;
  question.organization_id = "o";
  return caller.Decide(question);
}

TEST(NewerOperationsTest, ACallerMayCallANewerMethodOfItsClassFromItsDayOn) {
  const config::v1::Caller config = ConfigOf("grants {classes: POLICY_CLASS_QUERY organizations: 'o'}");
  EXPECT_FALSE(Decide(Caller(config, Operations(), "2026-08-09"), kGetPolicy).allowed);
  EXPECT_EQ(Decide(Caller(config, Operations(), "2026-08-09"), kGetPolicy).why, "no grant has this method");
  EXPECT_TRUE(Decide(Caller(config, Operations(), "2026-08-10"), kGetPolicy).allowed);
}

TEST(NewerOperationsTest, ANewerEventMethodHasNoOrganizationsBeforeItsDay) {
  const config::v1::Caller config = ConfigOf("grants {classes: POLICY_CLASS_EVENTS organizations: 'o'}");
  EXPECT_TRUE(Caller(config, Operations(), "2026-09-21").OrganizationsOf(kGetEvent).empty());
  EXPECT_TRUE(Caller(config, Operations(), "2026-09-21").OrganizationsOf(kListEvents).Contains("o"));
  EXPECT_TRUE(Caller(config, Operations(), "2026-09-22").OrganizationsOf(kGetEvent).Contains("o"));
}

TEST(NewerOperationsTest, TheDirectoryUsesTheDayOfTheConfig) {
  for (const auto& [day, allowed] : {std::pair("", false), std::pair("2026-08-10", true)}) {
    const CallerDirectory directory(
        testing::Proto<config::v1::Config>(
            absl::StrCat("callers {name: 'c' loopback: true grants {classes: POLICY_CLASS_QUERY organizations: 'o'}}"
                         "class_grants_as_of: '",
                         day, "'")),
        Operations());
    Peer peer;
    peer.plaintext_loopback = true;
    const CallerDirectory::Callers callers = directory.Find(peer);
    ASSERT_EQ(callers.size(), 1);
    EXPECT_EQ(Decide(*callers.front(), kGetPolicy).allowed, allowed) << day;
  }
}

TEST(NewerOperationsTest, TheDescriptionListsTheMethodsUpToTheDay) {
  const config::v1::Caller config = ConfigOf("grants {classes: POLICY_CLASS_WRITE organizations: 'o'}");
  const auto describe = [&](absl::string_view day) {
    return absl::StrJoin(DescribeGrants(config, Operations(), day), "\n");
  };
  constexpr char kNewer[] = "  OrganizationService/UpdateOrganizationName (write)";
  constexpr char kOld[] = "  SmartContractService/CreateSmartContractInterface (write)";
  EXPECT_THAT(describe("2026-09-21"), AllOf(HasSubstr(kOld), Not(HasSubstr(kNewer))));
  EXPECT_THAT(describe("2026-09-22"), AllOf(HasSubstr(kOld), HasSubstr(kNewer)));
}

TEST(NewerOperationsTest, TheGainsAreTheNewerMethodsOfEachGrant) {
  const config::v1::Caller config = ConfigOf(
      "grants {classes: POLICY_CLASS_LOGIN organizations: 'o'}"
      "grants {classes: [POLICY_CLASS_QUERY, POLICY_CLASS_WRITE] methods: 'PolicyService/GetPolicy' organizations: 'o'}"
      "grants {classes: POLICY_CLASS_QUERY all_organizations: true}"
      "grants {classes: POLICY_CLASS_DANGEROUS organizations: 'o' key: 'k' amount_limits {chain: 'eip155:1'}}");
  EXPECT_EQ(absl::StrJoin(DescribeGains(config, Operations(), ""), "\n"),
            "grant 2: o\n"
            "  OrganizationService/UpdateOrganizationName (write)\n"
            "grant 3: all organizations\n"
            "  PolicyService/GetPolicy (query)\n"
            "grant 4: o, key k, any amount on eip155:1 of any\n"
            "  EarnService/EarnWithdraw (dangerous)");
  EXPECT_THAT(DescribeGains(config, Operations(), "2026-09-22"), IsEmpty());
}

}  // namespace
}  // namespace stampgate
