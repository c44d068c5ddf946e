// The tests that every call store passes: the store in a SQLite file, and the store on a PostgreSQL server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/postgres/connection.h"
#include "base/postgres/store_bounds.h"
#include "base/postgres/test_server.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "base/threads/mutex.h"
#include "gateway/store/call_row.h"
#include "gateway/store/call_store.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/postgres/postgres_call_store.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/queued_call_store.h"
#include "gateway/store/sqlite/sqlite_call_store.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;

constexpr uint64_t kNoTimestamp = ~uint64_t{0};
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

struct Options {
  absl::Duration key_retention = absl::Hours(24);
  std::function<absl::Time()> now;
  CallQueueOptions queue;
};

// A kind of call store, with one store.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual absl::StatusOr<std::unique_ptr<CallStore>> Open(const Options& options) = 0;
};

class SqliteEngine : public Engine {
 public:
  SqliteEngine() {
    std::string folder = absl::StrCat(testing::TempDir(), "/calls-XXXXXX");
    folder_ = mkdtemp(folder.data());
  }
  ~SqliteEngine() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<CallStore>> Open(const Options& options) override {
    SqliteCallStoreOptions all;
    all.path = folder_ + "/calls.db";
    all.key_retention = options.key_retention;
    all.now = options.now;
    all.queue = options.queue;
    return OpenSqliteCallStore(std::move(all));
  }

 private:
  std::string folder_;
};

class PostgresEngine : public Engine {
 public:
  explicit PostgresEngine(PostgresVersion version) : store_(SharedServer(version).NewStore(StepsOfThisProgram())) {}

  absl::StatusOr<std::unique_ptr<CallStore>> Open(const Options& options) override {
    PostgresCallStoreOptions all;
    all.address = store_;
    all.store_key = &key_;
    all.key_retention = options.key_retention;
    StoreBounds bounds;
    bounds.key_retention = options.key_retention;
    const absl::Status written = WriteStoreBounds(**PostgresConnection::Open(store_), bounds);
    if (!written.ok()) return written;
    all.now = options.now;
    all.queue = options.queue;
    all.on_loss = [](const absl::Status& status) { ADD_FAILURE() << status; };
    return OpenPostgresCallStore(std::move(all));
  }

 private:
  const PostgresAddress store_;
  const SecretBytes key_ = *SecretBytes::Create(kSymmetricKeyBytes);
};

enum class EngineKind { kSqlite, kPostgres15, kPostgres18 };

std::unique_ptr<Engine> MakeEngine(EngineKind kind) {
  if (kind == EngineKind::kSqlite) return std::make_unique<SqliteEngine>();
  return std::make_unique<PostgresEngine>(kind == EngineKind::kPostgres15 ? PostgresVersion::k15
                                                                          : PostgresVersion::k18);
}

