#include "gateway/store/sqlite/sqlite_call_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/sqlite.h"
#include "base/threads/wait_clock.h"
#include "gateway/store/call_row.h"
#include "gateway/store/call_store_testing.h"

namespace stampgate {
namespace {

using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;

constexpr uint64_t kNoTimestamp = ~uint64_t{0};
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// The fixture opens a store in a temporary folder. The test advances the clock. The store writes ends only together
// with the next attempt.
class SqliteCallStoreTest : public testing::Test {
 protected:
  SqliteCallStoreTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/calls-XXXXXX");
    folder_ = mkdtemp(folder.data());
    options_.path = absl::StrCat(folder_, "/calls.db");
    options_.queue.tidy_interval = absl::Hours(1);
    options_.queue.end_delay = absl::Hours(1);
    options_.now = [this] { return absl::FromUnixMicros(now_us_); };
    options_.queue.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options_.on_loss = [this](const absl::Status& status) { losses_.push_back(status); };
    options_.queue.observe = [this](const CallStoreState& state) {
      keys_ = state.keys;
      failing_ = !state.failure.ok();
    };
    now_us_ = absl::ToUnixMicros(kStart);
  }
  ~SqliteCallStoreTest() override {
    store_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  // Advances the clock in steps of at most 30 minutes, because the store's age follows only short steps.
  void Pass(absl::Duration time) {
    for (; time > absl::ZeroDuration(); time -= absl::Minutes(30)) {
      now_us_ += absl::ToInt64Microseconds(std::min(time, absl::Minutes(30)));
      TidyNow(*store_);
    }
  }

  void Open() {
    store_ = nullptr;
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenSqliteCallStore(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }

  absl::StatusCode OpenCode() {
    store_ = nullptr;
    return OpenSqliteCallStore(options_).status().code();
  }

  Begun Begin(const KeyedSubmit& submit) {
    absl::StatusOr<Begun> begun = BeginAndWait(*store_, submit);
    EXPECT_TRUE(begun.ok()) << begun.status();
    return begun.ok() ? *std::move(begun) : Begun();
  }

  // Begins an attempt, which must succeed.
  CallStore::AttemptId Attempt(const KeyedSubmit& submit) {
    const Begun begun = Begin(submit);
    EXPECT_TRUE(begun.attempt.has_value());
    EXPECT_FALSE(begun.record.has_value());
    return begun.attempt.value_or(0);
  }

  void AttemptAndEnd(const KeyedSubmit& submit, AttemptEnd end) { store_->End(Attempt(submit), std::move(end)); }

  // Calls Begin and returns the key's record. Expects that no attempt begins.
  KeyRecord Record(const KeyedSubmit& submit) {
    const Begun begun = Begin(submit);
    EXPECT_FALSE(begun.attempt.has_value());
    EXPECT_TRUE(begun.record.has_value());
    return begun.record.value_or(KeyRecord());
  }

  // Returns the record of a key. Begins a submit with another request, so that no attempt begins.
  KeyRecord Ask(const std::string& key) { return Record(MakeSubmit(key, 99, 99, 99)); }
  Kind OutcomeOf(const std::string& key) { return Ask(key).outcome.kind; }

  void ExpectUnknownKey(const std::string& key, absl::Duration until) {
    const Begun begun = Begin(MakeSubmit(key, 1, 1));
    EXPECT_FALSE(begun.attempt.has_value());
    EXPECT_FALSE(begun.record.has_value());
    EXPECT_EQ(begun.unknown_until, until);
  }

  // Blocks the store's thread in a callback, as a disk does that hangs, until `go_on_` has its value.
  void HoldThread() {
    store_->Begin(MakeSubmit("first", 1, 2), nullptr, [this](const auto&) {
      held_.set_value();
      go_on_.get_future().wait();
    });
    held_.get_future().wait();
  }

  void RunSql(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(options_.path.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  // Returns the number of keys that the file has, as another connection sees it.
  int64_t CountKeys() {
    absl::StatusOr<SqliteConnection> connection = SqliteConnection::Open(options_.path, SQLITE_OPEN_READONLY, "");
    EXPECT_TRUE(connection.ok()) << connection.status();
    return connection->Number("SELECT count(*) FROM calls").value_or(-1);
  }

  // Copies a file of the store; PutBack restores it later.
  void Copy(const std::string& suffix) {
    store_ = nullptr;
    copy_[suffix] = ReadFile(options_.path + suffix);
  }
  void PutBack(const std::string& suffix) {
    store_ = nullptr;
    WriteFile(options_.path + suffix, copy_[suffix]);
  }

  std::string folder_;
  SqliteCallStoreOptions options_;
  std::atomic<int64_t> now_us_ = 0;
  std::atomic<int64_t> keys_ = -1;
  std::atomic<bool> failing_ = false;
  std::vector<absl::Status> losses_;
  std::map<std::string, std::string> copy_;
  std::promise<void> held_;
  std::promise<void> go_on_;
  std::unique_ptr<CallStore> store_;
};

// After 12 idle hours the process dies. The next store still counts these hours.
TEST_F(SqliteCallStoreTest, FloorOfTimestampsIsTheLastRaiseOrTheValueAtClose) {
  Open();
  EXPECT_EQ(store_->timestamp_floor_ms(), 0u);
  EXPECT_EQ(RaiseAndWait(*store_, 5000), absl::OkStatus());
  EXPECT_EQ(RaiseAndWait(*store_, 4000), absl::OkStatus());
  EXPECT_EQ(store_->timestamp_floor_ms(), 0u);
  Open();
  EXPECT_EQ(store_->timestamp_floor_ms(), 5000u);
  EXPECT_EQ(RaiseAndWait(*store_, 9000), absl::OkStatus());
  store_->Close(6000);
  Open();
  EXPECT_EQ(store_->timestamp_floor_ms(), 6000u);
  // This process used no timestamps, but earlier processes may have used all timestamps below the floor.
  store_->Close(1);
  Open();
  EXPECT_EQ(store_->timestamp_floor_ms(), 6000u);
  store_->Close(7000);
  Open();
  EXPECT_EQ(store_->timestamp_floor_ms(), 6000u);
}

TEST_F(SqliteCallStoreTest, AnEndIsWrittenWithoutALaterSubmit) {
  options_.queue.end_delay = absl::Milliseconds(1);
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // Waits until another connection reads the end from the file.
  for (std::string id; id != "a-1" && std::chrono::steady_clock::now() < give_up;) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open_v2(options_.path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database, "SELECT activity_id FROM calls", -1, &statement, nullptr), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW) {
      id = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    std::this_thread::yield();
  }
  EXPECT_LT(std::chrono::steady_clock::now(), give_up);
}

TEST_F(SqliteCallStoreTest, StoresItsAgeWhileNoSubmitsArrive) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  Pass(absl::Hours(12));
  const std::string wal = ReadFile(options_.path + "-wal");
  const std::string file = ReadFile(options_.path);
  const std::string mark = ReadFile(options_.path + "-mark");
  store_ = nullptr;
  WriteFile(options_.path, file);
  WriteFile(options_.path + "-wal", wal);
  WriteFile(options_.path + "-mark", mark);
  std::filesystem::remove(options_.path + "-shm");
  Open();
  Pass(absl::Hours(12) + absl::Minutes(11));
  Attempt(MakeSubmit("a", 5, 6));
  EXPECT_TRUE(losses_.empty());
}

TEST_F(SqliteCallStoreTest, BoundsTheNumberOfKeys) {
  options_.max_keys = 2;
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  AttemptAndEnd(MakeSubmit("b", 1, 2, 1000), NotSent());
  EXPECT_EQ(BeginAndWait(*store_, MakeSubmit("c", 1, 2)).status().code(), absl::StatusCode::kResourceExhausted);
  // Stored keys can still be used.
  Attempt(MakeSubmit("a", 1, 2));
  Attempt(MakeSubmit("b", 1, 3, 2000));
  Open();
  EXPECT_EQ(BeginAndWait(*store_, MakeSubmit("c", 1, 2)).status().code(), absl::StatusCode::kResourceExhausted);
  Pass(absl::Hours(24) + absl::Seconds(1));
  Attempt(MakeSubmit("c", 1, 2));
}

// One caller has all keys. Restarts between the steps forget nobody's keys.
TEST_F(SqliteCallStoreTest, ACallerWithinItsShareGetsKeysThatAnotherOneHasUsedUp) {
  options_.max_keys = 10;
  Open();
  const auto take = [this](const std::string& caller, int most) {
    int taken = 0;
    for (; taken < most; ++taken) {
      KeyedSubmit submit = MakeSubmit(absl::StrCat(now_us_.load(), "-", taken), 1, 2);
      submit.caller = caller;
      const auto begun = BeginAndWait(*store_, submit);
      if (begun.ok() && begun->attempt.has_value()) continue;
      EXPECT_EQ(begun.status().code(), absl::StatusCode::kResourceExhausted) << begun.status();
      break;
    }
    Pass(absl::Seconds(1));
    return taken;
  };
  EXPECT_EQ(take("greedy", 20), 10);
  Open();
  EXPECT_EQ(take("greedy", 20), 0);
  EXPECT_EQ(take("honest", 3), 3);
  Open();
  EXPECT_EQ(take("honest", 20), 2) << "half of the keys";
  EXPECT_EQ(take("greedy", 20), 0);
  EXPECT_EQ(take("third", 20), 4) << "a third of the keys";
  Open();
  EXPECT_EQ(take("third", 20), 0);
  Pass(absl::Hours(24));
  EXPECT_EQ(take("greedy", 20), 10);
}

TEST_F(SqliteCallStoreTest, ObserversGetTheNumberOfKeys) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  Attempt(MakeSubmit("b", 1, 2));
  TidyNow(*store_);
  EXPECT_EQ(keys_, 2);
  Open();
  TidyNow(*store_);
  EXPECT_EQ(keys_, 2);
  EXPECT_FALSE(failing_);
}

TEST_F(SqliteCallStoreTest, ReportsItsDecisionBeforeTheCommit) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  std::promise<int64_t> keys;
  store_->Begin(
      MakeSubmit("b", 1, 2), [&] { keys.set_value(CountKeys()); }, [](const auto&) {});
  EXPECT_EQ(keys.get_future().get(), 1);
  store_->Close(kNoTimestamp);
  EXPECT_EQ(CountKeys(), 2);
}

TEST_F(SqliteCallStoreTest, RefusesSubmitsWhenTheQueueIsFull) {
  options_.queue.max_waiting = 3;
  Open();
  HoldThread();
  std::atomic<int> begun = 0;
  const auto count = [&begun](const absl::StatusOr<Begun>& answer) { begun += answer.ok() ? 1 : 0; };
  store_->Begin(MakeSubmit("a", 1, 2), nullptr, count);
  store_->Begin(MakeSubmit("b", 1, 2), nullptr, count);
  store_->RaiseTimestamps(5, [](const absl::Status& status) { EXPECT_EQ(status, absl::OkStatus()); });
  absl::Status refusal;
  store_->Begin(MakeSubmit("c", 1, 2), nullptr,
                [&](const absl::StatusOr<Begun>& answer) { refusal = answer.status(); });
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  store_->RaiseTimestamps(6, [&](const absl::Status& status) { refusal = status; });
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  go_on_.set_value();
  store_->Close(kNoTimestamp);
  EXPECT_EQ(begun, 2);
}

TEST_F(SqliteCallStoreTest, RefusesSubmitsAndRaisesAtOnceWhileTheDiskHangs) {
  // The store's thread outlives this function.
  const auto steady_seconds = std::make_shared<std::atomic<int>>(0);
  options_.queue.steady_now = [steady_seconds] {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(*steady_seconds));
  };
  Open();
  HoldThread();
  *steady_seconds = static_cast<int>(absl::ToInt64Seconds(kWriteHangsAfter));
  EXPECT_EQ(store_->WriteUnderWay(), kWriteHangsAfter);
  std::atomic<int> begun = 0;
  store_->Begin(MakeSubmit("a", 1, 2), nullptr,
                [&](const absl::StatusOr<Begun>& answer) { begun += answer.ok() ? 1 : 0; });
  ++*steady_seconds;
  absl::Status refusal;
  store_->Begin(MakeSubmit("b", 1, 2), nullptr,
                [&](const absl::StatusOr<Begun>& answer) { refusal = answer.status(); });
  EXPECT_EQ(refusal.code(), absl::StatusCode::kUnavailable);
  refusal = absl::OkStatus();
  store_->RaiseTimestamps(6, [&](const absl::Status& status) { refusal = status; });
  EXPECT_EQ(refusal.code(), absl::StatusCode::kUnavailable);
  go_on_.set_value();
  TidyNow(*store_);
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(RaiseAndWait(*store_, 6), absl::OkStatus());
}

