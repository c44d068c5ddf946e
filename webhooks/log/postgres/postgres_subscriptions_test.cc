#include "webhooks/log/postgres/postgres_subscriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/test_server.h"
#include "base/testing/status_is.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/partition.h"
#include "webhooks/log/postgres/testing.h"
#include "webhooks/log/testing.h"

namespace stampgate {
namespace {

using ::absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr absl::Duration kSettleWithin = absl::Seconds(30);

// One gateway with what it knows of the subscription "payouts".
class Gateway {
 public:
  Gateway(const PostgresAddress& address, ServerClock now)
      : subscriptions_(MakePostgresSubscriptions({.address = address, .steps = &LogSteps(), .now = std::move(now)})) {}

  PostgresSubscriptions& operator*() { return *subscriptions_; }
  PostgresSubscriptions* operator->() { return subscriptions_.get(); }

  // Renews the hold as a gateway does that adds the new partitions.
  Hold Renew(int64_t consumers = 1, const std::map<size_t, absl::Duration>& given = {}) {
    for (const auto& [partition, sent_for] : given) known_.erase(partition);
    const absl::StatusOr<Hold> hold = subscriptions_->Renew({.subscription = "payouts",
                                                             .hold = hold_.number,
                                                             .known = known_,
                                                             .given = given,
                                                             .settle_within = kSettleWithin,
                                                             .report = {.consumers = consumers}});
    EXPECT_TRUE(hold.ok()) << hold.status();
    if (!hold.ok()) return {};
    hold_ = *hold;
    known_ = hold->partitions;
    return *hold;
  }

  absl::Status Write(SubscriptionChange change) {
    change.subscription = "payouts";
    change.hold = hold_.number;
    return WriteAndWait(*subscriptions_, std::move(change));
  }

  int64_t hold() const { return hold_.number; }
  const std::set<size_t>& partitions() const { return hold_.partitions; }

 private:
  std::unique_ptr<PostgresSubscriptions> subscriptions_;
  Hold hold_;
  std::set<size_t> known_;
};

class PostgresSubscriptionsTest : public ::testing::Test {
 protected:
  static constexpr PostgresVersion kVersion = PostgresVersion::k15;

  Gateway NewGateway() {
    return Gateway(address_, [this] { return now_; });
  }

  static SubscriptionDeclaration Payouts(int64_t version = 1, const std::string& settings = "settings") {
    return {.subscription = "payouts", .order = 2, .start = 7, .version = version, .settings = settings};
  }

  void Pass(absl::Duration time) { now_ += time; }

  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  const PostgresAddress address_ = SharedServer(kVersion).NewStore(LogSteps());
};

TEST_F(PostgresSubscriptionsTest, ANewSubscriptionBeginsAtItsStartAndTheFirstGatewayGetsAllPartitions) {
  Gateway gateway = NewGateway();
  const absl::StatusOr<DeclaredSettings> declared = gateway->Declare(Payouts());
  ASSERT_TRUE(declared.ok()) << declared.status();
  EXPECT_TRUE(declared->is_new);
  const Hold hold = gateway.Renew();
  EXPECT_THAT(hold.partitions, SizeIs(kPartitions));
  EXPECT_THAT(hold.added, SizeIs(kPartitions));
  EXPECT_EQ(hold.added.at(3), absl::ZeroDuration()) << "no consumer can hold an event";
  EXPECT_EQ(hold.state.head, HeadAt(7, 2));
  EXPECT_EQ(hold.excess, 0u);
  EXPECT_THAT(gateway.Renew().added, IsEmpty());
}

TEST_F(PostgresSubscriptionsTest, TheSettingsWithTheHighestVersionApply) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts(2, "first")).ok());
  absl::StatusOr<DeclaredSettings> declared = second->Declare(Payouts(2, "other"));
  EXPECT_FALSE(declared->is_new);
  EXPECT_THAT(*second->Names(), ElementsAre("payouts"));
  EXPECT_EQ(declared->settings, "first") << "what has the same version came first";
  EXPECT_EQ(second->Declare(Payouts(3, "other"))->settings, "other");
  declared = first->Declare(Payouts(2, "first"));
  EXPECT_EQ(declared->settings, "other");
  EXPECT_EQ(declared->version, 3);
}

