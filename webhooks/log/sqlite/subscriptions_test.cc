// Tests the event log as the store of shared subscriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/disk/test_disk.h"
#include "base/testing/status_is.h"
#include "base/threads/mutex.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

// Runs SQL on the event log's file, as another program could. Returns the first column of the last row.
std::string Sql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  std::string last;
  const auto keep = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), keep, &last, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return last;
}

SubscriptionChange Begin(const std::string& subscription, Position position = 0) {
  return {.subscription = subscription, .head = HeadAt(position)};
}

// The answers of several writes and appends, in the order of their arrival.
class Answers {
 public:
  std::function<void(absl::Status)> Next(const std::string& name) {
    return [this, name](const absl::Status& status) {
      const MutexLock lock(mutex_);
      all_.push_back(absl::StrCat(name, " ", absl::StatusCodeToString(status.code())));
      answered_.WakeOne();
    };
  }

  // Waits for this number of answers, and returns all.
  std::vector<std::string> Wait(size_t count) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (all_.size() < count && !answered_.WaitUntil(mutex_, deadline)) {
    }
    return all_;
  }

 private:
  Mutex mutex_;
  Condition answered_;
  std::vector<std::string> all_ ABSL_GUARDED_BY(mutex_);
};

class SubscriptionsTest : public ::testing::Test {
 protected:
  SubscriptionsTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/log-XXXXXX");
    folder_ = mkdtemp(folder.data());
    options_.path = absl::StrCat(folder_, "/events");
    options_.retention_interval = absl::Hours(1);
    options_.now = [] { return kStart; };
    options_.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
  }
  ~SubscriptionsTest() override {
    log_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void Open() {
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
  }

  SubscriptionStore& store() { return *log_->subscriptions(); }

  void Write(SubscriptionChange change) { ASSERT_EQ(WriteAndWait(store(), std::move(change)), absl::OkStatus()); }

  void Store(const std::string& id) {
    const absl::StatusOr<AppendOutcome> outcome = AppendAndWait(*log_, MakeVerifiedEvent(id, "{}"));
    ASSERT_EQ(outcome.status(), absl::OkStatus());
    EXPECT_EQ(*outcome, AppendOutcome::kStored);
  }

  void Append(const std::string& id, std::function<void(absl::Status)> done) {
    log_->Append(MakeVerifiedEvent(id, "{}"),
                 [done = std::move(done)](const auto& outcome) { done(outcome.status()); });
  }

  // Calls `queue` on the log's thread, so that the next group has everything that `queue` writes and appends.
  void InOneGroup(std::function<void()> queue) {
    store().Write(Begin("first"), [queue = std::move(queue)](const absl::Status& status) {
      EXPECT_EQ(status, absl::OkStatus());
      queue();
    });
  }

  std::string folder_;
  SqliteEventLogOptions options_;
  std::unique_ptr<EventLog> log_;
};

TEST_F(SubscriptionsTest, StatesRemainWhenTheLogIsOpenedAgain) {
  std::mt19937_64 random(5);
  SubscriptionStates states;
  for (int round = 0; round < 10; ++round) {
    Open();
    EXPECT_EQ(*store().Load(), states);
    for (int step = 0; step < 20; ++step) {
      const SubscriptionChange change = RandomChange(random);
      const absl::StatusCode expected = ApplyChange(change, &states).code();
      EXPECT_EQ(WriteAndWait(store(), change).code(), expected);
    }
    EXPECT_EQ(*store().Load(), states);
  }
}

TEST_F(SubscriptionsTest, AnEventAndAChangeShareOneSync) {
  TestDisk disk;
  options_.disk = &disk;
  Open();
  Write(Begin("payouts"));
  Answers answers;
  size_t before = 0;
  InOneGroup([&] {
    before = disk.steps();
    Append("a", answers.Next("a"));
    store().Write({.subscription = "payouts", .put = {{.position = 1}}}, answers.Next("change"));
    store().Write({.subscription = "payouts", .put = {{.position = 2}}}, answers.Next("change"));
  });
  EXPECT_THAT(answers.Wait(3), ElementsAre("a OK", "change OK", "change OK"));
  const size_t after = disk.steps();
  log_ = nullptr;
  const auto begin = disk.history().begin();
  EXPECT_EQ(std::count_if(begin + static_cast<std::ptrdiff_t>(before), begin + static_cast<std::ptrdiff_t>(after),
                          [](const DiskChange& change) {
                            return change.kind == DiskChange::Kind::kSync && absl::EndsWith(change.file, "-wal");
                          }),
            1);
}

