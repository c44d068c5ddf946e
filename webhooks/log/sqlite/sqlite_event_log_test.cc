#include "webhooks/log/sqlite/sqlite_event_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/age_clock.h"
#include "base/disk/test_disk.h"
#include "webhooks/log/sqlite/sqlite_event_log_testing.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(SqliteEventLogTest, FindsAnEventIfAnotherEventWithItsIdIsDamaged) {
  Open();
  Store("a", BodyOf("org-1", "marker-of-the-first"));
  Store("a", BodyOf("org-2", "second"));
  CloseAll();
  Damage("marker-of-the-first");
  Open();
  EXPECT_EQ(reader_->Find({"a", {}}, {}).value()->position, 2);
  EXPECT_EQ(reader_->Find({"a", "org-2"}, {}).value()->position, 2);
  EXPECT_EQ(reader_->Find({"a", "org-1"}, {}).status().code(), kDamaged);
}

TEST_F(SqliteEventLogTest, ReportsItsUsage) {
  options_.retention_age = absl::Seconds(60);
  Open();
  const LogUsage empty = reader_->Usage().value();
  EXPECT_GT(empty.bytes, 0);
  EXPECT_EQ(empty.oldest, std::nullopt);
  StoreNumbers(1, 10, std::string(100'000, 'x'));
  const LogUsage full = reader_->Usage().value();
  EXPECT_GT(full.bytes, empty.bytes + 1'000'000);
  EXPECT_LT(full.bytes, empty.bytes + 1'300'000);
  EXPECT_EQ(full.oldest, kStart);
  Pass(absl::Seconds(55));  // the first five events are too old now
  TrimNow(*log_);
  const LogUsage trimmed = reader_->Usage().value();
  EXPECT_LT(trimmed.bytes, full.bytes - 400'000);
  EXPECT_EQ(trimmed.oldest, kStart + absl::Seconds(Extent().earliest - 1));
  Pass(absl::Hours(1));
  TrimNow(*log_);
  EXPECT_EQ(reader_->Usage().value().oldest, std::nullopt);
}

TEST_F(SqliteEventLogTest, CloseLeavesOnlyTheDatabaseTheMarkAndTheLockFile) {
  Open();
  StoreNumbers(1, 3);
  reader_ = nullptr;
  log_->Close();
  CloseAll();
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) names.push_back(file.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("events", "events-mark", "events.lock"));
}

// Comparison of the event log with a model.

struct Model {
  struct Entry {
    std::string id;
    std::string body;
    absl::Time time;
    int64_t age_us;
  };
  AgeClock clock;
  Position earliest = 1;
  std::vector<Entry> events = {{}};  // indexed by position
  // Maps organization and id to position and body.
  std::map<std::pair<std::string, std::string>, std::pair<Position, std::string>> seen;

  Position latest() const { return static_cast<Position>(events.size()) - 1; }
  absl::Duration AgeOf(Position position) const {
    return absl::Microseconds(clock.age_us - events[static_cast<size_t>(position)].age_us);
  }

  void Trim(const SqliteEventLogOptions& options) {
    while (earliest <= latest() && AgeOf(earliest) > options.retention_age) ++earliest;
    for (auto id = seen.begin(); id != seen.end();) {
      id = AgeOf(id->second.first) > options.deduplication_age ? seen.erase(id) : std::next(id);
    }
  }
};

TEST_F(SqliteEventLogTest, BehavesLikeAModelInMemory) {
  options_.retention_age = absl::Seconds(60);
  options_.deduplication_age = absl::Seconds(120);
  options_.checkpoint_pages = 30;
  TestDisk disk;
  options_.disk = &disk;
  std::mt19937_64 random(4);
  Open();
  Model model;
  model.clock.wall_us = now_us_;
  for (int step = 0; step < 1500; ++step) {
    const absl::Time now = absl::FromUnixMicros(now_us_);
    model.clock.Advance(now);
    const std::string id = IdOf(static_cast<int64_t>(random() % 50));
    const std::string organization = absl::StrCat(random() % 3);
    const std::string body = BodyOf(organization, absl::StrCat(random() % 2));
    switch (random() % 16) {
      default: {  // append
        const auto seen = model.seen.find({organization, id});
        AppendOutcome expected = AppendOutcome::kStored;
        if (seen != model.seen.end()) {
          expected = seen->second.second == body ? AppendOutcome::kDuplicate : AppendOutcome::kConflict;
        } else {
          model.events.push_back({id, body, std::max(now, model.events.back().time), model.clock.age_us});
          model.seen[{organization, id}] = {model.latest(), body};
        }
        Store(id, body, expected);
        break;
      }
      case 0:  // read from a random position
      case 1: {
        const auto after = static_cast<Position>(random() % static_cast<uint64_t>(model.latest() + 3));
        EventFilter filter;
        if (random() % 2 == 0) filter.organization_ids = {absl::StrCat(random() % 3)};
        EventReader::Limits limits;
        limits.max_events = 1 + random() % 20;
        absl::StatusOr<EventReader::Batch> batch = reader_->Read({after}, filter, limits);
        if (after + 1 < model.earliest && after < model.latest()) {
          EXPECT_EQ(batch.status().code(), kTrimmed);
          break;
        }
        ASSERT_TRUE(batch.ok()) << batch.status();
        size_t next = 0;
        for (Position at = after + 1; at <= batch->through; ++at) {
          const Model::Entry& entry = model.events[static_cast<size_t>(at)];
          const bool wanted = filter.organization_ids.empty() ||
                              entry.body.find("\"" + *filter.organization_ids.begin() + "\",") != std::string::npos;
          if (!wanted) continue;
          ASSERT_LT(next, batch->events.size());
          EXPECT_EQ(batch->events[next].position, at);
          EXPECT_EQ(batch->events[next].event.event_id, entry.id);
          EXPECT_EQ(batch->events[next].event.body, entry.body);
          EXPECT_EQ(batch->events[next].commit_time, entry.time);
          ++next;
        }
        EXPECT_EQ(next, batch->events.size());
        EXPECT_TRUE(batch->through >= model.latest() || batch->events.size() == limits.max_events);
        break;
      }
      case 2: {  // find
        const auto seen = model.seen.find({organization, id});
        const auto found = reader_->Find({id, organization}, {}).value();
        const bool expected = seen != model.seen.end() && seen->second.first >= model.earliest;
        ASSERT_EQ(found.has_value(), expected) << id;
        if (expected) {
          EXPECT_EQ(found->event.body, seen->second.second);
        }
        break;
      }
      case 3:  // time passes, sometimes backwards
        Pass(absl::Seconds(static_cast<int64_t>(random() % 12) - 2));
        break;
      case 4:
        if (random() % 10 == 0) Open();
        break;
    }
    TrimNow(*log_);
    model.clock.Advance(absl::FromUnixMicros(now_us_));
    model.Trim(options_);
    ASSERT_EQ(Extent().earliest, model.earliest) << "step " << step;
    ASSERT_EQ(Extent().latest, model.latest()) << "step " << step;
    if (HasFailure()) break;
  }
  EXPECT_GT(model.earliest, 100);
  CloseAll();
}

// Tests of the digest chain.

TEST_F(SqliteEventLogTest, DetectsARowFromACopyOfTheLogWithOtherEvents) {
  Open();
  StoreNumbers(1, 3);
  CloseAll();
  const std::string other = options_.path + "-other";
  std::filesystem::copy_file(options_.path, other);
  StoreInto(other, IdOf(4), BodyOf("org", "another"));
  Open();
  StoreNumbers(4, 6);
  CloseAll();
  // The copied row has the right position, log and checksum, but the next row contains the checksum of the replaced
  // row.
  RunSql(options_.path, absl::StrCat("ATTACH '", other, "' AS other; DELETE FROM events WHERE seq = 4;",
                                     "INSERT INTO events SELECT * FROM other.events WHERE seq = 4"));
  Open();
  EXPECT_THAT(Positions(reader_->Read({0}, {}, {})), ElementsAre(1, 2, 3, 4));
  const absl::Status status = reader_->Read({4}, {}, {}).status();
  EXPECT_EQ(status.code(), kDamaged);
  EXPECT_THAT(status.message(), HasSubstr("does not follow"));
  EXPECT_THAT(Positions(reader_->Read({5}, {}, {})), ElementsAre(6));
  // A reader that begins to read after this position also detects the replaced row.
  EXPECT_EQ((*log_->NewReader())->Read({4}, {}, {}).status().code(), kDamaged);
}

TEST_F(SqliteEventLogTest, ReturnsTheDigestsOfItsEvents) {
  options_.retention_age = absl::Seconds(10);
  Open();
  EXPECT_EQ(reader_->DigestAt(0).value(), ChainDigest{});
  EXPECT_EQ(reader_->DigestAt(1).status().code(), kTrimmed);
  StoreNumbers(1, 20);
  const std::vector<LoggedEvent> events = ReadAllAfter(*reader_, 10).value();
  TrimNow(*log_);
  ASSERT_EQ(Extent().earliest, 11);
  for (const LoggedEvent& event : events) EXPECT_EQ(reader_->DigestAt(event.position).value(), event.digest);
  EXPECT_NE(reader_->DigestAt(10).value(), ChainDigest{});
  EXPECT_EQ(reader_->DigestAt(9).status().code(), kTrimmed);
  const ChainDigest before = reader_->DigestAt(10).value();
  const EventReader::Batch batch = reader_->Read({10}, {}, {}).value();
  EXPECT_EQ(batch.through_digest, events.back().digest);
  Open();
  EXPECT_EQ(reader_->DigestAt(10).value(), before);
  // If an event is damaged, the next row still contains the damaged event's digest.
  CloseAll();
  RunSql(options_.path, "UPDATE events SET checksum = zeroblob(32) WHERE seq = 15");
  Open();
  EXPECT_EQ(reader_->DigestAt(15).value(), events[4].digest);
}

// Tests of the clock.

TEST_F(SqliteEventLogTest, AClockJumpDoesNotDeleteEvents) {
  std::vector<absl::Duration> steps;
  options_.retention_age = absl::Hours(24 * 7);
  options_.deduplication_age = absl::Hours(24 * 30);
  options_.on_clock_step = [&steps](absl::Duration step) { steps.push_back(step); };
  Open();
  StoreNumbers(1, 20);
  Pass(absl::Hours(24 * 365));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 1);
  StoreNumbers(21, 21);
  Pass(-absl::Hours(24 * 365));
  TrimNow(*log_);
  Store(IdOf(1), BodyOf("org", "text1"), AppendOutcome::kDuplicate);
  Open();
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 1);
  CloseAll();
  EXPECT_THAT(steps, ElementsAre(testing::Gt(absl::Hours(24 * 364)), testing::Lt(-absl::Hours(24 * 364))));
}