TEST_F(PostgresSubscriptionsTest, BehavesLikeTheFake) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  gateway.Renew();
  SubscriptionStates states;
  states["payouts"].head = HeadAt(7, 2);
  std::mt19937_64 random(3);
  for (int step = 0; step < 300; ++step) {
    SubscriptionChange change = RandomChange(random);
    change.subscription = "payouts";
    change.head.reset();
    change.remove = false;
    // A gateway changes a row or a key only once in a change, and a row keeps its partition.
    std::map<Position, SubscriptionRow> rows;
    for (SubscriptionRow& row : change.put) {
      row.partition = static_cast<size_t>(row.position) % kPartitions;
      rows[row.position] = row;
    }
    change.put.clear();
    for (const auto& [position, row] : rows) change.put.push_back(row);
    const std::map<std::string, Position> keys(change.put_lagging.begin(), change.put_lagging.end());
    change.put_lagging.assign(keys.begin(), keys.end());
    for (auto& [partition, progress] : change.progress) {
      progress.through = std::max(progress.through, states["payouts"].head.partitions[partition].through);
    }
    ASSERT_EQ(ApplyChange(change, &states), absl::OkStatus());
    ASSERT_EQ(gateway.Write(change), absl::OkStatus());
    if (step % 20 == 0) ASSERT_EQ(*gateway->Load(), states) << step;
  }
  ASSERT_EQ(*gateway->Load(), states);
  Gateway other = NewGateway();
  ASSERT_EQ(gateway->End("payouts", absl::Seconds(5)), absl::OkStatus());
  const Hold hold = other.Renew();
  EXPECT_EQ(hold.state, states["payouts"]) << "a gateway that takes the partitions gets the same state";
  EXPECT_EQ(hold.added.at(15), absl::Seconds(5));
  ASSERT_EQ(other->End("payouts", absl::ZeroDuration()), absl::OkStatus());
  ASSERT_EQ(WriteAndWait(*other, {.subscription = "payouts", .remove = true}), absl::OkStatus());
  EXPECT_THAT(*other->Load(), IsEmpty());
}

TEST_F(PostgresSubscriptionsTest, GatewaysWithConsumersDivideThePartitionsEvenly) {
  std::vector<Gateway> gateways;
  for (int i = 0; i < 3; ++i) gateways.push_back(NewGateway());
  ASSERT_TRUE(gateways[0]->Declare(Payouts()).ok());
  for (Gateway& gateway : gateways) gateway.Renew();
  EXPECT_THAT(gateways[0].partitions(), SizeIs(kPartitions)) << "nobody takes a partition from a gateway that renews";
  const size_t excess = gateways[0].Renew().excess;
  EXPECT_TRUE(excess == 10 || excess == 11) << excess;
  std::map<size_t, absl::Duration> given;
  for (size_t partition = 0; partition < excess; ++partition) given[partition] = absl::ZeroDuration();
  EXPECT_EQ(gateways[0].Renew(1, given).excess, 0u);
  const Hold second = gateways[1].Renew();
  EXPECT_EQ(second.added.size(), second.partitions.size());
  gateways[2].Renew();
  std::set<size_t> all;
  for (Gateway& gateway : gateways) {
    EXPECT_TRUE(gateway.partitions().size() == 5 || gateway.partitions().size() == 6);
    all.insert(gateway.partitions().begin(), gateway.partitions().end());
  }
  EXPECT_THAT(all, SizeIs(kPartitions));
  EXPECT_EQ(gateways[1].Renew(/*consumers=*/0).excess, gateways[1].partitions().size())
      << "a gateway without consumers gives all back if others have some";
  gateways[0].Renew(0);
  for (Gateway* gateway : {&gateways[2], &gateways[0], &gateways[1]}) {
    EXPECT_EQ(gateway->Renew(0).excess, 0u) << "without any consumer, all gateways keep theirs";
  }
}

TEST_F(PostgresSubscriptionsTest, AGatewayThatWakesAfterItsHoldEndedChangesNothing) {
  Gateway paused = NewGateway();
  Gateway other = NewGateway();
  ASSERT_TRUE(paused->Declare(Payouts()).ok());
  paused.Renew();
  ASSERT_EQ(paused.Write({.progress = {{3, {.through = 9, .reserved = 20}}}}), absl::OkStatus());
  for (int i = 0; i < 5; ++i) {
    other.Renew();
    Pass(absl::Seconds(1));
  }
  EXPECT_THAT(other.partitions(), IsEmpty()) << "the hold lasts for 5 s";
  const Hold taken = other.Renew();
  EXPECT_THAT(taken.partitions, SizeIs(kPartitions));
  EXPECT_EQ(taken.added.at(3), kSettleWithin);
  EXPECT_EQ(taken.state.head.partitions[3], (PartitionProgress{.through = 9, .reserved = 20}));
  EXPECT_THAT(paused.Write({.progress = {{3, {.through = 15, .reserved = 20}}}}),
              StatusIs(StatusCode::kAborted, "the gateway does not hold the partitions any more"));
  const int64_t before = paused.hold();
  EXPECT_NE(paused.Renew().number, before);
  EXPECT_THAT(paused.Write({.progress = {{3, {.through = 15, .reserved = 20}}}}),
              StatusIs(StatusCode::kAborted, "the gateway does not hold the partitions any more"));
  EXPECT_EQ(other->Load()->at("payouts").head.partitions[3].through, 9);
}

// Otherwise the first gateway that reaches a new primary would take all partitions from the others.
TEST_F(PostgresSubscriptionsTest, AnOutageOfTheServerEndsNoHold) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  first.Renew();
  second.Renew();
  Pass(absl::Minutes(1));
  EXPECT_THAT(second.Renew().partitions, IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(second.Renew().partitions, IsEmpty());
  EXPECT_THAT(first.Renew().partitions, SizeIs(kPartitions));
  EXPECT_EQ(first.Write({.progress = {{3, {.through = 15, .reserved = 20}}}}), absl::OkStatus());
}