TEST_F(SqliteCallStoreTest, FloorOfTimestampsIs31SecondsAheadIfTheirFileIsMissing) {
  Open();
  EXPECT_EQ(RaiseAndWait(*store_, 5000), absl::OkStatus());
  store_ = nullptr;
  std::filesystem::remove(options_.path + "-timestamps");
  Open();
  const auto later = static_cast<uint64_t>(absl::ToUnixMillis(kStart + absl::Seconds(31)));
  EXPECT_EQ(store_->timestamp_floor_ms(), later);
  EXPECT_TRUE(losses_.empty());
}

TEST_F(SqliteCallStoreTest, DetectsThatTheDatabaseIsOlderThanItsMark) {
  Open();
  AttemptAndEnd(MakeSubmit("done", 1, 2), Done("a-1"));
  AttemptAndEnd(MakeSubmit("not-sent", 1, 2, 1000), NotSent());
  AttemptAndEnd(MakeSubmit("refused", 1, 2), Refused("R"));
  Copy("");
  Open();
  // The copy lacks these attempts.
  Attempt(MakeSubmit("not-sent", 1, 3, 2000));
  Attempt(MakeSubmit("lost", 1, 2));
  PutBack("");
  Open();
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_[0].code(), absl::StatusCode::kDataLoss);
  const auto later = static_cast<uint64_t>(absl::ToUnixMillis(kStart + absl::Seconds(31)));
  EXPECT_EQ(store_->timestamp_floor_ms(), later);
  for (int round = 0; round < 2; ++round) {
    ExpectUnknownKey("lost", absl::Hours(24));
    ExpectUnknownKey("new", absl::Hours(24));
    // No attempt begins, neither with another body nor with the stored body, which may be outdated.
    EXPECT_EQ(Record(MakeSubmit("not-sent", 1, 4, 3000)).outcome.kind, Kind::kUnknown);
    EXPECT_EQ(Record(MakeSubmit("not-sent", 1, 2, 1000)).outcome.kind, Kind::kUnknown);
    EXPECT_EQ(Record(MakeSubmit("refused", 1, 2)).outcome.kind, Kind::kUnknown);
    EXPECT_EQ(Record(MakeSubmit("done", 1, 2)).outcome.kind, Kind::kDone);
    Open();
  }
  EXPECT_EQ(losses_.size(), 1u);
  Pass(absl::Hours(23));
  ExpectUnknownKey("new", absl::Hours(1));
  Pass(absl::Hours(1) + absl::Seconds(1));
  Attempt(MakeSubmit("new", 1, 2));
  Attempt(MakeSubmit("lost", 1, 2));
  Attempt(MakeSubmit("not-sent", 1, 5));
}

