#include "webhooks/log/sqlite/sqlite_event_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/age_clock.h"
#include "base/disk/test_disk.h"
#include "base/threads/mutex.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kRefused = absl::StatusCode::kFailedPrecondition;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kDamaged = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kTrimmed = absl::StatusCode::kOutOfRange;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::string IdOf(int64_t number) { return absl::StrCat("event-", number); }

std::string BodyOf(absl::string_view organization, absl::string_view text) {
  return absl::StrCat(R"({"organizationId":")", organization, R"(","text":")", text, R"("})");
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

int ModeOf(const std::string& path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 ? static_cast<int>(file.st_mode & 07777) : -1;
}

// Runs SQL on the event log's file, as another program could.
void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

// A fixture with an event log in a temporary folder. Each test advances the clock itself.
class SqliteEventLogTest : public testing::Test {
 protected:
  SqliteEventLogTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/log-XXXXXX");
    folder_ = mkdtemp(folder.data());
    options_.path = absl::StrCat(folder_, "/events");
    options_.retention_interval = absl::Hours(1);
    options_.now = [this] { return absl::FromUnixMicros(now_us_); };
    options_.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    SetTime(kStart);
  }
  ~SqliteEventLogTest() override {
    reader_ = nullptr;
    log_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void SetTime(absl::Time now) { now_us_ = absl::ToUnixMicros(now); }
  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }

  void Open() {
    reader_ = nullptr;
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    absl::StatusOr<std::unique_ptr<EventReader>> reader = log_->NewReader();
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
  }

  absl::Status OpenStatus() {
    reader_ = nullptr;
    log_ = nullptr;
    return OpenSqliteEventLog(options_).status();
  }

  // Closes the log and all readers, so that only the database file remains.
  void CloseAll() {
    reader_ = nullptr;
    log_ = nullptr;
  }

  void Store(const std::string& id, const std::string& body, AppendOutcome expected = AppendOutcome::kStored) {
    absl::StatusOr<AppendOutcome> outcome = AppendAndWait(*log_, MakeVerifiedEvent(id, body));
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(*outcome, expected) << id;
  }

  // Stores the events `first` to `last`, one second apart.
  void StoreNumbers(int first, int last, const std::string& text = "text") {
    for (int number = first; number <= last; ++number) {
      Store(IdOf(number), BodyOf("org", absl::StrCat(text, number)));
      Pass(absl::Seconds(1));
    }
  }

  LogExtent Extent() { return reader_->Extent().value(); }

  std::vector<Position> Positions(absl::StatusOr<EventReader::Batch> batch) {
    EXPECT_TRUE(batch.ok()) << batch.status();
    std::vector<Position> positions;
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) positions.push_back(event.position);
    }
    return positions;
  }

  // Stores events without waiting for each one.
  void StoreTogether(int first, int last, const std::string& body) {
    for (int number = first; number < last; ++number)
      log_->Append(MakeVerifiedEvent(IdOf(number), body), [](const auto&) {});
    Store(IdOf(last), body);
  }

  // Opens another event log and stores one event in it.
  void StoreInto(const std::string& path, const std::string& id, const std::string& body) {
    SqliteEventLogOptions options = options_;
    options.path = path;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ(AppendAndWait(**log, MakeVerifiedEvent(id, body)).value(), AppendOutcome::kStored);
  }

  // Changes the last byte of the first `marker` in the file.
  void Damage(const std::string& marker) {
    std::string content = ReadFile(options_.path);
    const size_t at = content.find(marker);
    ASSERT_NE(at, std::string::npos) << marker;
    content[at + marker.size() - 1] ^= 1;
    WriteFile(options_.path, content);
  }

  std::string folder_;
  SqliteEventLogOptions options_;
  std::atomic<int64_t> now_us_ = 0;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<EventReader> reader_;
};

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

// Tests of retention.

