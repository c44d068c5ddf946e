// Tests class_grants_as_of, and the grants of methods that move amounts which no field states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/config/caller_report.h"
#include "gateway/config/config.h"
#include "gateway/config/reloaded_part.h"
#include "gateway/config/testing.h"
#include "google/protobuf/util/message_differencer.h"
#include "translate/testing/changed_operations.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHead[] =
    "upstream: {base_url: 'https://host'}\n"
    "keys: [{name: all, file: a.key, all_organizations: true}]\n";
constexpr char kCaller[] = "callers: [{name: c, loopback: true, grants: [{classes: [query], organizations: [o]}]}]\n";

// Two operations came with later releases. The gateway cannot read the amount that an approved activity moves.
OperationSet::Shared Operations() {
  static const auto& set = *new OperationSet::Shared(
      testing::ChangedOperations({{"PolicyService/GetPolicy", "since: '2026-08-10'"},
                                  {"UserService/GetAuthenticators", "since: '2026-09-22'"},
                                  {"ActivityService/ApproveActivity", "moves_unread_amount: true"}}));
  return set;
}

absl::StatusOr<ParsedConfig> Parse(absl::string_view lines, OperationSet::Shared set = Operations()) {
  return ParseConfig(TestSnapshot(absl::StrCat(kHead, lines), "f"), std::move(set));
}
std::string Faults(absl::string_view lines, OperationSet::Shared set = Operations()) {
  return std::string(Parse(lines, std::move(set)).status().message());
}
std::string FaultsOfDay(absl::string_view day, OperationSet::Shared set = Operations()) {
  return Faults(absl::StrCat(kCaller, "class_grants_as_of: ", day, "\n"), std::move(set));
}
std::string FaultsOfGrant(absl::string_view grant) {
  return Faults(absl::StrCat("callers: [{name: c, loopback: true, grants: [{", grant, ", organizations: [o]}]}]\n"));
}
std::string Report(absl::string_view lines) {
  const absl::StatusOr<ParsedConfig> parsed = Parse(absl::StrCat(kCaller, lines));
  return parsed.ok() ? DescribeCaller(parsed->config, "c").value() : std::string(parsed.status().message());
}

TEST(ClassGrantsTest, ADayUpToTheNewestOperationIsValid) {
  for (const char* day : {"2020-02-29", "2026-08-10", "2026-09-21", "2026-09-22", "'2026-09-22'"}) {
    EXPECT_EQ(FaultsOfDay(day), "") << day;
  }
}

TEST(ClassGrantsTest, ADayMustBeADayOfTheCalendar) {
  for (const char* day : {"2026-9-22", "2026-02-30", "2026-09", "22.09.2026", "today", "2026-09-22T00:00:00Z"}) {
    EXPECT_EQ(FaultsOfDay(day), "f:4:21: class_grants_as_of: must be a day, such as 2026-09-22") << day;
  }
  EXPECT_THAT(FaultsOfDay("''"), HasSubstr("f:4:21: class_grants_as_of: must not be empty"));
}

TEST(ClassGrantsTest, ADayAfterTheNewestOperationIsAFault) {
  for (const char* day : {"2026-09-23", "2027-01-01", "9999-12-31"}) {
    EXPECT_EQ(FaultsOfDay(day),
              "f:4:21: class_grants_as_of: must not be later than the newest operation, which is of 2026-09-22")
        << day;
  }
}

TEST(ClassGrantsTest, ADayIsAFaultIfNoOperationHasADay) {
  EXPECT_EQ(FaultsOfDay("2026-09-22", testing::ChangedOperations({})),
            "f:4:21: class_grants_as_of: must not be given: no operation of this gateway has a day");
}

TEST(ClassGrantsTest, AReloadAppliesTheDay) {
  const auto config = testing::Proto<config::v1::Config>("class_grants_as_of: '2026-09-22'");
  EXPECT_TRUE(MessageDifferencer::Equals(ReloadedPart(config), config));
  EXPECT_TRUE(MessageDifferencer::Equals(FixedPart(config), config::v1::Config()));
}

TEST(ClassGrantsTest, TheReportListsWhatTheCallerWouldGain) {
  EXPECT_THAT(Report("class_grants_as_of: 2026-08-10\n"), HasSubstr("would gain with class_grants_as_of: 2026-09-22\n"
                                                                    "grant 1: o\n"
                                                                    "  UserService/GetAuthenticators (query)\n"
                                                                    "where a grant names no key"));
}

TEST(ClassGrantsTest, TheReportOmitsTheGainsOfACallerThatWouldGainNothing) {
  EXPECT_THAT(Report("class_grants_as_of: 2026-09-22\n"), Not(HasSubstr("would gain")));
}

TEST(ClassGrantsTest, AGrantWithAmountLimitsMustNotNameAMethodThatMovesAnUnreadAmount) {
  constexpr char kLimits[] = ", amount_limits: [{chain: 'eip155:1'}]";
  EXPECT_EQ(
      FaultsOfGrant(absl::StrCat("methods: [EarnService/EarnWithdraw, ActivityService/ApproveActivity]", kLimits)),
      "f:3:83: callers[0].grants[0].methods[1]: cannot be checked against amount_limits: use a separate grant for "
      "it");
  EXPECT_EQ(FaultsOfGrant(absl::StrCat("methods: [EarnService/EarnWithdraw]", kLimits)), "");
  EXPECT_EQ(FaultsOfGrant(absl::StrCat("classes: [dangerous]", kLimits)), "");
  EXPECT_EQ(FaultsOfGrant("methods: [ActivityService/ApproveActivity]"), "");
}

}  // namespace
}  // namespace stampgate