// Of any length: the gateways renew their holds again in any order.
TEST_F(PostgresSubscriptionsTest, AShortOutageOfTheServerEndsNoHold) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  for (const int64_t outage_ms : {1000, 2300, 2700, 4200, 4900, 5000, 5100, 6500, 12000}) {
    for (int i = 0; i < 7; ++i) {
      first.Renew();
      Pass(absl::Milliseconds(900));
      second.Renew();
      Pass(absl::Milliseconds(100));
    }
    Pass(absl::Milliseconds(outage_ms));
    ASSERT_THAT(second.Renew().partitions, IsEmpty()) << outage_ms;
  }
}

TEST_F(PostgresSubscriptionsTest, ASubscriptionThatWasDeletedAndDeclaredAgainIsAnotherOne) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  const Hold before = first.Renew();
  EXPECT_THAT(WriteAndWait(*second, {.subscription = "payouts", .remove = true}),
              StatusIs(StatusCode::kFailedPrecondition, "a gateway serves the subscription"));
  EXPECT_THAT(WriteAndWait(*first, {.subscription = "payouts", .remove = true}),
              StatusIs(StatusCode::kFailedPrecondition, "a gateway serves the subscription"));
  Pass(-absl::Hours(1));
  EXPECT_FALSE(WriteAndWait(*second, {.subscription = "payouts", .remove = true}).ok());
  Pass(absl::Seconds(6));
  ASSERT_EQ(WriteAndWait(*second, {.subscription = "payouts", .remove = true}), absl::OkStatus())
      << "it has paused, and the step of the clock does not make its hold last longer";
  ASSERT_TRUE(second->Declare(Payouts()).ok());
  EXPECT_THAT(first.Write({.progress = {{1, {.through = 15}}}}), StatusIs(StatusCode::kAborted, ::testing::_));
  const Hold after = first.Renew();
  EXPECT_THAT(after.added, SizeIs(kPartitions));
  EXPECT_NE(after.number, before.number);
  EXPECT_NE(after.state.head.incarnation, before.state.head.incarnation);
}

TEST_F(PostgresSubscriptionsTest, ManyGatewaysThatEndSoonKeepNoOtherOneAway) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const std::string renewals =
      "SELECT renew_hold(i::text::bytea, 1, 'payouts', '{}', '{}', 0, true, 1, '{0,0,0,0,0}') FROM generate_series(1, "
      "128) i";
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address_).value();
  ASSERT_EQ(RunAt([this] { return now_; }, *connection, {{renewals}}).status(), absl::OkStatus());
  EXPECT_FALSE(gateway->Renew({.subscription = "payouts"}).ok()) << "128 gateways at a time";
  Pass(absl::Seconds(6));
  EXPECT_TRUE(gateway->Renew({.subscription = "payouts"}).ok());
}

// The gateways' role could otherwise pass arrays to another gateway that it cannot read.
TEST_F(PostgresSubscriptionsTest, ArraysThatNoGatewayHasMadeAreRefused) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const std::string change =
      "SELECT change_subscription(false, 'x', 1, 'payouts', h.number, '{1}', %s, '{}', '{}', '{}', '{}', '{}', '{}', "
      "'{}',"
      " '{}', '{}', '{}', '{}', '{}', '{}', '{}') FROM subscription_holds h WHERE h.holder <> ''";
  const std::string renew =
      "SELECT * FROM renew_hold('x', nextval('subscription_numbers'), 'payouts', %s, 0, true, 1, '{0,0,0,0,0}')";
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address_).value();
  const auto run = [&](const std::string& sql, const std::string& arrays) {
    std::string statement = sql;
    statement.replace(statement.find("%s"), 2, arrays);
    return RunAt([this] { return now_; }, *connection, {{statement}}).status();
  };
  ASSERT_EQ(run(renew, "'{}', '{}'"), absl::OkStatus());
  EXPECT_NE(run(change, "'{9}', '{}'"), absl::OkStatus());
  EXPECT_NE(run(change, "'{9}', '{NULL}'"), absl::OkStatus());
  EXPECT_EQ(run(renew, "'{1,1,1}', '{0,0,0}'"), absl::OkStatus());
  ASSERT_EQ(gateway->Seek("payouts", 4), absl::OkStatus());
  EXPECT_THAT(gateway.Renew().partitions, SizeIs(kPartitions));
}

TEST_F(PostgresSubscriptionsTest, AStepOfTheServersClockEndsNoHold) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  for (const absl::Duration step : {-absl::Hours(1), absl::Hours(1)}) {
    Hold before;
    for (int i = 0; i < 7; ++i) {
      before = first.Renew();
      second.Renew();
      Pass(absl::Seconds(1));
    }
    Pass(step);
    EXPECT_THAT(second.Renew().partitions, IsEmpty());
    EXPECT_EQ(first.Renew().number, before.number);
  }
  // A gateway that is gone is gone one hour earlier, too.
  Pass(-absl::Hours(1));
  for (int i = 0; i < 7; ++i) {
    second.Renew();
    Pass(absl::Seconds(1));
  }
  EXPECT_THAT(second.partitions(), SizeIs(kPartitions));
}