// Tests with other programs that use the file.

// The test measures how long SQLite waited for locks, not the elapsed time.
TEST_F(SqliteEventLogTest, AReaderOfAnotherProgramDelaysAppendsOnlyBriefly) {
  TestDisk disk;
  options_.disk = &disk;
  options_.checkpoint_pages = 10;
  Open();
  StoreNumbers(1, 1);
  sqlite3* foreign = nullptr;
  ASSERT_EQ(sqlite3_open_v2(options_.path.c_str(), &foreign, SQLITE_OPEN_READONLY, disk.vfs().c_str()), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(foreign, "BEGIN; SELECT count(*) FROM events", nullptr, nullptr, nullptr), SQLITE_OK);
  StoreNumbers(2, 40);  // more than 80 pages, so that a checkpoint waits for the reader
  EXPECT_GT(disk.waited_us(), 0);
  EXPECT_LE(disk.waited_us(), 4 * 100'000);
  sqlite3_close(foreign);
  CloseAll();
}

// Before the mark covers an event, no reader sees the event and no sender gets an acknowledgement.
TEST_F(SqliteEventLogTest, AnEventIsVisibleOnlyAfterTheMarkCoversIt) {
  TestDisk disk;
  options_.disk = &disk;
  Open();
  StoreNumbers(1, 2);
  int tries = 0;
  Position latest = 0;
  // The disk becomes full at the nth write of a commit. The last write of a commit writes the mark.
  for (int n = 1; n < 40; ++n) {
    disk.FillAtWrite(n, /*everywhere=*/true);
    const absl::StatusOr<AppendOutcome> outcome =
        AppendAndWait(*log_, MakeVerifiedEvent(absl::StrCat("full-", n), "{}"));
    latest = Extent().latest;
    if (!outcome.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(outcome.status())) << outcome.status();
      EXPECT_EQ(reader_->Find({absl::StrCat("full-", n), {}}, {}).value(), std::nullopt) << n;
      // The log does not acknowledge a repetition either.
      EXPECT_FALSE(AppendAndWait(*log_, MakeVerifiedEvent(absl::StrCat("full-", n), "{}")).ok());
      ++tries;
    }
    disk.MakeRoom();
    Store(absl::StrCat("room-", n), "{}");
    EXPECT_GT(Extent().latest, latest);
  }
  EXPECT_GT(tries, 5);
  const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
  EXPECT_EQ(static_cast<Position>(events.size()), Extent().latest);
  CloseAll();
}