TEST_F(SqliteCallStoreTest, DetectsAnotherDatabaseWithTheSameNumberOfCommits) {
  Open();
  Copy("");
  Open();
  Attempt(MakeSubmit("one", 1, 2));
  Copy("-mark");
  PutBack("");
  std::filesystem::remove(options_.path + "-mark");
  Open();
  EXPECT_EQ(losses_.size(), 1u);
  store_ = nullptr;
  WriteFile(options_.path + "-mark", copy_["-mark"]);
  Open();
  EXPECT_EQ(losses_.size(), 2u);
  ExpectUnknownKey("one", absl::Hours(24));
}

TEST_F(SqliteCallStoreTest, DetectsThatTheMarkFileIsMissing) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  store_ = nullptr;
  std::filesystem::remove(options_.path + "-mark");
  Open();
  EXPECT_EQ(losses_.size(), 1u);
  ExpectUnknownKey("new", absl::Hours(24));
  Open();
  EXPECT_EQ(losses_.size(), 1u);
}

TEST_F(SqliteCallStoreTest, DetectsThatTheDatabaseIsMissing) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  EXPECT_EQ(RaiseAndWait(*store_, 5000), absl::OkStatus());
  store_ = nullptr;
  std::filesystem::remove(options_.path);
  Open();
  EXPECT_EQ(losses_.size(), 1u);
  ExpectUnknownKey("a", absl::Hours(24));
  EXPECT_EQ(store_->timestamp_floor_ms(), static_cast<uint64_t>(absl::ToUnixMillis(kStart + absl::Seconds(31))));
  Open();
  EXPECT_EQ(losses_.size(), 1u);
  ExpectUnknownKey("a", absl::Hours(24));
}