TEST_F(PostgresSubscriptionsTest, AChangeThatConcernsAnotherPartitionIsRefusedAsAWhole) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  first.Renew();
  second.Renew();
  first.Renew(1, {{PartitionOf("=a"), absl::ZeroDuration()}});
  second.Renew();
  ASSERT_THAT(second.partitions(), ElementsAre(PartitionOf("=a")));
  const size_t theirs = PartitionOf("=a");
  const size_t mine = theirs + 1;
  ASSERT_EQ(second.Write({.put = {{.position = 9, .partition = theirs}}, .put_lagging = {{"=a", 8}}}),
            absl::OkStatus());
  const SubscriptionStates before = *first->Load();
  for (SubscriptionChange change : std::vector<SubscriptionChange>{
           {.progress = {{theirs, {.through = 15}}}},
           {.put = {{.position = 9, .partition = theirs}}},
           {.put_lagging = {{"=a", 12}}},
       }) {
    change.progress[mine] = {.through = 15};
    EXPECT_THAT(first.Write(change),
                StatusIs(StatusCode::kAborted, "the gateway does not hold the partitions any more"));
  }
  EXPECT_EQ(first.Write({.erase = {9}, .erase_lagging = {"=a"}}), absl::OkStatus());
  EXPECT_EQ(*first->Load(), before);
}

// A server that stops between two statements, or a pool, can carry out what its gateway has given up and sent again.
TEST_F(PostgresSubscriptionsTest, WhatTheServerCarriesOutLateIsRefused) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address_).value();
  const auto run = [&](const std::string& sql) { return RunAt([this] { return now_; }, *connection, {{sql}}); };
  const auto renew = [&](int number, const std::string& given) {
    return run(absl::StrCat("SELECT cardinality(held) FROM renew_hold('x', ", number, ", 'payouts', ", given,
                            ", 0, true, 1, '{0,0,0,0,0}')"));
  };
  const auto reserve = [&](int number, Position position) {
    return run(absl::StrCat("SELECT change_subscription(false, 'x', ", number,
                            ", 'payouts', h.number, '{1}', '{9}', '{", position,
                            "}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"
                            " FROM subscription_holds h WHERE h.holder <> ''"));
  };
  EXPECT_EQ(renew(5, "'{}', '{}'")->front().Number(0, 0), 16);
  EXPECT_EQ(renew(7, "'{}', '{}'")->front().Number(0, 0), 16);
  for (const int late : {4, 6, 7}) {
    EXPECT_THAT(renew(late, "'{1}', '{0}'"),
                StatusIs(StatusCode::kFailedPrecondition, ::testing::HasSubstr("has renewed the hold again since")));
  }
  EXPECT_EQ(reserve(2, 20)->front().Number(0, 0), 1);
  EXPECT_EQ(reserve(4, 40)->front().Number(0, 0), 1);
  for (const int late : {1, 3, 4}) EXPECT_EQ(reserve(late, 10)->front().Number(0, 0), 0);
  EXPECT_EQ(gateway->Load()->at("payouts").head.partitions[0], (PartitionProgress{.through = 9, .reserved = 40}));
  const int64_t incarnation = gateway->Load()->at("payouts").head.incarnation;
  ASSERT_EQ(gateway->Seek("payouts", 4), absl::OkStatus());
  const std::string late = absl::StrCat("SELECT seek_subscription(false, 'payouts', ", incarnation, ", 20)");
  EXPECT_EQ(run(late)->front().Number(0, 0), 0);
  EXPECT_EQ(gateway->Load()->at("payouts").head.partitions[0], (PartitionProgress{.through = 4, .reserved = 4}));
}

TEST_F(PostgresSubscriptionsTest, AKeyOfAnyLengthLags) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  gateway.Renew();
  // Random bytes, because the server compresses others.
  std::mt19937_64 random(4);
  std::string key = "=";
  while (key.size() < 8192) key.push_back(static_cast<char>(random()));
  ASSERT_EQ(gateway.Write({.put_lagging = {{key, 8}, {"=a", 8}}}), absl::OkStatus());
  ASSERT_EQ(gateway.Write({.put_lagging = {{key, 12}}}), absl::OkStatus());
  EXPECT_THAT(gateway->Load()->at("payouts").lagging,
              ::testing::UnorderedElementsAre(::testing::Pair(key, 12), ::testing::Pair("=a", 8)));
  ASSERT_EQ(gateway.Write({.erase_lagging = {key}}), absl::OkStatus());
  EXPECT_THAT(gateway->Load()->at("payouts").lagging, ElementsAre(::testing::Pair("=a", 8)));
}