// Tests of the exclusive use of the file.

TEST_F(SqliteEventLogTest, DoesNotOpenALogThatIsAlreadyOpen) {
  Open();
  absl::Status second = OpenSqliteEventLog(options_).status();
  EXPECT_EQ(second.code(), kRefused);
  EXPECT_THAT(second.message(), HasSubstr("another process has it open"));
  log_->Close();
  EXPECT_EQ(OpenSqliteEventLog(options_).status().code(), kRefused);  // Close does not release the lock
  CloseAll();
  // Simulates the lock of another process by opening the lock file a second time.
  const int fd = open(absl::StrCat(options_.path, ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(OpenStatus().code(), kRefused);
  close(fd);
  Open();
}

// If a file has two names, each name has its own lock file, so two processes could open the log.
TEST_F(SqliteEventLogTest, DoesNotOpenAFileWithASecondHardLink) {
  Open();
  StoreNumbers(1, 1);
  const std::string path = options_.path;
  std::filesystem::create_hard_link(path, path + "-link");
  options_.path = path + "-link";
  const absl::Status status = OpenSqliteEventLog(options_).status();
  EXPECT_EQ(status.code(), kRefused);
  EXPECT_THAT(status.message(), HasSubstr("hard link"));
  CloseAll();
  options_.path = path;
  EXPECT_EQ(OpenStatus().code(), kRefused);
  std::filesystem::remove(path + "-link");
  Open();
}

TEST_F(SqliteEventLogTest, OnlyTheOwnerCanReadAndWriteTheFiles) {
  const mode_t before = umask(0);
  Open();
  StoreNumbers(1, 1);
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    EXPECT_EQ(ModeOf(options_.path + suffix), 0600) << suffix;
  }
  // Kubernetes can set such modes when it mounts a volume.
  for (const char* suffix : {"", ".lock"}) chmod((options_.path + suffix).c_str(), 0666);
  CloseAll();
  WriteFile(options_.path + "-shm", "");
  Open();
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    EXPECT_EQ(ModeOf(options_.path + suffix), 0600) << suffix;
  }
  umask(before);
}