TEST_F(SqliteEventLogTest, RetentionDeletesOldEvents) {
  options_.retention_age = absl::Seconds(10);
  Open();
  StoreNumbers(1, 20);  // event n was stored at second n - 1, and the time is second 20 now
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 11);
  EXPECT_EQ(Extent().latest, 20);
  EXPECT_EQ(reader_->Read({9}, {}, {}).status().code(), kTrimmed);
  EXPECT_EQ(reader_->Read({0}, {}, {}).status().code(), kTrimmed);
  EXPECT_THAT(reader_->Read({0}, {}, {}).status().message(), HasSubstr("before 11"));
  EXPECT_EQ(Positions(reader_->Read({10}, {}, {})).front(), 11);
  EXPECT_EQ(reader_->Find({IdOf(10), {}}, {}).value(), std::nullopt);
  EXPECT_EQ(reader_->Find({IdOf(11), {}}, {}).value()->position, 11);
  EXPECT_EQ(reader_->PositionBefore(absl::InfinitePast()).value(), 10);
}

TEST_F(SqliteEventLogTest, RetentionDeletesTheOldestEventsOfATooLargeFile) {
  options_.retention_bytes = 1 << 20;
  Open();
  const std::string body = BodyOf("org", std::string(20'000, 'x'));
  for (int i = 0; i < 6; ++i) {
    StoreTogether(50 * i + 1, 50 * i + 50, body);
    TrimNow(*log_);
    const LogExtent extent = Extent();
    EXPECT_EQ(extent.latest, 50 * i + 50);
    // Retention deletes no more than necessary: an event uses slightly more than 5 of 256 pages.
    EXPECT_GE(extent.latest - extent.earliest + 1, 42);
    EXPECT_LE(extent.latest - extent.earliest + 1, 50);
  }
  Store(IdOf(1), body, AppendOutcome::kDuplicate);
  // New events use the space of deleted events.
  CloseAll();
  EXPECT_LT(std::filesystem::file_size(options_.path), 3 << 20);
}

// Without a limit, the ids of deleted events would fill the file, and retention would delete every new event.
TEST_F(SqliteEventLogTest, ForgetsTheOldestIdsIfTheyUseTooMuchSpace) {
  options_.retention_bytes = 1 << 20;  // a quarter of this is space for 1024 ids
  options_.retention_age = absl::Seconds(1);
  Open();
  StoreTogether(1, 1501, "{}");
  Pass(absl::Hours(1));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, Extent().latest + 1);
  Store(IdOf(477), "{}", AppendOutcome::kStored);
  Store(IdOf(479), "{}", AppendOutcome::kDuplicate);
}

TEST_F(SqliteEventLogTest, RetentionRunsWithoutNewEvents) {
  Mutex mutex;
  Condition looked;
  int64_t looks = 0;
  options_.retention_interval = absl::Milliseconds(1);
  options_.retention_age = absl::Seconds(10);
  options_.now = [&] {
    const MutexLock lock(mutex);
    ++looks;
    looked.WakeAll();
    return absl::FromUnixMicros(now_us_);
  };
  Open();
  StoreNumbers(1, 5);
  Pass(absl::Hours(1));
  MutexLock lock(mutex);
  const int64_t after = looks + 2;  // the first run of retention may have read the clock before Pass
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (looks < after + 1 && !looked.WaitUntil(mutex, deadline)) {
  }
  ASSERT_GE(looks, after + 1);
  lock.Unlock();
  EXPECT_EQ(Extent().earliest, 6);
  log_->Close();
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

// Tests with a damaged file.

// Reads all events and continues after each damaged one, as a subscriber does. Expects that exactly the event at
// `damaged` is damaged.
void ExpectAllBut(EventReader& reader, Position damaged, Position latest, const EventFilter& filter = {}) {
  std::vector<Position> expected;
  std::vector<Position> found;
  std::vector<Position> reported;
  Position after = 0;
  while (after < latest) {
    absl::StatusOr<EventReader::Batch> batch = reader.Read({after}, filter, {});
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) found.push_back(event.position);
      ASSERT_GT(batch->through, after);
      after = batch->through;
    } else {
      ASSERT_EQ(batch.status().code(), kDamaged) << batch.status();
      reported.push_back(reader.Lost().last);
      after = reader.Lost().last;
    }
  }
  for (Position position = 1; position <= latest; ++position) {
    if (position != damaged) expected.push_back(position);
  }
  if (filter.organization_ids.empty()) {
    EXPECT_EQ(found, expected);
  }
  EXPECT_THAT(reported, ElementsAre(damaged));
}

