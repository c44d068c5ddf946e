#include "gateway/policy/class_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/policy/grant.h"
#include "translate/operation_set/merge.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/operations.h"
#include "translate/testing/small_set.h"

namespace stampgate {
namespace {

using Fit = Grant::Fit;

constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kGetAuthenticators[] = "/stampgate.v1.UserService/GetAuthenticators";
constexpr char kListAccounts[] = "/stampgate.v1.WalletService/ListWalletAccounts";
constexpr char kWithdraw[] = "/stampgate.v1.EarnService/EarnWithdraw";
constexpr char kApprove[] = "/stampgate.v1.ActivityService/ApproveActivity";
constexpr char kCannotCheck[] = "amount_limits cannot be checked for this method: grant it without them";

// GetPolicy and DeleteApiKeys came with later releases. GetAuthenticators is internal.
const OperationSet& Operations() {
  static const auto& set = *new OperationSet::Shared(
      testing::ChangedOperations({{"PolicyService/GetPolicy", "since: '2026-08-10'"},
                                  {"UserService/DeleteApiKeys", "since: '2026-09-22'"},
                                  {"UserService/GetAuthenticators", "internal: true"},
                                  {"ActivityService/ApproveActivity", "moves_unread_amount: true"}}));
  return *set;
}

Grant GrantOf(const std::string& text, absl::string_view as_of = "") {
  return Grant(testing::Proto<config::v1::Grant>(text), Operations(), as_of);
}

Grant::Answer Ask(const Grant& grant, absl::string_view method, absl::string_view organization = "o") {
  Question question;
  question.method = method;
  question.organization_id = organization;
  return grant.Ask(question);
}

TEST(ClassCoverageTest, AClassCoversAMethodFromItsDayOn) {
  const std::string query = "classes: POLICY_CLASS_QUERY all_organizations: true";
  for (const char* as_of : {"", "2026-08-09", "2025-12-31"}) {
    EXPECT_FALSE(GrantOf(query, as_of).HasMethod(kGetPolicy)) << as_of;
    EXPECT_EQ(Ask(GrantOf(query, as_of), kGetPolicy).fit, Fit::kNotTheMethod) << as_of;
  }
  for (const char* as_of : {"2026-08-10", "2026-08-11", "2026-09-22", "2027-01-01"}) {
    EXPECT_TRUE(GrantOf(query, as_of).HasMethod(kGetPolicy)) << as_of;
    EXPECT_EQ(Ask(GrantOf(query, as_of), kGetPolicy).fit, Fit::kAllowed) << as_of;
  }
}

TEST(ClassCoverageTest, AClassAlwaysCoversItsMethodsThatHaveNoDay) {
  for (const char* as_of : {"", "2020-01-01", "2026-09-22"}) {
    EXPECT_TRUE(GrantOf("classes: POLICY_CLASS_QUERY all_organizations: true", as_of).HasMethod(kListAccounts))
        << as_of;
  }
}

TEST(ClassCoverageTest, NoClassCoversAnInternalMethod) {
  for (const char* as_of : {"", "2026-09-22"}) {
    const Grant all = GrantOf(
        "classes: [POLICY_CLASS_QUERY, POLICY_CLASS_LOGIN, POLICY_CLASS_WRITE, POLICY_CLASS_DANGEROUS,"
        " POLICY_CLASS_EVENTS] all_organizations: true",
        as_of);
    EXPECT_FALSE(all.HasMethod(kGetAuthenticators));
    EXPECT_EQ(Ask(all, kGetAuthenticators).fit, Fit::kNotTheMethod);
  }
}

const ApiMethod& MethodOf(absl::string_view full_name) { return *Operations().FindMethod(full_name); }

TEST(ClassCoverageTest, AClauseStatesWhyNoClassCoversAMethodAndWhatTheOperatorCanDo) {
  EXPECT_EQ(ExplainUncovered(MethodOf(kGetPolicy), ""),
            "GetPolicy is of 2026-08-10 and class_grants_as_of is not set: set it to this day or later, or name the "
            "method in a grant");
  EXPECT_EQ(ExplainUncovered(MethodOf(kGetPolicy), "2026-08-09"),
            "GetPolicy is of 2026-08-10 and class_grants_as_of is 2026-08-09, which is earlier: set it to this day or "
            "later, or name the method in a grant");
  EXPECT_EQ(ExplainUncovered(MethodOf(kGetAuthenticators), "2026-09-22"),
            "GetAuthenticators is internal and in no class: a grant must name it");
  EXPECT_EQ(ExplainUncovered(MethodOf("/stampgate.v1.GeneralService/QueryOperation"), "2026-09-22"),
            "QueryOperation is in no class: a grant must list the operation in general_operations");
}

TEST(ClassCoverageTest, EachMethodThatNoClassCoversHasSuchAClause) {
  for (const char* as_of : {"", "2026-08-09", "2026-09-22"}) {
    for (const ApiMethod& method : Operations().methods()) {
      EXPECT_EQ(ExplainUncovered(method, as_of).empty(), ClassesCover(method, as_of)) << method.full_name << as_of;
    }
  }
}

TEST(ClassCoverageTest, ATextStatesHowManyMethodsAClassCoversWithoutADay) {
  const std::string text = DescribeUnsetDay(Operations(), v1::POLICY_CLASS_QUERY, "");
  int all = 0;
  for (const ApiMethod& method : Operations().methods()) {
    all += method.policy_class == v1::POLICY_CLASS_QUERY && ClassesCover(method, "2026-09-22");
  }
  EXPECT_EQ(text, absl::StrCat("class query covers ", all - 1, " of ", all, " methods: class_grants_as_of is not set"));
  EXPECT_EQ(DescribeUnsetDay(Operations(), v1::POLICY_CLASS_EVENTS, ""), "");
  EXPECT_EQ(DescribeUnsetDay(Operations(), v1::POLICY_CLASS_QUERY, "2020-01-01"), "");
}

constexpr char kBoil[] = "/kitchen.KettleService/Boil";

// Returns Operations() with a method that a file adds. `rule` are the values of its option.
OperationSet::Shared WithBoil(const std::string& rule) {
  const OperationSet::Shared added = testing::SetOfTexts({absl::StrCat(
      "name: 'kettle.proto' package: 'kitchen' syntax: 'proto3' dependency: 'stampgate/v1/options.proto' message_type {"
      " name: 'Kettle' } service { name: 'KettleService' method { name: 'Boil' input_type: '.kitchen.Kettle'"
      " output_type: '.kitchen.Kettle' options { [stampgate.v1.operation] { policy_class: POLICY_CLASS_QUERY ",
      rule, " } } } }")});
  const OperationSet::Shared base = testing::ChangedOperations(
      {{"PolicyService/GetPolicy", "since: '2026-08-10'"}, {"UserService/DeleteApiKeys", "since: '2026-09-22'"}});
  return MergeOperationSets(base, added).value().set;
}

TEST(ClassCoverageTest, AClassCoversAMethodOfAFileOnlyIfItsDayIsAfterTheBuiltInOnesAndAccepted) {
  struct Row {
    const char* rule;
    const char* as_of;
    Coverage coverage;
  };
  for (const Row& row : {Row{"", "", Coverage::kNoNewDay}, Row{"", "2026-09-22", Coverage::kNoNewDay},
                         Row{"since: '2020-01-01'", "2026-09-22", Coverage::kNoNewDay},
                         Row{"since: '2026-09-22'", "2026-09-22", Coverage::kNoNewDay},
                         Row{"since: '2026-09-23'", "", Coverage::kNotAccepted},
                         Row{"since: '2026-09-23'", "2026-09-22", Coverage::kNotAccepted},
                         Row{"since: '2026-09-23'", "2026-09-23", Coverage::kCovered},
                         Row{"since: '2026-09-23' internal: true", "2026-09-23", Coverage::kInternal},
                         Row{"since: '2026-09-23' general: true", "2026-09-23", Coverage::kGeneral}}) {
    const OperationSet::Shared set = WithBoil(row.rule);
    EXPECT_EQ(CoverageOf(*set->FindMethod(kBoil), row.as_of), row.coverage) << row.rule << row.as_of;
    const Grant by_class(testing::Proto<config::v1::Grant>("classes: POLICY_CLASS_QUERY all_organizations: true"), *set,
                         row.as_of);
    EXPECT_EQ(by_class.HasMethod(kBoil), row.coverage == Coverage::kCovered) << row.rule << row.as_of;
    const Grant by_name(testing::Proto<config::v1::Grant>("methods: 'kitchen.KettleService/Boil' organizations: 'o'"),
                        *set, row.as_of);
    EXPECT_TRUE(by_name.HasMethod(kBoil)) << row.rule;
  }
}

TEST(ClassCoverageTest, ALineNamesEachMethodOfAFileThatNoClassCovers) {
  EXPECT_EQ(ExplainUncovered(*WithBoil("")->FindMethod(kBoil), "2026-09-22"),
            "Boil is of a file of `operations` that gives it no new day, so it is in no class: a grant must name it");
  EXPECT_EQ(DescribeNamedOnly(Operations()), "");
  EXPECT_EQ(
      DescribeNamedOnly(*WithBoil("")),
      "no class covers kitchen.KettleService/Boil, which a file adds without a day after 2026-09-22: a grant must "
      "name it\n");
  EXPECT_EQ(DescribeNamedOnly(*WithBoil("since: '2026-09-23' internal: true")),
            "no class covers kitchen.KettleService/Boil, which a file adds as internal: a grant must name it\n");
  EXPECT_EQ(DescribeNamedOnly(*WithBoil("since: '2026-09-23'")), "");
  EXPECT_EQ(DescribeUncovered(*WithBoil("since: '2026-09-23'"), "2026-09-22"),
            "class grants do not cover 1 operation that is newer than class_grants_as_of, which is 2026-09-22; the "
            "newest is of 2026-09-23\n");
}

TEST(ClassCoverageTest, TheNameOfAMethodGrantsItWhateverItsDay) {
  const Grant grant =
      GrantOf("methods: ['PolicyService/GetPolicy', 'UserService/GetAuthenticators'] organizations: 'o'");
  EXPECT_EQ(Ask(grant, kGetPolicy).fit, Fit::kAllowed);
  EXPECT_EQ(Ask(grant, kGetAuthenticators).fit, Fit::kAllowed);
}

TEST(ClassCoverageTest, ALineStatesHowManyOperationsAreNewer) {
  EXPECT_EQ(
      DescribeUncovered(Operations(), ""),
      "class grants do not cover 2 operations that are newer than class_grants_as_of, which is not set; the newest "
      "is of 2026-09-22\n");
  EXPECT_EQ(DescribeUncovered(Operations(), "2026-08-10"),
            "class grants do not cover 1 operation that is newer than class_grants_as_of, which is 2026-08-10; the "
            "newest is of 2026-09-22\n");
  EXPECT_EQ(DescribeUncovered(Operations(), "2026-09-22"), "");
}

TEST(ClassCoverageTest, AGrantWithAmountLimitsAllowsNoMethodThatMovesAnUnreadAmount) {
  for (const char* what : {"classes: POLICY_CLASS_DANGEROUS", "methods: 'ActivityService/ApproveActivity'"}) {
    const Grant grant =
        GrantOf(absl::StrCat(what, " organizations: 'o' amount_limits {chain: 'eip155:1' max_amount: '5'}"));
    EXPECT_FALSE(grant.HasMethod(kApprove)) << what;
    EXPECT_EQ(Ask(grant, kApprove).fit, Fit::kNotTheValues) << what;
    EXPECT_EQ(Ask(grant, kApprove).why, kCannotCheck) << what;
    EXPECT_EQ(Ask(grant, kApprove, "p").fit, Fit::kNotTheOrganization) << what;
  }
}

TEST(ClassCoverageTest, AGrantWithAmountLimitsAllowsTheOtherMethodsOfItsClass) {
  const Grant grant =
      GrantOf("classes: POLICY_CLASS_DANGEROUS organizations: 'o' amount_limits {chain: 'eip155:1' max_amount: '5'}");
  EXPECT_TRUE(grant.HasMethod(kWithdraw));
  EXPECT_EQ(Ask(grant, kWithdraw).fit, Fit::kAllowed);
}

TEST(ClassCoverageTest, AGrantWithoutAmountLimitsAllowsAMethodThatMovesAnUnreadAmount) {
  const Grant grant = GrantOf("classes: POLICY_CLASS_DANGEROUS organizations: 'o'");
  EXPECT_TRUE(grant.HasMethod(kApprove));
  EXPECT_EQ(Ask(grant, kApprove).fit, Fit::kAllowed);
}

}  // namespace
}  // namespace stampgate