TEST_F(SqliteCallStoreTest, DoesNotOpenWithADamagedMark) {
  for (const char* suffix : {"-mark", "-timestamps"}) {
    Open();
    store_ = nullptr;
    const std::string path = options_.path + suffix;
    const std::string whole = ReadFile(path);
    WriteFile(path, std::string(whole.size(), 'x'));
    EXPECT_EQ(OpenCode(), absl::StatusCode::kDataLoss);
    WriteFile(path, whole);
  }
  EXPECT_TRUE(losses_.empty());
}

// Damages one column of the row at a time.
TEST_F(SqliteCallStoreTest, BeginsNoAttemptForADamagedRowAndItsOutcomeIsUnknown) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), NotSent());
  store_ = nullptr;
  const char* const changes[] = {
      "request_sha256 = zeroblob(32)",
      "body_sha256 = zeroblob(32)",
      "body_sha256 = zeroblob(31)",
      "timestamp_ms = 7",
      "stored_age_us = -1000000000000",
      "open_attempts = 1",
      "kind = 3",
      "code = 3",
      "domain = 'x'",
      "reason = 'x'",
      "activity_id = 'x'",
      "activity_status = 'x'",
      "checksum = zeroblob(32)",
  };
  const std::string whole = ReadFile(options_.path);
  for (const char* change : changes) {
    SCOPED_TRACE(change);
    RunSql(absl::StrCat("UPDATE calls SET ", change));
    Open();
    for (const KeyedSubmit& submit : {MakeSubmit("a", 1, 2), MakeSubmit("a", 1, 3), MakeSubmit("a", 4, 5)}) {
      const KeyRecord record = Record(submit);
      EXPECT_EQ(record.outcome.kind, Kind::kUnknown);
      EXPECT_EQ(record.request_sha256, submit.request_sha256);
      EXPECT_EQ(record.timestamp_ms, 0u);
    }
    // Retention removes a damaged row only together with a later row.
    Pass(absl::Hours(25));
    EXPECT_EQ(keys_, 1);
    store_ = nullptr;
    WriteFile(options_.path, whole);
    // Discards the commits that were made after the copy, such as those that stored the age.
    std::filesystem::remove(options_.path + "-wal");
  }
}