TEST_F(PostgresSubscriptionsTest, ASeekEndsAllHoldsAndKeepsWhatIsParked) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const Hold before = gateway.Renew();
  const SubscriptionRow parked = {.position = 9, .partition = 1, .mark = EventMark::kParked, .reason = "why"};
  ASSERT_EQ(gateway.Write({.progress = {{1, {.through = 9, .reserved = 90}}},
                           .put = {parked, {.position = 10, .partition = 2}},
                           .put_lagging = {{"=a", 8}}}),
            absl::OkStatus());
  ASSERT_EQ(gateway->Seek("payouts", 4), absl::OkStatus());
  EXPECT_THAT(gateway.Write({.progress = {{1, {.through = 15}}}}), StatusIs(StatusCode::kAborted, ::testing::_));
  const Hold hold = gateway.Renew();
  SubscriptionState expected = {.head = HeadAt(4, 2), .rows = {parked}};
  expected.head.incarnation = hold.state.head.incarnation;
  EXPECT_GT(hold.state.head.incarnation, before.state.head.incarnation);
  EXPECT_EQ(hold.state, expected);
  EXPECT_THAT(hold.added, SizeIs(kPartitions));
  EXPECT_EQ(hold.sought_from, 90) << "this store has no log, in whose end it could see that less was sent";
  EXPECT_THAT(gateway->Seek("late", 4), StatusIs(StatusCode::kNotFound, ::testing::_));
}

TEST_F(PostgresSubscriptionsTest, AGatewayLearnsWhatOthersHave) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  EXPECT_EQ(second->Renew({.subscription = "payouts", .report = {.consumers = 1}})->others, HoldReport())
      << "it has all partitions";
  ASSERT_EQ(second->End("payouts", absl::ZeroDuration()), absl::OkStatus());
  HoldReport report = {.consumers = 2, .held = 30, .parked = 4, .lagging_keys = 5, .oldest = now_ - absl::Seconds(9)};
  report.through = 12;
  ASSERT_TRUE(first->Renew({.subscription = "payouts", .report = report}).ok());
  EXPECT_EQ(second->Renew({.subscription = "payouts", .report = {.consumers = 1}})->others, report);
  ASSERT_EQ(first->End("payouts", absl::ZeroDuration()), absl::OkStatus());
  EXPECT_EQ(second->Renew({.subscription = "payouts"})->others, HoldReport());
}

TEST_F(PostgresSubscriptionsTest, AGatewayLearnsTheStateOfPartitionsWithoutAHolder) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  const Hold hold = first.Renew();
  SubscriptionChange change = {.put_lagging = {{"=a", 8}}};
  for (const size_t partition : hold.partitions) {
    change.progress[partition].through = 9 + static_cast<Position>(partition);
    change.put.push_back({.position = 100 + static_cast<Position>(partition),
                          .partition = partition,
                          .mark = partition < 3 ? EventMark::kParked : EventMark::kDone});
  }
  ASSERT_EQ(first.Write(change), absl::OkStatus());
  ASSERT_EQ(first->End("payouts", absl::ZeroDuration()), absl::OkStatus());
  // A gateway without consumers takes no partition if another gateway has consumers.
  Gateway third = NewGateway();
  third.Renew();
  std::map<size_t, absl::Duration> given;
  for (const size_t partition : third.partitions()) given[partition] = absl::ZeroDuration();
  third.Renew(/*consumers=*/1, given);
  SharedServer(kVersion).Sql(
      "SELECT move_partition('payouts', holder, '', 2, 0) FROM subscription_holds"
      " WHERE partitions @> '{2}' AND holder <> ''",
      address_.schema);
  const HoldReport others = second->Renew({.subscription = "payouts"})->others;
  EXPECT_EQ(others.through, 10);
  EXPECT_EQ(others.parked, 1);
}

TEST_F(PostgresSubscriptionsTest, AGatewayLearnsOtherSettings) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts(3, "three")).ok());
  const auto renew = [&](int64_t version) {
    return first->Renew({.subscription = "payouts", .settings_version = version})->settings;
  };
  EXPECT_FALSE(renew(3).has_value());
  ASSERT_TRUE(second->Declare(Payouts(4, "four")).ok());
  EXPECT_EQ(renew(3), (DeclaredSettings{.version = 4, .settings = "four", .order = 2}));
  EXPECT_FALSE(renew(4).has_value());
}

