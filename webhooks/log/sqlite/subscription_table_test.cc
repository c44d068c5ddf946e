#include "webhooks/log/sqlite/subscription_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_is.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/sqlite/migration.h"
#include "webhooks/log/testing.h"

namespace stampgate {
namespace {

using ::absl::StatusCode;
using testing::StatusIs;

SubscriptionChange Begin(const std::string& subscription, Position position = 0) {
  return {.subscription = subscription, .head = HeadAt(position)};
}

SubscriptionRow Parked(Position position, const std::string& reason) {
  return {.position = position,
          .mark = EventMark::kParked,
          .deliveries = 10,
          .time = absl::FromUnixMicros(1'700'000'000'000'001),
          .reason = reason};
}

class SubscriptionTableTest : public ::testing::Test {
 protected:
  SubscriptionTableTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/subscriptions-XXXXXX");
    folder_ = mkdtemp(folder.data());
    connection_ = *SqliteConnection::Open(folder_ + "/file", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
    log_.id.fill(7);
  }
  ~SubscriptionTableTest() override { std::filesystem::remove_all(folder_); }

  // Creates the tables, in a transaction that never ends.
  void Create() {
    Sql("BEGIN");
    ASSERT_EQ(MigrateFromVersion3(connection_), absl::OkStatus());
    table_ = *SubscriptionTable::Open(connection_, log_);
  }

  void Apply(const SubscriptionChange& change) { ASSERT_EQ(table_.Apply(change), absl::OkStatus()); }

  absl::StatusOr<SubscriptionStates> Load() { return LoadSubscriptions(connection_, log_); }

  void Sql(const std::string& sql) { ASSERT_EQ(connection_.Run(sql.c_str()), absl::OkStatus()) << sql; }

  std::string folder_;
  SqliteConnection connection_;
  LogIdentity log_;
  SubscriptionTable table_;
};

TEST_F(SubscriptionTableTest, AFileWithoutTheTablesHasNoSubscriptions) {
  EXPECT_FALSE(*HasSubscriptionTables(connection_));
  EXPECT_EQ(*Load(), SubscriptionStates());
  Create();
  EXPECT_TRUE(*HasSubscriptionTables(connection_));
  EXPECT_EQ(*Load(), SubscriptionStates());
}

TEST_F(SubscriptionTableTest, AStateIsLoadedAsItWasWritten) {
  Create();
  SubscriptionHead head = HeadAt(17);
  head.partitions[15] = {.through = 19, .reserved = 4000};
  head.incarnation = 3;
  const std::vector<SubscriptionRow> rows = {Parked(3, std::string("why\0\xff", 5)),
                                             {.position = 18, .partition = 15},
                                             {.position = 20, .mark = EventMark::kSentAgain, .deliveries = 2},
                                             {.position = 21, .mark = EventMark::kRetried, .deliveries = 11}};
  Apply({.subscription = "payouts",
         .head = head,
         .put = {rows[2], rows[0], rows[3], rows[1]},
         .put_lagging = {{"", 5}, {"key", 9}}});
  const SubscriptionState expected = {.head = head, .rows = rows, .lagging = {{"", 5}, {"key", 9}}};
  EXPECT_EQ(*Load(), (SubscriptionStates{{"payouts", expected}}));
}

TEST_F(SubscriptionTableTest, BehavesLikeTheFake) {
  Create();
  std::mt19937_64 random(3);
  SubscriptionStates states;
  int unknown = 0;
  for (int step = 0; step < 3000; ++step) {
    const SubscriptionChange change = RandomChange(random);
    const absl::Status expected = ApplyChange(change, &states);
    ASSERT_EQ(table_.Apply(change).code(), expected.code()) << step;
    unknown += expected.ok() ? 0 : 1;
    ASSERT_EQ(*Load(), states) << step;
  }
  EXPECT_GT(unknown, 20);
}

TEST_F(SubscriptionTableTest, AnUnknownSubscriptionGetsNoRows) {
  Create();
  EXPECT_THAT(table_.Apply({.subscription = "late", .put = {{.position = 1}}, .put_lagging = {{"key", 1}}}),
              StatusIs(StatusCode::kNotFound, "there is no subscription \"late\" with a sound head"));
  EXPECT_EQ(table_.Apply({.subscription = "late", .remove = true}), absl::OkStatus());
  EXPECT_EQ(*Load(), SubscriptionStates());
}

TEST_F(SubscriptionTableTest, EveryDamagedColumnIsDetected) {
  Create();
  Apply(Begin("other"));
  Apply({.subscription = "payouts",
         .head = HeadAt(2),
         .put = {Parked(4, "why"), Parked(5, "why")},
         .put_lagging = {{"key", 1}, {"key-2", 1}}});
  const SubscriptionStates before = *Load();
  for (const auto& [what, sql] : std::vector<std::pair<std::string, std::string>>{
           {"its head has another checksum",
            "UPDATE subscriptions SET partitions = x'' WHERE subscription = 'payouts'"},
           {"its head has another checksum", "UPDATE subscriptions SET event_order = 3 WHERE subscription = 'payouts'"},
           {"its head has another checksum",
            "UPDATE subscriptions SET partitions = zeroblob(256) WHERE subscription = 'payouts'"},
           {"its head has another checksum", "UPDATE subscriptions SET incarnation = 2 WHERE subscription = 'payouts'"},
           {"its head has another checksum", "UPDATE subscriptions SET checksum = x'' WHERE subscription = 'payouts'"},
           {"its head has another checksum",
            "DELETE FROM subscriptions WHERE subscription = 'payouts';"
            "UPDATE subscriptions SET subscription = 'payouts' WHERE subscription = 'other'"},
           {"it has rows but no head", "DELETE FROM subscriptions WHERE subscription = 'payouts'"},
           {"it has keys but no head", "DELETE FROM subscriptions; DELETE FROM subscription_events"},
           {"the row of event 6 has another checksum",
            "UPDATE subscription_events SET position = 6 WHERE position = 5"},
           {"the row of event 5 has another checksum",
            "UPDATE subscription_events SET event_partition = 4 WHERE position = 5"},
           {"the row of event 5 has another checksum", "UPDATE subscription_events SET mark = 4 WHERE position = 5"},
           {"the row of event 5 has another checksum",
            "UPDATE subscription_events SET deliveries = 9 WHERE position = 5"},
           {"the row of event 5 has another checksum", "UPDATE subscription_events SET time_us = 9 WHERE position = 5"},
           {"the row of event 5 has another checksum", "UPDATE subscription_events SET reason = '' WHERE position = 5"},
           {"the row of a key has another checksum", "UPDATE subscription_keys SET position = 3 WHERE key = 'key'"},
           {"the row of a key has another checksum", "UPDATE subscription_keys SET key = 'k' WHERE key = 'key'"},
       }) {
    Sql("SAVEPOINT before");
    Sql(sql);
    EXPECT_EQ((*Load())["payouts"].damage, what) << sql;
    EXPECT_EQ((*Load())["other"], before.at("other")) << sql;
    Sql("ROLLBACK TO before; RELEASE before");
  }
  EXPECT_EQ(*Load(), before);
}

TEST_F(SubscriptionTableTest, ARowOfAnotherSubscriptionOrLogIsDamaged) {
  Create();
  Apply(Begin("a"));
  Apply({.subscription = "b", .head = SubscriptionHead{}, .put = {{.position = 4}}});
  Sql("SAVEPOINT before; UPDATE subscription_events SET subscription = 'a'");
  EXPECT_EQ((*Load())["a"].damage, "the row of event 4 has another checksum");
  Sql("ROLLBACK TO before; RELEASE before");
  EXPECT_EQ((*Load())["a"].damage, "");
  log_.id.fill(8);
  EXPECT_EQ((*Load())["a"].damage, "its head has another checksum");
}

// Otherwise a change of one partition would give what the damage has left a valid checksum.
TEST_F(SubscriptionTableTest, ADamagedHeadGetsNoProgress) {
  Create();
  Apply(Begin("payouts", 5));
  Sql("UPDATE subscriptions SET partitions = zeroblob(256)");
  EXPECT_THAT(table_.Apply({.subscription = "payouts", .progress = {{3, {.through = 7}}}}),
              StatusIs(StatusCode::kNotFound, "there is no subscription \"payouts\" with a sound head"));
  EXPECT_EQ(Load()->at("payouts").damage, "its head has another checksum");
}

TEST_F(SubscriptionTableTest, WhatIsLeftOfADamagedSubscriptionCanBeRemoved) {
  Create();
  Apply(Begin("other"));
  const SubscriptionStates before = *Load();
  Apply(
      {.subscription = "payouts", .head = SubscriptionHead{}, .put = {Parked(4, "why")}, .put_lagging = {{"key", 1}}});
  Sql("DELETE FROM subscriptions WHERE subscription = 'payouts'");
  EXPECT_EQ(Load()->at("payouts").damage, "it has rows but no head");
  Apply({.subscription = "payouts", .remove = true});
  EXPECT_EQ(*Load(), before);
}

}  // namespace
}  // namespace stampgate