TEST_F(SubscriptionsTest, TheChangesOfAGroupApplyInTheirOrder) {
  Open();
  Answers answers;
  InOneGroup([&] {
    store().Write(Begin("a"), answers.Next("begin"));
    store().Write({.subscription = "a", .put = {{.position = 1}, {.position = 2}}}, answers.Next("put"));
    store().Write({.subscription = "b", .put = {{.position = 1}}}, answers.Next("unknown"));
    store().Write({.subscription = "a", .erase = {1}}, answers.Next("erase"));
    store().Write({.subscription = "a", .remove = true}, answers.Next("remove"));
    store().Write({.subscription = "a", .put = {{.position = 3}}}, answers.Next("late"));
    store().Write(Begin("a", 7), answers.Next("begin"));
  });
  EXPECT_THAT(answers.Wait(7), ElementsAre("begin OK", "put OK", "unknown NOT_FOUND", "erase OK", "remove OK",
                                           "late NOT_FOUND", "begin OK"));
  const SubscriptionStates expected = {{"first", {}}, {"a", {.head = HeadAt(7)}}};
  EXPECT_EQ(*store().Load(), expected);
}

TEST_F(SubscriptionsTest, AChangeThatWritesFromItsAnswerIsNotLost) {
  Open();
  Answers answers;
  store().Write(Begin("a"), [&](const absl::Status&) {
    store().Write({.subscription = "a", .put = {{.position = 1}}}, answers.Next("second"));
  });
  EXPECT_THAT(answers.Wait(1), ElementsAre("second OK"));
}