TEST_F(SqliteEventLogTest, DetectsADamagedBody) {
  Open();
  StoreNumbers(1, 9, "marker-of-the-body-");
  CloseAll();
  Damage("marker-of-the-body-5");
  Open();
  ExpectAllBut(*reader_, 5, 9);
  EXPECT_EQ(reader_->Find({IdOf(5), {}}, {}).status().code(), kDamaged);
  EXPECT_EQ(reader_->Lost().last, 5);
  EXPECT_EQ(reader_->Find({IdOf(6), {}}, {}).value()->position, 6);
  Store(IdOf(5), BodyOf("org", "marker-of-the-body-5"), AppendOutcome::kDuplicate);
}

TEST_F(SqliteEventLogTest, DetectsADamagedBodyOfManyPages) {
  Open();
  StoreNumbers(1, 3, std::string(20'000, 'x') + "the-end-");
  CloseAll();
  Damage("the-end-2");
  Open();
  ExpectAllBut(*reader_, 2, 3);
}

// The organization of an event decides which subscribers see it. If the organization is damaged, every reader must get
// an error, even a reader whose filter might not match the event.
TEST_F(SqliteEventLogTest, DetectsADamagedOrganizationOfAFilteredEvent) {
  Open();
  for (int i = 1; i <= 5; ++i) Store(IdOf(i), BodyOf(absl::StrCat("organization-", i), "text"));
  CloseAll();
  Damage("event-3organization-3");  // changes the column of the organization, which follows the id
  Open();
  ExpectAllBut(*reader_, 3, 5);
  EventFilter filter;
  filter.organization_ids = {"organization-3"};
  ExpectAllBut(*reader_, 3, 5, filter);
}

TEST_F(SqliteEventLogTest, DetectsMovedChangedAndDeletedRows) {
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  const std::string before = ReadFile(options_.path);
  for (const char* sql : {
           "DELETE FROM events WHERE seq = 3",
           "UPDATE events SET commit_us = commit_us + 1 WHERE seq = 3",
           "UPDATE events SET signature = zeroblob(64) WHERE seq = 3",
           "UPDATE events SET headers = x'' WHERE seq = 3",
           "UPDATE events SET key_id = organization_id, organization_id = key_id WHERE seq = 3",
           "UPDATE events SET checksum = x'' WHERE seq = 3",
           "UPDATE events SET body = x'7b7d', body_sha256 = zeroblob(32) WHERE seq = 3",
           R"(UPDATE events SET (commit_us, event_id, timestamp_ms, signature, headers, body_sha256, checksum, body) =
              (SELECT commit_us, event_id, timestamp_ms, signature, headers, body_sha256, checksum, body
               FROM events WHERE seq = 2) WHERE seq = 3)",
       }) {
    SCOPED_TRACE(sql);
    WriteFile(options_.path, before);
    RunSql(options_.path, sql);
    Open();
    ExpectAllBut(*reader_, 3, 5);
    EXPECT_EQ(reader_->Find({IdOf(3), {}}, {}).status().code(), kDamaged);
    // PositionBefore works despite the damaged event.
    EXPECT_EQ(reader_->PositionBefore(kStart + absl::Seconds(4)).value(), 4);
    CloseAll();
  }
}

TEST_F(SqliteEventLogTest, DetectsRowsOfAnotherLog) {
  Open();
  StoreNumbers(1, 3);
  CloseAll();
  const std::string one = options_.path;
  options_.path += "-2";
  SetTime(kStart);
  Open();
  StoreNumbers(1, 3);
  CloseAll();
  RunSql(options_.path, absl::StrCat("ATTACH '", one, "' AS one; DELETE FROM events WHERE seq = 2;",
                                     "INSERT INTO events SELECT * FROM one.events WHERE seq = 2"));
  Open();
  ExpectAllBut(*reader_, 2, 3);
}

// Zeroes a page, changes a byte or truncates the file, at many offsets. The log must refuse to open, or return correct
// events and report the damaged events.
TEST_F(SqliteEventLogTest, ReturnsNoWrongEventAfterAnyDamage) {
  Open();
  StoreNumbers(1, 30, std::string(700, 'x'));
  CloseAll();
  const std::string whole = ReadFile(options_.path);
  options_.on_fatal = nullptr;
  std::mt19937_64 random(11);
  int refused = 0;
  int reported = 0;
  const auto look = [&](const std::string& content) {
    WriteFile(options_.path, content);
    std::filesystem::remove(options_.path + "-mark");  // the mark of the undamaged log would not match
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    if (!log.ok()) {
      ++refused;
      EXPECT_TRUE(log.status().code() == kDamaged || log.status().code() == kRefused) << log.status();
      return;
    }
    AppendAndWait(**log, MakeVerifiedEvent("new", "{}")).IgnoreError();
    absl::StatusOr<std::unique_ptr<EventReader>> reader = (*log)->NewReader();
    if (!reader.ok()) return;
    for (Position after = 0; after < 30;) {
      absl::StatusOr<EventReader::Batch> batch = (*reader)->Read({after}, {}, {});
      if (batch.ok()) {
        for (const LoggedEvent& event : batch->events) {
          if (event.event.event_id == "new") continue;
          EXPECT_EQ(event.event.event_id, IdOf(event.position));
          EXPECT_EQ(event.event.body, BodyOf("org", absl::StrCat(std::string(700, 'x'), event.position)));
        }
        ASSERT_GT(batch->through, after);
        after = batch->through;
      } else if (batch.status().code() == kDamaged) {
        ++reported;
        ASSERT_EQ((*reader)->Lost().last, after + 1);
        ++after;
      } else {
        EXPECT_EQ(batch.status().code(), kGone) << batch.status();
        return;
      }
    }
  };
  for (size_t page = 0; page < whole.size(); page += 4096) {
    std::string content = whole;
    content.replace(page, 4096, std::string(4096, '\0'));
    look(content);
  }
  // SQLite treats a file of one byte as empty.
  for (size_t size = 2; size < whole.size(); size += 3000) look(whole.substr(0, size));
  for (int i = 0; i < 150; ++i) {
    std::string content = whole;
    content[random() % content.size()] ^= static_cast<char>(1 + random() % 255);
    look(content);
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(reported, 10);
}

TEST_F(SqliteEventLogTest, ReportsATruncatedFileAsDamaged) {
  Open();
  StoreNumbers(1, 20, std::string(1000, 'x'));
  CloseAll();
  const std::string whole = ReadFile(options_.path);
  WriteFile(options_.path, whole.substr(0, size_t{8} * 4096));
  EXPECT_EQ(OpenStatus().code(), kDamaged) << OpenStatus();
  EXPECT_THAT(OpenStatus().message(), HasSubstr(options_.path));
}

TEST_F(SqliteEventLogTest, RefusesAFileThatContradictsItself) {
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  const std::string before = ReadFile(options_.path);
  for (const char* sql : {
           "DELETE FROM events WHERE seq = 5",
           "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'events'",
           "DELETE FROM sqlite_sequence",
           "DELETE FROM log",
           "UPDATE log SET latest = 6",
           "UPDATE log SET cursor_key = zeroblob(32)",
           "DROP TABLE seen",
           "DELETE FROM seen WHERE seq = 5",
           "ALTER TABLE events RENAME COLUMN type TO kind",
       }) {
    WriteFile(options_.path, before);
    RunSql(options_.path, sql);
    EXPECT_EQ(OpenStatus().code(), kDamaged) << sql << ": " << OpenStatus();
  }
}

// Holes: ranges of acknowledged events that the disk has lost.

class LogHoleTest : public SqliteEventLogTest {
 protected:
  LogHoleTest() {
    options_.on_loss = [this](const LostEvents& lost) {
      reports_.push_back(absl::StrCat(lost.first, "-", lost.last, lost.gone ? " gone" : " damaged"));
    };
    options_.on_mark_missing = [this] { reports_.push_back("no mark"); };
  }

  // Stores five events, and then replaces the log's file by an older copy that has only the first two events.
  void LoseThree() {
    Open();
    StoreNumbers(1, 2);
    CloseAll();
    const std::string before = ReadFile(options_.path);
    Open();
    StoreNumbers(3, 5);
    digest_of_last_ = reader_->DigestAt(5).value();
    CloseAll();
    WriteFile(options_.path, before);
  }

  std::vector<std::string> reports_;
  ChainDigest digest_of_last_ = {};
};

TEST_F(LogHoleTest, ALossIsReportedOnceAndNewEventsFollowTheHole) {
  LoseThree();
  Open();
  EXPECT_THAT(reports_, ElementsAre("3-5 gone"));
  EXPECT_EQ(Extent().latest, 5);
  // If upstream repeats a lost event, the log stores it at a new position.
  Store(IdOf(5), BodyOf("org", "text5"), AppendOutcome::kStored);
  Store(IdOf(2), BodyOf("org", "text2"), AppendOutcome::kDuplicate);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(Positions(reader_->Read({0}, {}, {})), ElementsAre(1, 2));
    for (Position after : {2, 3, 4}) {
      const absl::Status status = reader_->Read({after}, {}, {}).status();
      EXPECT_EQ(status.code(), kDamaged);
      EXPECT_THAT(status.message(), HasSubstr("3 to 5"));
      EXPECT_TRUE(reader_->Lost().gone);
      EXPECT_EQ(reader_->Lost().first, 3);
      EXPECT_EQ(reader_->Lost().last, 5);
    }
    EXPECT_THAT(Positions(reader_->Read({5}, {}, {})), ElementsAre(6));
    Open();  // does not report the known hole again
  }
  EXPECT_THAT(reports_, ElementsAre("3-5 gone"));
}

TEST_F(LogHoleTest, OnlyTheDigestOfTheLastLostEventIsKnown) {
  LoseThree();
  Open();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(reader_->DigestAt(5).value(), digest_of_last_);
    EXPECT_TRUE(reader_->DigestAt(2).ok());
    EXPECT_EQ(reader_->DigestAt(3).status().code(), kDamaged);
    EXPECT_TRUE(reader_->Lost().gone);
    EXPECT_EQ(reader_->DigestAt(4).status().code(), kDamaged);
    if (round == 0) StoreNumbers(6, 7);  // the second round has events after the hole
  }
}