// A fixture with a call store. The test advances the clock. The store writes ends only together with the next attempt.
class CallStoreTest : public testing::TestWithParam<EngineKind> {
 protected:
  CallStoreTest() {
    options_.queue.tidy_interval = absl::Hours(1);
    options_.queue.end_delay = absl::Hours(1);
    options_.now = [this] { return absl::FromUnixMicros(now_us_); };
    options_.queue.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    options_.queue.observe = [this](const CallStoreState& state) { keys_ = state.keys; };
    now_us_ = absl::ToUnixMicros(kStart);
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
    absl::StatusOr<std::unique_ptr<CallStore>> store = engine_->Open(options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
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

  // The store on a server knows the number of keys only approximately.
  void ExpectKeys(int64_t keys) {
    if (GetParam() == EngineKind::kSqlite) {
      EXPECT_EQ(keys_, keys);
    }
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

  std::unique_ptr<Engine> engine_ = MakeEngine(GetParam());
  Options options_;
  std::atomic<int64_t> now_us_ = 0;
  std::atomic<int64_t> keys_ = -1;
  std::unique_ptr<CallStore> store_;
};

std::string NameOf(const testing::TestParamInfo<EngineKind>& info) {
  switch (info.param) {
    case EngineKind::kSqlite:
      return "Sqlite";
    case EngineKind::kPostgres15:
      return "Postgres15";
    case EngineKind::kPostgres18:
      return "Postgres18";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(AllEngines, CallStoreTest,
                         testing::Values(EngineKind::kSqlite, EngineKind::kPostgres15, EngineKind::kPostgres18),
                         NameOf);

TEST_P(CallStoreTest, AnAttemptBeginsForANewKey) {
  Open();
  EXPECT_NE(Attempt(MakeSubmit("a", 1, 2)), Attempt(MakeSubmit("b", 1, 2)));
  EXPECT_EQ(OutcomeOf("a"), Kind::kUnknown);
}

TEST_P(CallStoreTest, ReportsThatAnAttemptMayBeginBeforeItReportsThatItHasBegun) {
  Open();
  std::vector<std::string> reports;
  const auto begin = [&](const KeyedSubmit& submit) {
    std::promise<void> done;
    store_->Begin(
        submit, [&] { reports.emplace_back("decided"); },
        [&](const absl::StatusOr<Begun>& begun) {
          reports.emplace_back(begun.ok() && begun->attempt.has_value() ? "begun" : "not begun");
          done.set_value();
        });
    done.get_future().wait();
  };
  begin(MakeSubmit("a", 1, 2));
  EXPECT_THAT(reports, ElementsAre("decided", "begun"));
  reports.clear();
  begin(MakeSubmit("a", 5, 6));
  EXPECT_THAT(reports, ElementsAre("not begun"));
}

TEST_P(CallStoreTest, EqualKeysOfTwoCallersAreIndependent) {
  Open();
  KeyedSubmit other = MakeSubmit("a", 5, 6);
  other.caller = "other";
  Attempt(MakeSubmit("a", 1, 2));
  Attempt(other);
  EXPECT_EQ(Ask("a").request_sha256, MakeSubmit("a", 1, 2).request_sha256);
}

TEST_P(CallStoreTest, TheSameSubmitCanBeginASecondAttempt) {
  Open();
  const KeyedSubmit submit = MakeSubmit("a", 1, 2);
  Attempt(submit);
  AttemptAndEnd(submit, Refused("R"));
  AttemptAndEnd(submit, Done("a-1"));
  AttemptAndEnd(submit, NotSent());
  Attempt(submit);
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
}

TEST_P(CallStoreTest, ReturnsTheRecordIfAnotherSubmitHasTheKey) {
  Open();
  Attempt(MakeSubmit("a", 1, 2, 1000));
  for (const KeyedSubmit& other :
       {MakeSubmit("a", 3, 2, 1000), MakeSubmit("a", 1, 3, 1000), MakeSubmit("a", 1, 2, 1001)}) {
    const KeyRecord record = Record(other);
    EXPECT_EQ(record.request_sha256, MakeSubmit("a", 1, 2).request_sha256);
    EXPECT_EQ(record.body_sha256, MakeSubmit("a", 1, 2).body_sha256);
    EXPECT_EQ(record.timestamp_ms, 1000u);
    EXPECT_EQ(record.outcome.kind, Kind::kUnknown);
  }
}

TEST_P(CallStoreTest, RecordKeepsTheOutcomeAcrossRestarts) {
  Open();
  AttemptAndEnd(MakeSubmit("done", 1, 2), Done("a-1"));
  AttemptAndEnd(MakeSubmit("refused", 1, 2), Refused("NO_FUNDS"));
  AttemptAndEnd(MakeSubmit("not-sent", 1, 2), NotSent());
  AttemptAndEnd(MakeSubmit("unknown", 1, 2), Unknown());
  Attempt(MakeSubmit("open", 1, 2));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Ask("done").outcome.activity_id, "a-1");
    EXPECT_EQ(Ask("done").outcome.activity_status, "ACTIVITY_STATUS_COMPLETED");
    EXPECT_EQ(Ask("refused").outcome.kind, Kind::kRefused);
    EXPECT_EQ(Ask("refused").outcome.code, absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(Ask("refused").outcome.domain, "upstream");
    EXPECT_EQ(Ask("refused").outcome.reason, "NO_FUNDS");
    EXPECT_EQ(OutcomeOf("not-sent"), Kind::kNotSent);
    EXPECT_EQ(OutcomeOf("unknown"), Kind::kUnknown);
    EXPECT_EQ(OutcomeOf("open"), Kind::kUnknown);
    Open();
  }
}

TEST_P(CallStoreTest, AKeyAcceptsAnotherBodyIfNoAttemptWasSent) {
  Open();
  const CallStore::AttemptId first = Attempt(MakeSubmit("a", 1, 2, 1000));
  const CallStore::AttemptId second = Attempt(MakeSubmit("a", 1, 2, 1000));
  store_->End(first, NotSent());
  Record(MakeSubmit("a", 1, 3, 2000));  // no new attempt, because the second one is open
  store_->End(second, NotSent());
  Record(MakeSubmit("a", 9, 3, 2000));  // no new attempt, because the request differs
  const CallStore::AttemptId third = Attempt(MakeSubmit("a", 1, 3, 2000));
  EXPECT_EQ(Record(MakeSubmit("a", 1, 2, 1000)).timestamp_ms, 2000u);
  store_->End(third, Unknown());
  Record(MakeSubmit("a", 1, 4, 3000));
  ExpectKeys(1);
}

// The store ignores the end of an attempt that has already ended, even if a new attempt with another body has begun for
// the same key.
TEST_P(CallStoreTest, AnAttemptCanEndOnlyOnce) {
  Open();
  const CallStore::AttemptId first = Attempt(MakeSubmit("a", 1, 2, 1000));
  store_->End(first, NotSent());
  Attempt(MakeSubmit("a", 1, 3, 2000));
  store_->End(first, NotSent());
  store_->End(first + 1000, NotSent());
  EXPECT_EQ(Record(MakeSubmit("a", 1, 4, 3000)).timestamp_ms, 2000u);
}

TEST_P(CallStoreTest, ForgetsAKeyAfterItsRetention) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  Pass(absl::Hours(23));
  AttemptAndEnd(MakeSubmit("b", 1, 2), Done("b-1"));
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
  ExpectKeys(2);
  Pass(absl::Hours(1) + absl::Seconds(1));
  ExpectKeys(1);
  Attempt(MakeSubmit("a", 7, 8));
  EXPECT_EQ(OutcomeOf("b"), Kind::kDone);
}

TEST_P(CallStoreTest, AnExpiredIdempotencyKeyIsTreatedAsNewBeforeRetentionDeletesIt) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  const CallStore::AttemptId open = Attempt(MakeSubmit("b", 1, 2));
  Pass(absl::Hours(24));
  now_us_ += 1'000'000;
  Attempt(MakeSubmit("a", 3, 4));
  Attempt(MakeSubmit("b", 3, 4));
  // This attempt belongs to the expired submit, so its end does not change the new submit's outcome.
  store_->End(open, Done("b-1"));
  EXPECT_EQ(OutcomeOf("b"), Kind::kUnknown);
  ExpectKeys(2);
}

TEST_P(CallStoreTest, ANewBodyRestartsTheRetentionTimeOfItsKey) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2, 1000), NotSent());
  Pass(absl::Hours(23));
  Attempt(MakeSubmit("a", 1, 3, 2000));
  Pass(absl::Hours(23));
  EXPECT_EQ(Record(MakeSubmit("a", 1, 4, 3000)).timestamp_ms, 2000u);
}