TEST_F(SqliteCallStoreTest, RetentionRemovesADamagedRowTogetherWithALaterRow) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  Attempt(MakeSubmit("b", 1, 2));
  store_ = nullptr;
  RunSql("UPDATE calls SET timestamp_ms = 7 WHERE key = 'a'");
  Open();
  Pass(absl::Hours(24) + absl::Seconds(1));
  EXPECT_EQ(keys_, 0);
}

TEST_F(SqliteCallStoreTest, DoesNotOpenAStoreThatIsAlreadyOpen) {
  Open();
  const absl::Status status = OpenSqliteCallStore(options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
}

TEST_F(SqliteCallStoreTest, DoesNotOpenAFileThatIsNoCallStore) {
  WriteFile(options_.path, "not a database, and longer than the header of one would be ............................");
  EXPECT_EQ(OpenCode(), absl::StatusCode::kFailedPrecondition);
  WriteFile(options_.path, "");
  RunSql("CREATE TABLE t (x)");
  EXPECT_EQ(OpenCode(), absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove(options_.path);
  Open();
  store_ = nullptr;
  RunSql("PRAGMA user_version = 2");
  EXPECT_EQ(OpenCode(), absl::StatusCode::kFailedPrecondition);
  RunSql("PRAGMA user_version = 1; UPDATE store SET keys = 5");
  EXPECT_EQ(OpenCode(), absl::StatusCode::kDataLoss);
  RunSql("DROP TABLE calls");
  EXPECT_EQ(OpenCode(), absl::StatusCode::kDataLoss);
  options_.path = "/nowhere/calls.db";
  EXPECT_EQ(OpenCode(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteCallStoreTest, DoesNotOpenAFileWithASecondHardLink) {
  Open();
  store_ = nullptr;
  std::filesystem::create_hard_link(options_.path, absl::StrCat(folder_, "/other.db"));
  EXPECT_EQ(OpenCode(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteCallStoreTest, OnlyTheOwnerCanReadAndWriteTheFiles) {
  Open();
  Attempt(MakeSubmit("a", 1, 2));
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    struct stat state;
    ASSERT_EQ(stat(file.path().c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777, 0600u) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 6);  // the database and its -wal, -shm, -mark, -timestamps and .lock
}

}  // namespace
}  // namespace stampgate