TEST_F(PostgresSubscriptionsTest, AwaitEndsAtItsDeadlineWithoutAServerToo) {
  PostgresAddress nowhere = address_;
  nowhere.hosts = {::testing::TempDir() + "nowhere:5432"};
  Gateway gateway(nowhere, [this] { return now_; });
  gateway->Await(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  gateway->Await(std::chrono::steady_clock::now());
  gateway->Await(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
  gateway->Wake();
  gateway->Await(std::chrono::steady_clock::time_point::max());
}

TEST_F(PostgresSubscriptionsTest, ParkedEventsOfAllPartitionsAreListed) {
  Gateway holder = NewGateway();
  Gateway other = NewGateway();
  ASSERT_TRUE(holder->Declare(Payouts()).ok());
  holder.Renew();
  std::vector<SubscriptionRow> parked;
  SubscriptionChange change;
  for (size_t i = 0; i < kPartitions; ++i) {
    parked.push_back({.position = 10 + static_cast<Position>(i),
                      .partition = kPartitions - 1 - i,
                      .mark = EventMark::kParked,
                      .deliveries = 3,
                      .time = absl::FromUnixMicros(7),
                      .reason = "why"});
  }
  change.put = parked;
  change.put.push_back({.position = 40, .partition = 1, .mark = EventMark::kRetried});
  ASSERT_EQ(holder.Write(change), absl::OkStatus());
  EXPECT_EQ(*other->Parked("payouts", 0, 100), parked);
  EXPECT_THAT(*other->Parked("payouts", 11, 2), ElementsAre(parked[2], parked[3]));
  EXPECT_THAT(*other->Parked("late", 0, 100), IsEmpty());
  EXPECT_THAT(*other->ParkedAt("payouts", {40, 25, 9, 10}), ElementsAre(parked.front(), parked.back()));
  EXPECT_THAT(*other->ParkedAt("payouts", {}), IsEmpty());
}

TEST_F(PostgresSubscriptionsTest, AfterARestoreNoSubscriptionIsAheadOfTheLog) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const Hold before = gateway.Renew();
  const SubscriptionRow parked = {.position = 0, .partition = 1, .mark = EventMark::kParked, .reason = "why"};
  ASSERT_EQ(gateway.Write({.progress = {{1, {.through = 9, .reserved = 90}}},
                           .put = {parked, {.position = 10, .partition = 2}},
                           .put_lagging = {{"=a", 8}}}),
            absl::OkStatus());
  SharedServer(kVersion).Sql("SELECT cut_subscriptions_back()", address_.schema);
  EXPECT_THAT(gateway.Write({.progress = {{1, {.through = 15}}}}), StatusIs(StatusCode::kAborted, ::testing::_));
  const Hold hold = gateway.Renew();
  SubscriptionState expected = {.head = HeadAt(0, 2), .rows = {parked}, .lagging = {{"=a", 0}}};
  expected.head.incarnation = hold.state.head.incarnation;
  EXPECT_GT(hold.state.head.incarnation, 1'000'000'000) << "later than any number of the time after the copy";
  EXPECT_EQ(hold.state, expected);
  EXPECT_EQ(hold.added.at(3), absl::ZeroDuration()) << "what consumers hold is superseded";
}

TEST_F(PostgresSubscriptionsTest, TheHolderAnswersARequestWithTheChangeThatCarriesItOut) {
  Gateway holder = NewGateway();
  Gateway asker = NewGateway();
  ASSERT_TRUE(holder->Declare(Payouts()).ok());
  holder.Renew();
  const absl::StatusOr<int64_t> id = asker->Ask("payouts", 3, "settle 9");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_THAT(*asker->Requests(), IsEmpty());
  const HolderRequest expected = {*id, "payouts", 3, "settle 9"};
  EXPECT_THAT(*holder->Requests(), ElementsAre(expected));
  EXPECT_THAT(*holder->Requests(), ElementsAre(expected)) << "until it is answered";
  EXPECT_THAT(*asker->TakeAnswers(), IsEmpty());
  ASSERT_EQ(holder.Write({.put = {{.position = 9, .partition = 3}}, .answers = {{*id, "settled"}}}), absl::OkStatus());
  EXPECT_THAT(*holder->Requests(), IsEmpty());
  EXPECT_THAT(*holder->TakeAnswers(), IsEmpty()) << "the answer is for the asker";
  EXPECT_THAT(*asker->TakeAnswers(), ElementsAre(HolderAnswer{*id, "settled"}));
  EXPECT_THAT(*asker->TakeAnswers(), IsEmpty());
  EXPECT_THAT(asker->Ask("late", 3, "settle 9"), StatusIs(StatusCode::kNotFound, ::testing::_));
}

TEST_F(PostgresSubscriptionsTest, ManyAnswersAreTakenInSeveralCalls) {
  Gateway holder = NewGateway();
  Gateway asker = NewGateway();
  ASSERT_TRUE(holder->Declare(Payouts()).ok());
  holder.Renew();
  std::set<int64_t> asked;
  for (int i = 0; i < 100; ++i) asked.insert(*asker->Ask("payouts", 3, "settle 9"));
  for (std::vector<HolderRequest> requests = *holder->Requests(); !requests.empty(); requests = *holder->Requests()) {
    SubscriptionChange change;
    for (const HolderRequest& request : requests) change.answers.emplace_back(request.id, "settled");
    ASSERT_EQ(holder.Write(change), absl::OkStatus());
  }
  std::set<int64_t> answered;
  for (const size_t expected : {64, 36, 0}) {
    const std::vector<HolderAnswer> answers = *asker->TakeAnswers();
    EXPECT_THAT(answers, SizeIs(expected));
    for (const HolderAnswer& answer : answers) answered.insert(answer.id);
  }
  EXPECT_EQ(answered, asked);
}

TEST_F(PostgresSubscriptionsTest, ARequestWithoutAnAnswerIsForgottenAfterAMinute) {
  Gateway holder = NewGateway();
  ASSERT_TRUE(holder->Declare(Payouts()).ok());
  holder.Renew();
  ASSERT_TRUE(holder->Ask("payouts", 3, "old").ok());
  Pass(absl::Seconds(61));
  EXPECT_THAT(*holder->Requests(), IsEmpty());
  const absl::StatusOr<int64_t> id = holder->Ask("payouts", 3, "new");
  EXPECT_THAT(*holder->Requests(), ElementsAre(HolderRequest{*id, "payouts", 3, "new"}));
}

TEST_F(PostgresSubscriptionsTest, ARequestWakesTheHolder) {
  Gateway holder = NewGateway();
  Gateway asker = NewGateway();
  ASSERT_TRUE(holder->Declare(Payouts()).ok());
  holder.Renew();
  holder->Await(std::chrono::steady_clock::now());  // listens from now on
  std::promise<void> woken;
  std::thread waiter([&] {
    // A wait can end early.
    while (holder->Requests()->empty()) holder->Await(std::chrono::steady_clock::now() + std::chrono::minutes(1));
    woken.set_value();
  });
  ASSERT_TRUE(asker->Ask("payouts", 3, "settle 9").ok());
  EXPECT_EQ(woken.get_future().wait_for(std::chrono::seconds(50)), std::future_status::ready);
  waiter.join();
  holder->Wake();
  holder->Await(std::chrono::steady_clock::time_point::max());
}

// Otherwise partitions would move, and a Seek would become known, up to a second later.
TEST_F(PostgresSubscriptionsTest, AChangeOfAHoldIsAReasonToRenew) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare(Payouts()).ok());
  first.Renew();
  const auto await = [&] { return first->Await(std::chrono::steady_clock::now() + std::chrono::minutes(1)); };
  first->Await(std::chrono::steady_clock::now());  // listens from now on
  second.Renew();
  EXPECT_TRUE(await()) << "another gateway wants partitions";
  ASSERT_EQ(second->Seek("payouts", 9), absl::OkStatus());
  EXPECT_TRUE(await());
  first.Renew();
  second.Renew();
  EXPECT_TRUE(await());
  ASSERT_TRUE(second->Declare(Payouts(/*version=*/2)).ok());
  EXPECT_TRUE(await()) << "other settings";
  ASSERT_TRUE(second->Ask("payouts", 3, "settle 9").ok());
  EXPECT_FALSE(await());
  ASSERT_EQ(first.Write({.progress = {{1, {.through = 9}}}}), absl::OkStatus());
  second.Renew();
  EXPECT_FALSE(first->Await(std::chrono::steady_clock::now()));
}