TEST_F(SqliteEventLogTest, DoesNotOpenAFileThatIsNoEventLog) {
  WriteFile(options_.path, "This is a text, and long enough to be looked at as a whole header of one hundred bytes.");
  EXPECT_EQ(OpenStatus().code(), kRefused);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("not an event log"));

  std::filesystem::remove(options_.path);
  RunSql(options_.path, "CREATE TABLE accounts (id INTEGER); PRAGMA user_version = 3");
  const std::string before = ReadFile(options_.path);
  EXPECT_EQ(OpenStatus().code(), kRefused);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("another program's"));
  EXPECT_EQ(ReadFile(options_.path), before);

  std::filesystem::remove(options_.path);
  std::filesystem::create_directory(options_.path);
  EXPECT_EQ(OpenStatus().code(), kRefused);
  std::filesystem::remove(options_.path);
  std::filesystem::create_symlink(folder_ + "/elsewhere", options_.path);
  EXPECT_EQ(OpenStatus().code(), kRefused);

  options_.path = folder_ + "/missing/events";
  EXPECT_EQ(OpenStatus().code(), kRefused);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("folder does not exist"));
}

TEST_F(SqliteEventLogTest, DoesNotOpenAFileOfANewerVersion) {
  Open();
  StoreNumbers(1, 2);
  CloseAll();
  RunSql(options_.path, "PRAGMA user_version = 5");
  EXPECT_EQ(OpenStatus().code(), kRefused);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("newer"));
  RunSql(options_.path, "PRAGMA user_version = 3");
  Open();
  EXPECT_EQ(Extent().latest, 2);
}

// A process that died while it created the log leaves an empty file.
TEST_F(SqliteEventLogTest, AcceptsAnEmptyFile) {
  WriteFile(options_.path, "");
  Open();
  StoreNumbers(1, 1);
}

TEST_F(SqliteEventLogTest, AcceptsAnyFileName) {
  for (const char* name : {"file:events?mode=memory", ":memory:", "a b'c\"%41"}) {
    options_.path = absl::StrCat(folder_, "/", name);
    Open();
    StoreNumbers(1, 1);
    EXPECT_TRUE(std::filesystem::exists(options_.path));
  }
}

}  // namespace
}  // namespace stampgate