TEST_P(CallStoreTest, AJumpOfTheClockForgetsNoKey) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  now_us_ += absl::ToInt64Microseconds(absl::Hours(24 * 365));
  TidyNow(*store_);
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
  Open();
  now_us_ = absl::ToUnixMicros(kStart - absl::Hours(24 * 365));
  TidyNow(*store_);
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
  // The two jumps of the clock together have aged the key by at most one hour.
  Pass(absl::Hours(23));
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
  Pass(absl::Hours(1) + absl::Seconds(1));
  Attempt(MakeSubmit("a", 5, 6));
}

TEST_P(CallStoreTest, CloseWritesQueuedSteps) {
  Open();
  AttemptAndEnd(MakeSubmit("a", 1, 2), Done("a-1"));
  std::atomic<int> begun = 0;
  for (int i = 0; i < 1000; ++i) {
    store_->Begin(MakeSubmit(absl::StrCat("key-", i), 1, 2), nullptr,
                  [&begun](const absl::StatusOr<Begun>& answer) { begun += answer.ok() && answer->attempt ? 1 : 0; });
  }
  store_->Close(kNoTimestamp);
  EXPECT_EQ(begun, 1000);
  EXPECT_EQ(BeginAndWait(*store_, MakeSubmit("b", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RaiseAndWait(*store_, 5).code(), absl::StatusCode::kUnavailable);
  Open();
  EXPECT_EQ(OutcomeOf("a"), Kind::kDone);
  EXPECT_EQ(OutcomeOf("key-999"), Kind::kUnknown);
}

TEST_P(CallStoreTest, OneKeyBeginsWithOneBodyInARace) {
  Open();
  Mutex mutex;
  std::map<std::string, std::vector<int>> begun;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = absl::StrCat("key-", i);
        const auto body = static_cast<uint8_t>(10 + thread);
        store_->Begin(MakeSubmit(key, 1, body), nullptr, [&, key, thread](const absl::StatusOr<Begun>& answer) {
          ASSERT_TRUE(answer.ok()) << answer.status();
          if (!answer->attempt) return;
          {
            const MutexLock lock(mutex);
            begun[key].push_back(thread);
          }
          store_->End(*answer->attempt, thread % 2 == 0 ? Done("a") : Unknown());
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  store_->Close(kNoTimestamp);
  EXPECT_EQ(begun.size(), 200u);
  for (const auto& [key, threads_begun] : begun) EXPECT_EQ(threads_begun.size(), 1u) << key;
}

TEST_P(CallStoreTest, BeginOnlyLooksUpTheRecordIfBeginsIsFalse) {
  Open();
  KeyedSubmit question = MakeSubmit("a", 1, 2);
  question.begins = false;
  const Begun before = Begin(question);
  EXPECT_FALSE(before.attempt.has_value());
  EXPECT_FALSE(before.record.has_value());
  EXPECT_EQ(before.unknown_until, absl::ZeroDuration());
  const Begun begun = Begin(MakeSubmit("a", 1, 2));
  ASSERT_TRUE(begun.attempt.has_value());
  store_->End(*begun.attempt, Done("activity"));
  const Begun after = Begin(question);
  EXPECT_FALSE(after.attempt.has_value());
  ASSERT_TRUE(after.record.has_value());
  EXPECT_EQ(after.record->outcome.activity_id, "activity");
}

}  // namespace
}  // namespace stampgate