TEST_F(PostgresSubscriptionsTest, TheLeastRightsAreEnoughAndAllowNoOtherChange) {
  const std::string role = "gateway_" + address_.schema;
  SharedServer(kVersion).Sql("CREATE ROLE " + role + " LOGIN");
  ASSERT_TRUE(GrantStore(**PostgresConnection::Open(address_), address_.schema, role, LogSteps()).ok());
  PostgresAddress address = address_;
  address.user = role;
  Gateway gateway(address, [this] { return now_; });
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  gateway.Renew();
  const absl::StatusOr<int64_t> id = gateway->Ask("payouts", 3, "settle 9");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_THAT(*gateway->Requests(), SizeIs(1));
  ASSERT_EQ(gateway.Write({.progress = {{3, {.through = 9}}},
                           .put = {{.position = 12, .partition = 3}},
                           .put_lagging = {{"=a", 8}},
                           .answers = {{*id, "settled"}}}),
            absl::OkStatus());
  EXPECT_THAT(*gateway->TakeAnswers(), SizeIs(1));
  ASSERT_EQ(gateway->Seek("payouts", 20), absl::OkStatus());
  ASSERT_EQ(gateway->End("payouts", absl::ZeroDuration()), absl::OkStatus());
  const SubscriptionStates before = *gateway->Load();
  std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address).value();
  for (const char* sql : {"UPDATE subscription_holds SET holder = 'x'",
                          "INSERT INTO subscription_events VALUES ('payouts', 9, 1, 1, 0, 0, 0, '')",
                          "DELETE FROM subscription_keys", "UPDATE subscriptions SET incarnation = 1",
                          "DELETE FROM subscription_requests", "SELECT move_partition('payouts', '', '', 1, 0)",
                          "SELECT wake_gateways('hold')", "TRUNCATE subscription_holds"}) {
    EXPECT_THAT(connection->Run({{sql}}), StatusIs(StatusCode::kFailedPrecondition)) << sql;
  }
  // The tables have only the SHA-256 of a secret.
  const absl::StatusOr<std::vector<PostgresResult>> changed = connection->Run(
      {{"SELECT change_subscription(false, h.holder, 1, 'payouts', h.number, '{1}', '{99}', '{99}', '{}', "
        "'{}', '{}', '{}', '{}',"
        " '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') FROM subscription_holds h"}});
  ASSERT_TRUE(changed.ok()) << changed.status();
  for (int i = 0; i < changed->front().rows(); ++i) EXPECT_EQ(changed->front().Number(i, 0), 0);
  EXPECT_EQ(*gateway->Load(), before);
}

