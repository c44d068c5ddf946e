#include "gateway/config/rules/subscription_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kStore[] = "store: {sqlite: {folder: .}}";

// The grants of the caller "c".
constexpr char kEvents[] = "{classes: [events], organizations: [o, p]}";

// Returns the text of a config whose `subscriptions` are in line 3.
std::string TextOf(absl::string_view subscriptions, absl::string_view store = kStore,
                   absl::string_view grants = kEvents) {
  return absl::StrCat(
      "upstream: {base_url: https://host}\n"
      "keys: [{name: a, file: a.key, all_organizations: true}]\n"
      "subscriptions: [",
      subscriptions, "]\n", store, "\ncallers: [{name: c, loopback: true, grants: [", grants,
      "]}, {name: d, dns_names: [d], grants: [{classes: [events], all_organizations: true}]}]\n");
}

absl::StatusOr<ParsedConfig> Parse(const std::string& text, const std::string& file = "f",
                                   ConfigFiles files = ConfigFiles::kAll, const Config* in_force = nullptr) {
  return ParseConfig(TestSnapshot(text, file, files), OperationSet::BuiltIn(), in_force);
}

std::string FaultsOf(const std::string& text) { return std::string(Parse(text).status().message()); }

std::vector<std::string> WarningsOf(const absl::StatusOr<ParsedConfig>& parsed) {
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->config.warnings() : std::vector<std::string>{"a fault"};
}

// A subscription of which `members` replace the valid members with the same names. In the config, the first member
// begins at column 18 of line 3.
std::string Subscription(absl::string_view first, absl::string_view callers = "[c]",
                         absl::string_view organizations = "organizations: [o]") {
  return absl::StrCat("{", first, first.empty() ? "" : ", ", "name: payouts, callers: ", callers, ", ", organizations,
                      "}");
}

std::string Report(absl::string_view subscription) { return FaultsOf(TextOf(subscription)); }

TEST(SubscriptionRulesTest, ASubscriptionHasDefaults) {
  const absl::StatusOr<ParsedConfig> parsed = Parse(TextOf(Subscription("")));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->config->subscriptions_size(), 1);
  const config::v1::Subscription& subscription = parsed->config->subscriptions(0);
  EXPECT_EQ(subscription.name(), "payouts");
  EXPECT_EQ(subscription.start(), "earliest");
  EXPECT_EQ(subscription.order_by(), config::v1::ORDER_BY_ACTIVITY);
  EXPECT_EQ(subscription.settle_within().seconds(), 30);
  EXPECT_EQ(subscription.max_deliveries(), 10u);
  EXPECT_EQ(subscription.max_unsettled_per_key(), 64u);
  EXPECT_THAT(parsed->config.warnings(), IsEmpty());
}

TEST(SubscriptionRulesTest, SubscriptionsMustHaveUniqueNames) {
  EXPECT_EQ(Report("{callers: [c], organizations: [o]}"), "f:3:17: subscriptions[0].name: is required");
  for (const char* bad : {"A", "a_b", "a b", "é", "a/b", "*"}) {
    EXPECT_EQ(Report(absl::StrCat("{name: '", bad, "', callers: [c], organizations: [o]}")),
              "f:3:24: subscriptions[0].name: must consist of a-z, 0-9 and -")
        << bad;
  }
  EXPECT_EQ(Report(absl::StrCat("{name: ", std::string(63, 'a'), ", callers: [c], organizations: [o]}")), "");
  EXPECT_EQ(Report(absl::StrCat("{name: ", std::string(64, 'a'), ", callers: [c], organizations: [o]}")),
            "f:3:24: subscriptions[0].name: must be no longer than 63 bytes");
  EXPECT_THAT(Report(absl::StrCat(Subscription(""), ", ", Subscription(""))),
              EndsWith("subscriptions[1].name: is already the name of subscriptions[0]"));
}

TEST(SubscriptionRulesTest, ThereAreAtMostAHundredSubscriptions) {
  std::string subscriptions;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&subscriptions, "{name: s", i, ", callers: [c], organizations: [o]}, ");
  }
  EXPECT_EQ(Report(subscriptions), "");
  EXPECT_EQ(Report(subscriptions + Subscription("")), "f:3:16: subscriptions: must be no more than 100");
}

TEST(SubscriptionRulesTest, ASubscriptionHasOrganizationsOrAllOfThem) {
  const auto report = [](absl::string_view organizations) { return Report(Subscription("", "[d]", organizations)); };
  EXPECT_EQ(report("organizations: [o, p]"), "");
  EXPECT_EQ(report("all_organizations: true"), "");
  const std::string rule =
      "subscriptions[0].organizations: must be given if, and only if, all_organizations is not true";
  EXPECT_THAT(report("all_organizations: false"), EndsWith(rule));
  EXPECT_THAT(report("all_organizations: true, organizations: [o]"), EndsWith(rule));
  EXPECT_THAT(report("organizations: [o, 'a b']"), HasSubstr("subscriptions[0].organizations[1]: must be an exact id"));
  EXPECT_THAT(report("organizations: [o, o]"), EndsWith("subscriptions[0].organizations[1]: is given twice"));
  std::string many;
  for (int i = 0; i <= 1000; ++i) absl::StrAppend(&many, "o", i, ", ");
  EXPECT_THAT(report(absl::StrCat("organizations: [", many, "]")),
              EndsWith("subscriptions[0].organizations: must be no more than 1000"));
}