TEST_F(LogHoleTest, RetentionDeletesEventsAfterAHole) {
  options_.retention_age = absl::Seconds(100);
  LoseThree();
  Open();
  Pass(absl::Seconds(101));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 3);
  EXPECT_EQ(reader_->Read({2}, {}, {}).status().code(), kDamaged);
  Open();  // the log has no events, only the hole
  StoreNumbers(6, 6);
  Pass(absl::Seconds(101));
  StoreNumbers(7, 7);
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 7);
  Open();
  EXPECT_THAT(Positions(reader_->Read({6}, {}, {})), ElementsAre(7));
}

TEST_F(LogHoleTest, TheDiskMayLoseTheWholeLog) {
  Open();
  CloseAll();
  const std::string before = ReadFile(options_.path);
  Open();
  StoreNumbers(1, 2);
  CloseAll();
  WriteFile(options_.path, before);
  Open();
  EXPECT_THAT(reports_, ElementsAre("1-2 gone"));
  EXPECT_EQ(reader_->Read({0}, {}, {}).status().code(), kDamaged);
  StoreNumbers(3, 3);
  Open();
  EXPECT_THAT(Positions(reader_->Read({2}, {}, {})), ElementsAre(3));
}

TEST_F(LogHoleTest, ALossIsNotDetectedWithoutTheMark) {
  LoseThree();
  std::filesystem::remove(options_.path + "-mark");
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
  EXPECT_EQ(Extent().latest, 2);
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
}

