#include "gateway/config/rules/member_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "translate/testing/renamed_member.h"

namespace stampgate {
namespace {

using ::stampgate::testing::OperationsWithoutRenamedMembers;
using ::stampgate::testing::OperationsWithRenamedMembers;

constexpr char kRest[] =
    "upstream: {base_url: https://u.example}\n"
    "keys: [{name: all, file: a.key, all_organizations: true}]\n"
    "callers: [{name: c, loopback: true, grants: [{methods: [PolicyService/GetPolicy], organizations: [o]}]}]\n";

absl::StatusOr<ParsedConfig> Parse(const std::string& day, OperationSet::Shared set = OperationsWithRenamedMembers()) {
  const std::string line = day.empty() ? "" : absl::StrCat("member_names_as_of: ", day, "\n");
  return ParseConfig(TestSnapshot(absl::StrCat(kRest, line), "f"), std::move(set));
}
std::string FaultsOf(const std::string& day, OperationSet::Shared set = OperationsWithRenamedMembers()) {
  return std::string(Parse(day, std::move(set)).status().message());
}

TEST(MemberNamesTest, ADayUpToTheNewestNameIsValid) {
  for (const char* day : {"", "2020-01-01", "2026-10-21", "2026-11-20"}) EXPECT_EQ(FaultsOf(day), "") << day;
}

TEST(MemberNamesTest, ADayThatSelectsNoNameIsAFault) {
  EXPECT_EQ(FaultsOf("2026-11-31"), "f:4:21: member_names_as_of: must be a day, such as 2026-09-22");
  EXPECT_EQ(FaultsOf("2026-11-21"),
            "f:4:21: member_names_as_of: must not be later than the newest name, which is of 2026-11-20");
  EXPECT_EQ(FaultsOf("2026-10-21", OperationsWithoutRenamedMembers()),
            "f:4:21: member_names_as_of: must not be given: no member of a request got another name");
}

TEST(MemberNamesTest, TheOperationsOfAConfigHaveTheNamesOfItsDay) {
  // The operations of the last config are kept, so each change of the day must make others.
  for (const char* day : {"2026-10-21", "", "2026-11-20", "2026-10-21"}) {
    const absl::StatusOr<ParsedConfig> parsed = Parse(day);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->config.operations()->Find("/stampgate.v1.EarnService/EarnWithdraw")->names_as_of, day);
  }
}

TEST(MemberNamesTest, TheLineForTheOperatorHasTheDaysAndTheNamesThatUpstreamReceives) {
  const auto table = OperationTable::Create("Service", OperationsWithRenamedMembers()).value();
  EXPECT_EQ(DescribeMemberNames(*table, ""),
            "upstream receives the oldest names of members that got another name on 2026-10-21, 2026-11-20 "
            "(member_names_as_of)\n");
  EXPECT_EQ(DescribeMemberNames(*table, "2026-10-21"),
            "upstream receives the names of 2026-10-21 of members that got another name on 2026-10-21, 2026-11-20 "
            "(member_names_as_of)\n");
  EXPECT_EQ(DescribeMemberNames(*OperationTable::Create("Service", OperationsWithoutRenamedMembers()).value(), ""), "");
}

}  // namespace
}  // namespace stampgate