TEST_F(SubscriptionsTest, ChangesThatExceedTheMemoryAreRefused) {
  options_.max_queued_change_bytes = 10'000;
  Open();
  Write(Begin("a"));
  const SubscriptionRow large = {.position = 1, .mark = EventMark::kParked, .reason = std::string(10'000, 'x')};
  EXPECT_THAT(WriteAndWait(store(), {.subscription = "a", .put = {large}}),
              StatusIs(StatusCode::kResourceExhausted, "too many changes of subscriptions wait to be stored"));
  for (int i = 0; i < 20; ++i)
    Write({.subscription = "a", .put = {{.position = i, .reason = std::string(5'000, 'x')}}});
  Store("a");
}

TEST_F(SubscriptionsTest, CloseWritesTheQueuedChangesAndRefusesLaterOnes) {
  Open();
  Answers answers;
  for (int i = 1; i <= 1000; ++i) store().Write(Begin(absl::StrCat("s", i)), answers.Next("begin"));
  log_->Close();
  EXPECT_EQ(answers.Wait(1000), std::vector<std::string>(1000, "begin OK"));
  EXPECT_THAT(WriteAndWait(store(), Begin("late")), StatusIs(StatusCode::kUnavailable, "the event log is closed"));
  EXPECT_EQ(store().Load()->size(), 1000);
}

TEST_F(SubscriptionsTest, RetentionChangesNoSubscription) {
  absl::Time now = kStart;
  options_.now = [&now] { return now; };
  options_.retention_age = absl::Seconds(10);
  Open();
  for (const char* id : {"a", "b", "c"}) Store(id);
  Write({.subscription = "payouts",
         .head = HeadAt(1),
         .put = {{.position = 2, .mark = EventMark::kParked}},
         .put_lagging = {{"key", 0}}});
  const SubscriptionStates before = *store().Load();
  log_->Close();
  now += absl::Seconds(11);
  Open();
  TrimNow(*log_);
  EXPECT_EQ((*log_->NewReader())->Extent()->earliest, 4);
  EXPECT_EQ(*store().Load(), before);
}

TEST_F(SubscriptionsTest, ADamagedSubscriptionIsNamedAndTheEventsRemainReadable) {
  Open();
  Store("a");
  Write(Begin("payouts"));
  log_ = nullptr;
  Sql(options_.path, "UPDATE subscriptions SET incarnation = 9");
  Open();
  EXPECT_EQ(store().Load()->at("payouts").damage, "its head has another checksum");
  EXPECT_EQ(ReadAll(**log_->NewReader())->size(), 1);
  Store("b");
  log_ = nullptr;
  Sql(options_.path, "DROP TABLE subscription_keys");
  EXPECT_THAT(OpenSqliteEventLog(options_), StatusIs(StatusCode::kDataLoss, HasSubstr("subscription_keys")));
}

TEST_F(SubscriptionsTest, AfterALossOfTheDiskAnEarlierStateContinuesBeforeTheHole) {
  std::vector<std::string> losses;
  options_.on_loss = [&losses](const LostEvents& lost) { losses.push_back(absl::StrCat(lost.first, "-", lost.last)); };
  Open();
  Store("a");
  Write(Begin("payouts", 1));
  const SubscriptionStates before = *store().Load();
  log_ = nullptr;
  std::filesystem::copy_file(options_.path, folder_ + "/copy");
  Open();
  Store("b");
  Write(Begin("payouts", 2));
  log_ = nullptr;
  std::filesystem::rename(folder_ + "/copy", options_.path);
  Open();
  EXPECT_THAT(losses, ElementsAre("2-2"));
  EXPECT_EQ(*store().Load(), before);
  Write(Begin("payouts", 2));
}

// The last write of a commit that stores events writes the mark. If the disk has no space for it, the commit is done.
TEST_F(SubscriptionsTest, AChangeIsAcknowledgedIfTheDiskHasItEvenIfAnEventOfItsGroupIsRefused) {
  TestDisk disk;
  options_.disk = &disk;
  Open();
  Write(Begin("first"));
  int committed = 0;
  int refused = 0;
  SubscriptionStates states = *store().Load();
  for (int n = 1; n < 40; ++n) {
    const SubscriptionChange change = Begin(absl::StrCat("s", n));
    Answers answers;
    InOneGroup([&] {
      disk.FillAtWrite(n, /*everywhere=*/true);
      Append(absl::StrCat("event-", n), answers.Next("event"));
      store().Write(change, answers.Next("change"));
    });
    const std::vector<std::string> both = answers.Wait(2);
    ASSERT_EQ(both.size(), 2);
    disk.MakeRoom();
    if (both[1] == "change OK") {
      ASSERT_EQ(ApplyChange(change, &states), absl::OkStatus());
      committed += both[0] == "event OK" ? 0 : 1;
    } else {
      EXPECT_THAT(both, ElementsAre("event RESOURCE_EXHAUSTED", "change RESOURCE_EXHAUSTED"));
      ++refused;
    }
    EXPECT_EQ(*store().Load(), states) << n;
  }
  EXPECT_GT(committed, 0);
  EXPECT_GT(refused, 5);
  Open();
  EXPECT_EQ(*store().Load(), states);
  log_ = nullptr;
}

TEST_F(SubscriptionsTest, TheFirstChangeIsRefusedIfTheDiskHasNoSpaceForTheTables) {
  TestDisk disk;
  options_.disk = &disk;
  Open();
  Store("a");
  int refused = 0;
  for (int n = 1; n < 100; ++n) {
    disk.FillAtWrite(n, /*everywhere=*/true);
    const absl::Status status = WriteAndWait(store(), Begin("payouts"));
    disk.MakeRoom();
    if (status.ok()) break;
    EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted));
    EXPECT_EQ(*store().Load(), SubscriptionStates());
    Store(absl::StrCat("event-", n));
    ++refused;
  }
  EXPECT_GT(refused, 3);
  EXPECT_EQ(store().Load()->size(), 1);
  log_ = nullptr;
}

// Tests with a log of version 3.

class LogOfVersion3Test : public SubscriptionsTest {
 protected:
  LogOfVersion3Test() {
    std::ifstream file("webhooks/log/sqlite/version_3.sql", std::ios::binary);
    Sql(options_.path, std::string(std::istreambuf_iterator<char>(file), {}));
    chmod(options_.path.c_str(), 0600);
    options_.now = [] { return absl::FromUnixSeconds(1'795'579'100); };
  }

  // Closes the log, and returns the version of its file.
  std::string Version() {
    log_ = nullptr;
    return Sql(options_.path, "PRAGMA user_version");
  }

  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    const std::vector<LoggedEvent> events = ReadAllAfter(**log_->NewReader(), 18).value();
    for (const LoggedEvent& event : events) ids.push_back(event.event.event_id);
    return ids;
  }
};

TEST_F(LogOfVersion3Test, KeepsItsVersionUntilItGetsASubscription) {
  Open();
  EXPECT_THAT(Ids(), ElementsAre("0.2.0-list", "0.2.0-bytes", "0.2.0-unicode"));
  EXPECT_EQ(*store().Load(), SubscriptionStates());
  Store("new");
  EXPECT_EQ(Version(), "3");
  Open();
  Write(Begin("payouts", 20));
  Store("newer");
  const SubscriptionStates states = *store().Load();
  EXPECT_EQ(states, (SubscriptionStates{{"payouts", {.head = HeadAt(20)}}}));
  EXPECT_EQ(Version(), "4");
  Open();
  EXPECT_EQ(*store().Load(), states);
  EXPECT_THAT(Ids(), ElementsAre("0.2.0-list", "0.2.0-bytes", "0.2.0-unicode", "new", "newer"));
  Write({.subscription = "payouts", .remove = true});
  EXPECT_EQ(Version(), "4");
}

}  // namespace
}  // namespace stampgate