TEST_F(LogHoleTest, IgnoresTheMarkOfAnotherLog) {
  Open();
  StoreNumbers(1, 2);
  CloseAll();
  const std::string marked = options_.path + "-mark";
  options_.path += "-2";
  Open();
  StoreNumbers(1, 5);
  CloseAll();
  std::filesystem::copy_file(options_.path + "-mark", marked, std::filesystem::copy_options::overwrite_existing);
  options_.path.resize(options_.path.size() - 2);
  Open();
  EXPECT_THAT(reports_, ElementsAre("no mark"));
  EXPECT_EQ(Extent().latest, 2);
}

// The operator has restored an older copy without `stampgate store restored`, and the log has stored new events since.
TEST_F(LogHoleTest, RefusesALogThatHasAnotherEventAtItsMark) {
  LoseThree();
  const std::string mark = ReadFile(options_.path + "-mark");
  std::filesystem::remove(options_.path + "-mark");
  Open();
  for (int i = 3; i <= 6; ++i) Store(IdOf(i), BodyOf("org", "another"));
  CloseAll();
  WriteFile(options_.path + "-mark", mark);
  EXPECT_EQ(OpenStatus().code(), kDamaged);
  EXPECT_THAT(OpenStatus().message(), HasSubstr("another event at 5"));
}