TEST(SubscriptionRulesTest, ASubscriptionHasAThousandTypesAtMost) {
  std::string types;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&types, "t", i, ", ");
  EXPECT_EQ(Report(Subscription(absl::StrCat("types: [", types, "]"))), "");
  EXPECT_EQ(Report(Subscription(absl::StrCat("types: [", types, "t]"))),
            "f:3:25: subscriptions[0].types: must be no more than 1000");
}

TEST(SubscriptionRulesTest, TheStartIsAnEndOrATime) {
  for (const char* good : {"earliest", "latest", "2026-11-29T08:00:00Z", "'2026-11-29T08:00:00.5+01:00'"}) {
    EXPECT_EQ(Report(Subscription(absl::StrCat("start: ", good))), "") << good;
  }
  for (const char* bad : {"first", "2026-11-29", "infinite-past", "infinite-future", "1700000000", "Latest"}) {
    EXPECT_EQ(Report(Subscription(absl::StrCat("start: ", bad))),
              "f:3:25: subscriptions[0].start: must be earliest, latest, or a time, such as 2026-11-29T08:00:00Z")
        << bad;
  }
  EXPECT_EQ(ParseSubscriptionStart("earliest"), absl::InfinitePast());
  EXPECT_EQ(ParseSubscriptionStart("latest"), absl::InfiniteFuture());
  EXPECT_EQ(ParseSubscriptionStart("1970-01-01T00:00:01.5Z"), absl::FromUnixMillis(1500));
}

TEST(SubscriptionRulesTest, EventsAreOrderedByActivityOrOrganizationOrNotAtAll) {
  for (const char* good : {"activity", "organization", "none"}) {
    EXPECT_EQ(Report(Subscription(absl::StrCat("order_by: ", good))), "") << good;
  }
  EXPECT_THAT(Report(Subscription("order_by: type")), EndsWith("must be one of activity, organization, none"));
}

// Returns `store` of a config with a server. Several gateways can share it.
std::string Server() {
  const std::string folder = NewTestFolder();
  PutTestFile(folder + "/key", std::string(64, 'a'));
  return absl::StrCat(
      "store: {postgresql: {hosts: ['127.0.0.1:5432'], database: d, user: u, plaintext: true, key_file: ", folder,
      "/key}}");
}

TEST(SubscriptionRulesTest, SubscriptionsNeedAnEventLog) {
  const auto report = [](absl::string_view store) { return FaultsOf(TextOf(Subscription(""), store)); };
  EXPECT_EQ(report(kStore), "");
  EXPECT_EQ(report("events: {file: events.db}"), "");
  EXPECT_EQ(report(Server()), "");
  EXPECT_EQ(report(""), "f:3:16: subscriptions: needs store: without a store there is no event log");
  EXPECT_EQ(FaultsOf(TextOf("", "")), "");
}

TEST(SubscriptionRulesTest, SettingsThatGatewaysShareHaveAHigherVersionWhenTheyChange) {
  const std::string server = Server();
  const auto reload = [](const std::string& before, const std::string& after, absl::string_view store) {
    const absl::StatusOr<ParsedConfig> in_force = Parse(TextOf(Subscription(before), store));
    const std::string text = TextOf(Subscription(after), store);
    return std::string(Parse(text, "f", ConfigFiles::kAll, &in_force->config).status().message());
  };
  const std::string fault = "subscriptions[0].version: must be greater than 1, because the settings have changed";
  EXPECT_THAT(reload("", "max_deliveries: 3", server), EndsWith(fault));
  EXPECT_EQ(reload("", "max_deliveries: 3, version: 2", server), "");
  EXPECT_EQ(reload("", "start: latest", server), "") << "a new subscription alone uses it";
  EXPECT_EQ(reload("", "", server), "");
  EXPECT_EQ(reload("", "max_deliveries: 3", kStore), "") << "one gateway alone uses a file";
}

TEST(SubscriptionRulesTest, TheCallersOfASubscriptionExist) {
  EXPECT_THAT(Report("{name: payouts, organizations: [o]}"), EndsWith("subscriptions[0].callers: is required"));
  EXPECT_THAT(Report("{name: payouts, callers: [], organizations: [o]}"),
              EndsWith("subscriptions[0].callers: is required"));
  EXPECT_THAT(Report(Subscription("", "[c, payments]")),
              EndsWith("subscriptions[0].callers[1]: is not the name of a caller"));
  EXPECT_THAT(Report(Subscription("", "[c, d, c]")), EndsWith("subscriptions[0].callers[2]: is given twice"));
}

