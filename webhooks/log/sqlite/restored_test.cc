#include "webhooks/log/sqlite/restored.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

class RestoredLogTest : public ::testing::Test {
 protected:
  RestoredLogTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/restored-XXXXXX");
    folder_ = mkdtemp(folder.data());
    path_ = absl::StrCat(folder_, "/events");
  }
  ~RestoredLogTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<EventLog> Open() {
    SqliteEventLogOptions options;
    options.path = path_;
    options.now = absl::Now;
    options.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options.on_loss = [](const LostEvents& lost) { ADD_FAILURE() << lost.first << " to " << lost.last; };
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(std::move(options));
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  std::ptrdiff_t FilesOfFolder() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  std::string folder_;
  std::string path_;
};

TEST_F(RestoredLogTest, ARestoreInvalidatesCursorsAndChangesNothingElse) {
  std::unique_ptr<EventLog> log = Open();
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent(id, "{}")).ok());
  }
  const LogIdentity before = log->identity();
  log = nullptr;
  ASSERT_EQ(MarkLogAsRestored(path_), absl::OkStatus());

  log = Open();
  EXPECT_NE(log->identity().cursor_key, before.cursor_key);
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodeCursor(log->identity(), EncodeCursor(before, {2, {}})).status()));
  // The restored log still recognizes its stored events, and new events follow the stored ones.
  EXPECT_EQ(AppendAndWait(*log, MakeVerifiedEvent("b", "{}")).value(), AppendOutcome::kDuplicate);
  EXPECT_EQ(AppendAndWait(*log, MakeVerifiedEvent("d", "{}")).value(), AppendOutcome::kStored);
  const std::unique_ptr<EventReader> reader = *log->NewReader();
  const std::vector<LoggedEvent> events = ReadAll(*reader).value();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events.back().position, 4);
  EXPECT_EQ(events.back().event.event_id, "d");
}

TEST_F(RestoredLogTest, EachRestoreMakesANewCursorKey) {
  Open();
  ASSERT_EQ(MarkLogAsRestored(path_), absl::OkStatus());
  const LogIdentity first = Open()->identity();
  ASSERT_EQ(MarkLogAsRestored(path_), absl::OkStatus());
  EXPECT_NE(Open()->identity().cursor_key, first.cursor_key);
}

// The gateway stores `reserved` ahead of the log's end. A restored log gives these positions to events that it has
// never sent.
TEST_F(RestoredLogTest, SubscriptionsEndWithTheLogAndKeepEverythingBefore) {
  std::unique_ptr<EventLog> log = Open();
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent(id, "{}")).ok());
  }
  SubscriptionHead within = HeadAt(2);
  within.partitions[7].reserved = 3;
  within.incarnation = 4;
  SubscriptionHead ahead = within;
  ahead.partitions[7].reserved = 4000;
  const std::vector<SubscriptionRow> rows = {{.position = 1, .mark = EventMark::kParked, .reason = "why"},
                                             {.position = 3, .mark = EventMark::kSentAgain, .deliveries = 2}};
  SubscriptionStore& store = *log->subscriptions();
  const std::vector<SubscriptionChange> changes = {
      {.subscription = "within", .head = within, .put = rows, .put_lagging = {{"key", 1}}},
      {.subscription = "ahead", .head = ahead, .put = {rows[0], rows[1], {.position = 4}}, .put_lagging = {{"key", 4}}},
      {.subscription = "far", .head = HeadAt(9)},
  };
  for (const SubscriptionChange& change : changes) {
    ASSERT_EQ(WriteAndWait(store, change), absl::OkStatus());
  }
  log = nullptr;
  ASSERT_EQ(MarkLogAsRestored(path_), absl::OkStatus());
  const SubscriptionStates expected = {
      {"within", {.head = within, .rows = rows, .lagging = {{"key", 1}}}},
      {"ahead", {.head = within, .rows = rows, .lagging = {{"key", 3}}}},
      {"far", {.head = HeadAt(3)}},
  };
  log = Open();
  EXPECT_EQ(*log->subscriptions()->Load(), expected);
}

TEST_F(RestoredLogTest, ADamagedSubscriptionStaysAsItIs) {
  std::unique_ptr<EventLog> log = Open();
  const LogIdentity before = log->identity();
  for (const char* name : {"payouts", "audit"}) {
    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = name, .head = HeadAt(3)}), absl::OkStatus());
  }
  log = nullptr;
  {
    absl::StatusOr<SqliteConnection> connection = SqliteConnection::Open(path_, SQLITE_OPEN_READWRITE, "");
    ASSERT_EQ(connection->Run("UPDATE subscriptions SET incarnation = 5 WHERE subscription = 'payouts'"),
              absl::OkStatus());
  }
  EXPECT_EQ(MarkLogAsRestored(path_), absl::OkStatus());
  log = Open();
  EXPECT_NE(log->identity().cursor_key, before.cursor_key);
  const SubscriptionStates states = *log->subscriptions()->Load();
  EXPECT_EQ(states.at("audit").head, HeadAt(0)) << "the log is empty";
  EXPECT_EQ(states.at("payouts").damage, "its head has another checksum");
}

TEST_F(RestoredLogTest, DoesNotChangeALogThatIsOpen) {
  const std::unique_ptr<EventLog> log = Open();
  const absl::Status status = MarkLogAsRestored(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(RestoredLogTest, DoesNotChangeAFileThatIsNoEventLog) {
  const absl::Status missing = MarkLogAsRestored(path_);
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_FALSE(std::filesystem::exists(path_));

  std::ofstream(path_) << "not a database, and longer than the header of one would be ..............................";
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const absl::Status other = MarkLogAsRestored(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_EQ(FilesOfFolder(), 1);  // only the file itself, and no lock file

  std::filesystem::remove(path_);
  {
    absl::StatusOr<SqliteConnection> connection =
        SqliteConnection::Open(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_EQ(connection->Run("CREATE TABLE t (a)"), absl::OkStatus());
  }
  const absl::Status foreign = MarkLogAsRestored(path_);
  EXPECT_TRUE(absl::IsFailedPrecondition(foreign)) << foreign;
  EXPECT_EQ(FilesOfFolder(), 1);
}

// The operator restores an older copy of the database, but the mark file still has the newer mark. MarkLogAsRestored
// replaces this mark, so the log does not treat the events that the copy lacks as lost.
TEST_F(RestoredLogTest, ARestoredLogContinuesAfterItsLastEvent) {
  std::unique_ptr<EventLog> log = Open();
  ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent("a", "{}")).ok());
  log = nullptr;
  std::filesystem::copy_file(path_, path_ + ".copy");
  log = Open();
  ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent("b", "{}")).ok());
  log = nullptr;
  std::filesystem::rename(path_ + ".copy", path_);
  ASSERT_EQ(MarkLogAsRestored(path_), absl::OkStatus());

  log = Open();
  EXPECT_EQ(AppendAndWait(*log, MakeVerifiedEvent("c", "{}")).value(), AppendOutcome::kStored);
  const std::unique_ptr<EventReader> reader = *log->NewReader();
  EXPECT_EQ(ReadAll(*reader)->back().position, 2);
}

}  // namespace
}  // namespace stampgate