TEST_F(PostgresSubscriptionsTest, WithoutASynchronousStandbyNothingIsStored) {
  Gateway single = NewGateway();
  ASSERT_TRUE(single->Declare(Payouts()).ok());
  PostgresAddress address = address_;
  address.allow_single_server = false;
  Gateway gateway(address, [this] { return now_; });
  EXPECT_FALSE(gateway->Declare({.subscription = "other"}).ok());
  EXPECT_FALSE(gateway->Renew({.subscription = "payouts"}).ok());
  EXPECT_THAT(gateway.Write({.progress = {{1, {.through = 15}}}}), StatusIs(StatusCode::kUnavailable));
  EXPECT_FALSE(single->Load()->contains("other"));
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(address_).value();
  for (const char* sql :
       {"SELECT declare_subscription(true, 'other', 1, 0, 1, '')", "SELECT seek_subscription(true, 'payouts', 1, 1)",
        "SELECT delete_subscription(true, 'payouts')",
        "SELECT change_subscription(true, 'x', 1, 'payouts', 1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
        " '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"}) {
    EXPECT_THAT(connection->Run({{sql}}),
                StatusIs(StatusCode::kFailedPrecondition, ::testing::HasSubstr("requires no synchronous standby")));
  }
}

TEST_F(PostgresSubscriptionsTest, AHoldSurvivesARestartOfTheServer) {
  TestPostgres server(kVersion);
  Gateway gateway(server.NewStore(LogSteps()), [this] { return now_; });
  ASSERT_TRUE(gateway->Declare(Payouts()).ok());
  const Hold before = gateway.Renew();
  ASSERT_EQ(gateway.Write({.progress = {{1, {.through = 15}}}}), absl::OkStatus());
  server.Kill();
  EXPECT_THAT(gateway.Write({.progress = {{1, {.through = 16}}}}), StatusIs(StatusCode::kUnavailable));
  EXPECT_FALSE(gateway->Renew({.subscription = "payouts"}).ok());
  server.Start();
  EXPECT_TRUE(Eventually([&] { return gateway.Write({.progress = {{1, {.through = 17}}}}).ok(); }));
  EXPECT_TRUE(Eventually([&] { return gateway->Requests().ok(); }));
  EXPECT_EQ(gateway.Renew().number, before.number);
  EXPECT_EQ(gateway->Load()->at("payouts").head.partitions[1].through, 17);
}

TEST_F(PostgresSubscriptionsTest, AnUnknownSubscriptionHasNoHold) {
  Gateway gateway = NewGateway();
  EXPECT_THAT(gateway->Renew({.subscription = "late"}), StatusIs(StatusCode::kNotFound, ::testing::_));
  EXPECT_THAT(gateway.Write({.progress = {{1, {.through = 15}}}}), StatusIs(StatusCode::kAborted, ::testing::_));
  EXPECT_THAT(gateway.Write({.head = HeadAt(1)}), StatusIs(StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_EQ(gateway->End("late", absl::ZeroDuration()), absl::OkStatus());
}

// A primary with a synchronous standby, and two gateways that know both.
class PostgresSubscriptionsStandbyTest : public ::testing::Test {
 protected:
  static constexpr PostgresVersion kVersion = PostgresVersion::k15;

  PostgresSubscriptionsStandbyTest() {
    primary_.Set("synchronous_standby_names", "'standby'");
    address_.hosts.push_back(standby_.address(address_.schema).hosts.front());
    address_.allow_single_server = false;
  }

  Gateway NewGateway() { return Gateway(address_, absl::Now); }

  TestPostgres primary_{kVersion};
  PostgresAddress address_ = primary_.NewStore(LogSteps());
  TestPostgres standby_{primary_, "standby"};
};

TEST_F(PostgresSubscriptionsStandbyTest, WhatWasAcknowledgedSurvivesTheLossOfThePrimary) {
  Gateway gateway = NewGateway();
  ASSERT_TRUE(gateway->Declare({.subscription = "payouts", .start = 7, .version = 1}).ok());
  const Hold before = gateway.Renew();
  ASSERT_EQ(
      gateway.Write({.progress = {{3, {.through = 20, .reserved = 40}}}, .put = {{.position = 25, .partition = 3}}}),
      absl::OkStatus());
  const SubscriptionState state = gateway->Load()->at("payouts");
  primary_.Kill();
  standby_.Promote();
  standby_.Set("synchronous_standby_names", "''");
  PostgresAddress single = standby_.address(address_.schema);
  single.allow_single_server = true;
  Gateway other(single, absl::Now);
  EXPECT_EQ(other->Load()->at("payouts"), state);
  // The hold was durable with the partitions that it took, so the gateway that has survived still has them.
  other.Renew();
  EXPECT_THAT(other.partitions(), IsEmpty());
}

TEST_F(PostgresSubscriptionsStandbyTest, WhileNoStandbyAnswersFewSessionsOfAGatewayWait) {
  Gateway first = NewGateway();
  Gateway second = NewGateway();
  ASSERT_TRUE(first->Declare({.subscription = "payouts", .start = 7, .version = 1}).ok());
  first.Renew();
  standby_.Pause();
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      for (Position through = 20; through < 22; ++through) {
        EXPECT_FALSE(first.Write({.progress = {{3, {.through = through, .reserved = 40}}}}).ok());
      }
    });
  }
  callers.emplace_back([&] {
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(second->Seek("payouts", 9).ok());
  });
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(primary_.WaitingCommits(), 4) << "two of each gateway";
  standby_.Continue();
  EXPECT_TRUE(Eventually([&] { return second->Seek("payouts", 9).ok(); }));
}

}  // namespace
}  // namespace stampgate