TEST_F(LogHoleTest, OpeningTheLogReportsDamagedNewestEvents) {
  Open();
  StoreNumbers(1, 9, "marker-of-the-body-");
  CloseAll();
  Damage("marker-of-the-body-5");
  Damage("marker-of-the-body-6");
  Damage("marker-of-the-body-8");
  Open();
  EXPECT_THAT(reports_, ElementsAre("5-6 damaged", "8-8 damaged"));
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

// Tests with a log of version 1.

constexpr char kCursorOfVersion1[] = "AUxjaWBA0UxWb3R1LVh9LXIAAAAAAAAAApICI5Ewsuornxg6IjMeS0I";

TEST_F(SqliteEventLogTest, MigratesALogOfVersion1) {
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  SetTime(absl::FromUnixSeconds(1'795'320'430));
  for (int round = 0; round < 2; ++round) {
    Open();
    EXPECT_EQ(Extent().earliest, 1);
    ASSERT_EQ(Extent().latest, 3 + 2 * round);
    const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
    EXPECT_EQ(events[0].event.event_id, "bench-0");
    EXPECT_EQ(events[2].event.event_id, "bench-2");
    EXPECT_EQ(absl::ToUnixMicros(events[2].commit_time), 1'795'320'423'271'830);
    EXPECT_EQ(reader_->DigestAt(2).value(), events[1].digest);
    // An older gateway has issued this cursor, with which a subscriber resumes after the second event.
    EXPECT_EQ(DecodeCursor(log_->identity(), kCursorOfVersion1)->position, 2);
    Store("bench-1", R"({"organizationId":"org-1","type":"ACTIVITY_TYPE_X","n":"0000"})", AppendOutcome::kDuplicate);
    Store(absl::StrCat("new-", 2 * round), "{}");
    Store(absl::StrCat("new-", 2 * round + 1), "{}");
  }
  // The digest chain continues from the last row of version 1.
  CloseAll();
  RunSql(options_.path, "UPDATE events SET checksum = zeroblob(32) WHERE seq = 3");
  Open();
  EXPECT_NE(reader_->DigestAt(3).value(), ChainDigest{});
  EXPECT_EQ(reader_->Read({2}, {}, {}).status().code(), kDamaged);
}

TEST_F(SqliteEventLogTest, RetentionDeletesTheEventsOfVersion1) {
  options_.retention_age = absl::Seconds(60);
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  SetTime(absl::FromUnixSeconds(1'795'320'424));
  Open();
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 1);
  Pass(absl::Seconds(61));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 4);
}

TEST_F(SqliteEventLogTest, RefusesADamagedLogOfVersion1) {
  RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_1.sql"));
  chmod(options_.path.c_str(), 0600);
  RunSql(options_.path, "UPDATE log SET latest = 2");
  EXPECT_EQ(OpenStatus().code(), kDamaged);
}

// Tests with a log of version 2.

class LogOfVersion2Test : public SqliteEventLogTest {
 protected:
  LogOfVersion2Test() {
    RunSql(options_.path, ReadFile("webhooks/log/sqlite/version_2.sql"));
    chmod(options_.path.c_str(), 0600);
    SetTime(absl::FromUnixSeconds(1'795'334'090));
  }
};

TEST_F(LogOfVersion2Test, MigrationGivesEachIdTheScopeOfItsEvent) {
  const std::string first =
      R"({"organizationId":"org-1","parentOrganizationId":"org-0","type":"ACTIVITY_TYPE_X","n":1})";
  for (int round = 0; round < 2; ++round) {
    Open();
    EXPECT_EQ(Extent().earliest, 2);
    ASSERT_EQ(Extent().latest, 4 + 3 * round);
    const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
    EXPECT_EQ(events[0].event.event_id, "organization");
    EXPECT_EQ(events[0].event.body, first);
    EXPECT_EQ(events[2].event.event_id, "none");
    EXPECT_EQ(reader_->DigestAt(4).value(), events[2].digest);
    EXPECT_EQ(reader_->Find({"organization", "org-1"}, {}).value()->position, 2);
    EXPECT_EQ(reader_->Find({"parent", "org-0"}, {}).value()->position, 3);
    EXPECT_EQ(reader_->Find({"none", ""}, {}).value()->position, 4);
    // Events of other organizations that have the same ids are different events.
    const AppendOutcome outcome = round == 0 ? AppendOutcome::kStored : AppendOutcome::kDuplicate;
    Store("organization", first, AppendOutcome::kDuplicate);
    Store("organization", BodyOf("org-2", "text"), outcome);
    Store("parent", R"({"parentOrganizationId":"org-0","type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("parent", "{}", outcome);
    Store("none", R"({"type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("none", BodyOf("org-1", "text"), outcome);
    // The scope of this event is unknown, because retention had deleted the event before the migration.
    Store("trimmed", R"({"organizationId":"org-1","type":"ACTIVITY_TYPE_X","n":1})", AppendOutcome::kDuplicate);
    Store("trimmed", BodyOf("org-2", "text"), AppendOutcome::kConflict);
  }
}

TEST_F(LogOfVersion2Test, AnIdWithoutAScopeIsForgottenAfterTheDeduplicationAge) {
  options_.deduplication_age = absl::Hours(24 * 7);
  Open();
  Pass(absl::Minutes(1));
  TrimNow(*log_);
  Store("trimmed", "{}", AppendOutcome::kConflict);
  for (int hour = 0; hour < 24 * 7 + 1; ++hour) {
    Pass(absl::Hours(1));
    TrimNow(*log_);
  }
  Store("trimmed", "{}", AppendOutcome::kStored);
}

TEST_F(LogOfVersion2Test, AFailedMigrationDoesNotChangeTheFile) {
  RunSql(options_.path, "CREATE TABLE seen_of_version_2 (a)");
  EXPECT_EQ(OpenStatus().code(), kDamaged);
  RunSql(options_.path, "DROP TABLE seen_of_version_2");
  Open();
  EXPECT_EQ(reader_->Find({"organization", "org-1"}, {}).value()->position, 2);
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