// Returns the faults of a subscription with the caller "c", which has these grants.
std::string RightsReport(absl::string_view grants, absl::string_view organizations = "organizations: [o, p]") {
  return FaultsOf(TextOf(Subscription("", "[c]", organizations), kStore, grants));
}

TEST(SubscriptionRulesTest, AConsumerHasGrantsForAllOrganizationsOfTheSubscription) {
  const std::string place = "f:3:43: subscriptions[0].callers[0]: cannot consume the subscription: ";
  EXPECT_EQ(RightsReport(kEvents), "");
  EXPECT_EQ(RightsReport("{classes: [events], all_organizations: true}"), "");
  EXPECT_EQ(RightsReport("{classes: [events], organizations: [o]}, {classes: [events], organizations: [p]}"), "");
  EXPECT_EQ(RightsReport("{methods: [SubscriptionService/Consume, SubscriptionService/Settle], organizations: [o, p]}"),
            "");
  EXPECT_EQ(RightsReport("{classes: [events], organizations: [o]}"),
            place + "Consume is not granted for all of its organizations");
  EXPECT_EQ(RightsReport(kEvents, "all_organizations: true"),
            place + "Consume is not granted for all of its organizations");
  EXPECT_EQ(RightsReport("{classes: [query], organizations: [o, p]}"),
            place + "Consume is not granted: no grant has class events or names the method");
  EXPECT_EQ(RightsReport("{methods: [SubscriptionService/Consume], organizations: [o, p]}"),
            place + "Settle is not granted: no grant has class events or names the method");
  EXPECT_EQ(RightsReport("{methods: [SubscriptionService/Consume], organizations: [o, p]}, "
                         "{methods: [SubscriptionService/Settle], organizations: [o]}"),
            place + "Settle is not granted for all of its organizations");
}

TEST(SubscriptionRulesTest, AnOperatorNeedsOnlyItsOwnMethods) {
  const std::string grants = "{methods: [SubscriptionService/Seek], organizations: [o]}";
  EXPECT_THAT(WarningsOf(Parse(TextOf(Subscription("", "[c, d]"), kStore, grants))), IsEmpty());
  EXPECT_THAT(WarningsOf(Parse(TextOf(Subscription("", "[c]"), kStore, grants))),
              ElementsAre("f:3:42: subscriptions[0].callers: has no caller that can consume the subscription"));
  EXPECT_THAT(RightsReport(grants), HasSubstr("callers[0]: cannot consume the subscription: Consume is not granted"));
}

TEST(SubscriptionRulesTest, AnOrganizationsFileThatLacksAnOrganizationIsAWarning) {
  const std::string folder = NewTestFolder();
  const std::string text = TextOf(Subscription(""), kStore, "{classes: [events], organizations_file: organizations}");
  PutTestFile(folder + "/organizations", "o\n");
  EXPECT_THAT(WarningsOf(Parse(text, folder + "/f")), IsEmpty());
  PutTestFile(folder + "/organizations", "q\n");
  EXPECT_THAT(WarningsOf(Parse(text, folder + "/f")),
              ElementsAre(EndsWith("callers: has no caller that can consume the subscription"),
                          EndsWith("callers[0]: cannot consume the subscription: Consume is not granted for all of its "
                                   "organizations")));
  EXPECT_THAT(
      Parse(absl::StrReplaceAll(text, {{"events], organizations_file", "query], organizations_file"}}), folder + "/f")
          .status()
          .message(),
      EndsWith("callers[0]: cannot consume the subscription: Consume is not granted: no grant has class events "
               "or names the method"));
}

TEST(SubscriptionRulesTest, AReloadWarnsOfARemovedSubscription) {
  const absl::StatusOr<ParsedConfig> old = Parse(
      TextOf(absl::StrCat(Subscription(""), ", ", absl::StrReplaceAll(Subscription(""), {{"payouts", "other"}}))));
  ASSERT_TRUE(old.ok()) << old.status();
  const auto warnings = [&](absl::string_view subscriptions) {
    return WarningsOf(Parse(TextOf(subscriptions), "f", ConfigFiles::kReloaded, &old->config));
  };
  EXPECT_THAT(warnings(absl::StrReplaceAll(Subscription(""), {{"payouts", "other"}})),
              ElementsAre("f:3:16: subscriptions: no longer has payouts: the gateway keeps its position and its parked "
                          "events until `stampgate subscriptions delete payouts`"));
  EXPECT_EQ(warnings("").size(), 2u);
  EXPECT_THAT(WarningsOf(Parse(TextOf(Subscription("")))), IsEmpty());
}

TEST(SubscriptionRulesTest, ALineStatesWhatAReloadDoes) {
  EXPECT_EQ(DescribeSubscriptionChanges(*Parse(TextOf(""))->config), "");
  EXPECT_EQ(DescribeSubscriptionChanges(*Parse(TextOf(Subscription("")))->config),
            "1 subscription: organizations that a reload adds to a subscription apply from its position on; one that a "
            "reload removes keeps its position until `stampgate subscriptions delete`\n");
}

}  // namespace
}  // namespace stampgate
