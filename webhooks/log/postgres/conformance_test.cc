// The tests that every event log passes: the log in a SQLite file, and the log on a PostgreSQL server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/postgres/connection.h"
#include "base/postgres/store_bounds.h"
#include "base/postgres/test_server.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "base/threads/mutex.h"
#include "base/threads/wait_clock.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/postgres/postgres_event_log.h"
#include "webhooks/log/postgres/testing.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;
constexpr absl::StatusCode kTrimmed = absl::StatusCode::kOutOfRange;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

std::string IdOf(int64_t number) { return absl::StrCat("event-", number); }

std::string BodyOf(absl::string_view organization, absl::string_view text) {
  return absl::StrCat(R"({"organizationId":")", organization, R"(","text":")", text, R"("})");
}

// A kind of event log, with one log.
class Engine {
 public:
  struct Options {
    absl::Duration retention_age = absl::Hours(24 * 7);
    absl::Duration deduplication_age = absl::Hours(24 * 30);
    size_t max_queued_bytes = 64 << 20;
    std::function<absl::Time()> now;
    std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  };

  virtual ~Engine() = default;
  virtual absl::StatusOr<std::unique_ptr<EventLog>> Open(const Options& options) = 0;
  virtual void UseAnotherLog() = 0;
  virtual void TrimNow(EventLog& log) = 0;
};

class SqliteEngine : public Engine {
 public:
  SqliteEngine() {
    std::string folder = absl::StrCat(testing::TempDir(), "/log-XXXXXX");
    folder_ = mkdtemp(folder.data());
  }
  ~SqliteEngine() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<EventLog>> Open(const Options& options) override {
    SqliteEventLogOptions all;
    all.path = absl::StrCat(folder_, "/events-", log_);
    all.retention_age = options.retention_age;
    all.deduplication_age = options.deduplication_age;
    all.max_queued_bytes = options.max_queued_bytes;
    all.now = options.now;
    all.steady_now = options.steady_now;
    all.retention_interval = absl::Hours(1);
    all.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    return OpenSqliteEventLog(std::move(all));
  }

  void UseAnotherLog() override { ++log_; }
  void TrimNow(EventLog& log) override { stampgate::TrimNow(log); }

 private:
  std::string folder_;
  int log_ = 1;
};

class PostgresEngine : public Engine {
 public:
  explicit PostgresEngine(PostgresVersion version)
      : server_(SharedServer(version)),
        store_(server_.NewStore(LogSteps())),
        key_(*SecretBytes::Create(kSymmetricKeyBytes)) {}

  absl::StatusOr<std::unique_ptr<EventLog>> Open(const Options& options) override {
    PostgresEventLogOptions all;
    all.address = store_;
    all.steps = &LogSteps();
    all.store_key = &key_;
    StoreBounds bounds;
    bounds.retention_age = options.retention_age;
    bounds.deduplication_age = options.deduplication_age;
    const absl::Status written = WriteStoreBounds(**PostgresConnection::Open(store_), bounds);
    if (!written.ok()) return written;
    all.max_queued_bytes = options.max_queued_bytes;
    all.now = options.now;
    all.steady_now = options.steady_now;
    all.retention_interval = absl::Hours(1);
    all.on_state = [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; };
    return OpenPostgresEventLog(std::move(all));
  }

  void UseAnotherLog() override { store_ = server_.NewStore(LogSteps()); }
  void TrimNow(EventLog& log) override { TrimPostgresLogNow(log); }

 private:
  TestPostgres& server_;
  PostgresAddress store_;
  SecretBytes key_;
};

enum class Kind { kSqlite, kPostgres15, kPostgres18 };

std::unique_ptr<Engine> MakeEngine(Kind kind) {
  if (kind == Kind::kSqlite) return std::make_unique<SqliteEngine>();
  return std::make_unique<PostgresEngine>(kind == Kind::kPostgres15 ? PostgresVersion::k15 : PostgresVersion::k18);
}

// A fixture with an event log. Each test advances the clock itself.
class EventLogTest : public testing::TestWithParam<Kind> {
 protected:
  EventLogTest() {
    options_.now = [this] { return absl::FromUnixMicros(now_us_); };
    SetTime(kStart);
  }

  void SetTime(absl::Time now) { now_us_ = absl::ToUnixMicros(now); }
  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }

  void Open() {
    CloseAll();
    absl::StatusOr<std::unique_ptr<EventLog>> log = engine_->Open(options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    absl::StatusOr<std::unique_ptr<EventReader>> reader = log_->NewReader();
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
  }

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
  void StoreNumbers(int first, int last) {
    for (int number = first; number <= last; ++number) {
      Store(IdOf(number), BodyOf("org", absl::StrCat("text", number)));
      Pass(absl::Seconds(1));
    }
  }

  LogExtent Extent() { return reader_->Extent().value(); }

  std::vector<Position> Positions(const absl::StatusOr<EventReader::Batch>& batch) {
    EXPECT_TRUE(batch.ok()) << batch.status();
    std::vector<Position> positions;
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) positions.push_back(event.position);
    }
    return positions;
  }

  std::unique_ptr<Engine> engine_ = MakeEngine(GetParam());
  Engine::Options options_;
  std::atomic<int64_t> now_us_ = 0;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<EventReader> reader_;
};

std::string NameOf(const testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::kSqlite:
      return "Sqlite";
    case Kind::kPostgres15:
      return "Postgres15";
    case Kind::kPostgres18:
      return "Postgres18";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(AllEngines, EventLogTest, testing::Values(Kind::kSqlite, Kind::kPostgres15, Kind::kPostgres18),
                         NameOf);

TEST_P(EventLogTest, ANewLogIsEmpty) {
  Open();
  EXPECT_EQ(Extent().earliest, 1);
  EXPECT_EQ(Extent().latest, 0);
  absl::StatusOr<EventReader::Batch> batch = reader_->Read({0}, {}, {});
  EXPECT_THAT(Positions(batch), IsEmpty());
  EXPECT_EQ(batch->through, 0);
  EXPECT_EQ(reader_->PositionBefore(kStart).value(), 0);
  EXPECT_EQ(reader_->Find({"event-1", {}}, {}).value(), std::nullopt);
}

TEST_P(EventLogTest, KeepsEveryFieldOfAnEvent) {
  Open();
  const std::string bodies[] = {
      R"({"organizationId":"o-1","parentOrganizationId":"p-1","type":"ACTIVITY_TYPE_X","id":"a"})",
      R"({"organizationId":"a\u0000b","text":"\u0000 \ud83d\ude00 Grüße 漢字"})",
      "{}",
      " \n{ \"a\" : [1, 2.50, null] }\n",
      BodyOf("o", std::string(4'000'000, 'x')),
  };
  std::vector<VerifiedEvent> sent;
  for (size_t i = 0; i < std::size(bodies); ++i) {
    sent.push_back(MakeVerifiedEvent(absl::StrCat("id-", i), bodies[i]));
    Store(absl::StrCat("id-", i), bodies[i]);
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<LoggedEvent> found = ReadAll(*reader_).value();
    ASSERT_EQ(found.size(), sent.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const Event& was = *sent[i];
      const Event& is = found[i].event;
      EXPECT_EQ(found[i].position, static_cast<Position>(i + 1));
      EXPECT_EQ(found[i].commit_time, kStart);
      EXPECT_EQ(is.event_id, was.event_id);
      EXPECT_EQ(is.key_id, was.key_id);
      EXPECT_EQ(is.timestamp_ms, was.timestamp_ms);
      EXPECT_EQ(is.signature, was.signature);
      EXPECT_TRUE(is.body == was.body);
      EXPECT_EQ(is.organization_id, was.organization_id);
      EXPECT_EQ(is.parent_organization_id, was.parent_organization_id);
      EXPECT_EQ(is.type, was.type);
      EXPECT_EQ(is.body_sha256, was.body_sha256);
      ASSERT_EQ(is.headers.size(), was.headers.size());
      for (size_t j = 0; j < is.headers.size(); ++j) {
        EXPECT_EQ(is.headers[j].name, was.headers[j].name);
        EXPECT_EQ(is.headers[j].value, was.headers[j].value);
      }
    }
    Open();  // the second round checks the same after a restart
  }
  EXPECT_EQ((*sent[1]).organization_id, std::string("a\0b", 3));
}

TEST_P(EventLogTest, StoresAnEventOnce) {
  Open();
  Store("a", BodyOf("org", "first"));
  Store("a", BodyOf("org", "first"), AppendOutcome::kDuplicate);
  Store("a", BodyOf("org", "other"), AppendOutcome::kConflict);
  Store("b", BodyOf("org", "first"));
  Open();
  Store("a", BodyOf("org", "first"), AppendOutcome::kDuplicate);
  EXPECT_EQ(Extent().latest, 2);
  EXPECT_EQ(reader_->Find({"a", {}}, {}).value()->event.body, BodyOf("org", "first"));
}

// Upstream can give events of two organizations the same id.
TEST_P(EventLogTest, StoresAnEventOnceForEachOrganization) {
  const std::string child = R"({"organizationId":"child","parentOrganizationId":"parent"})";
  const std::string of_parent = R"({"parentOrganizationId":"parent"})";
  Open();
  Store("a", BodyOf("org-1", "first"));
  Store("a", BodyOf("org-2", "second"));
  Store("a", child);
  Store("a", of_parent);
  Store("a", "no JSON");
  for (int round = 0; round < 2; ++round) {
    Store("a", BodyOf("org-1", "first"), AppendOutcome::kDuplicate);
    Store("a", BodyOf("org-2", "first"), AppendOutcome::kConflict);
    Store("a", child, AppendOutcome::kDuplicate);
    Store("a", BodyOf("child", "other"), AppendOutcome::kConflict);
    Store("a", BodyOf("parent", "other"), AppendOutcome::kConflict);
    Store("a", "{}", AppendOutcome::kConflict);
    EXPECT_EQ(Extent().latest, 5);
    Open();
  }
  const auto find = [this](std::optional<std::string> organization_id, const EventFilter& filter = {}) {
    const auto found = reader_->Find({"a", std::move(organization_id)}, filter).value();
    return found.has_value() ? found->position : 0;
  };
  EXPECT_EQ(find("org-1"), 1);
  EXPECT_EQ(find("org-2"), 2);
  EXPECT_EQ(find("child"), 3);
  EXPECT_EQ(find("parent"), 4);
  EXPECT_EQ(find(""), 5);
  EXPECT_EQ(find("org"), 0);
  EXPECT_EQ(find({}), 1) << "the first event with the id";
  const auto visible = [](const char* organization_id) {
    EventFilter filter;
    filter.visible = std::make_shared<const OrganizationTest>(
        [organization_id](absl::string_view id) { return id == organization_id; });
    return filter;
  };
  EXPECT_EQ(find({}, visible("org-2")), 2) << "the first visible event";
  EXPECT_EQ(find({}, visible("parent")), 3);
  EXPECT_EQ(find("parent", visible("parent")), 4);
  EXPECT_EQ(find("org-1", visible("org-2")), 0);
  EXPECT_EQ(find("", visible("org-2")), 0);
}

TEST_P(EventLogTest, StoresAnEventOnceAlsoInOneTransaction) {
  Open();
  std::vector<AppendOutcome> outcomes;
  // The callback runs on the log's thread, so one transaction stores all events that it appends.
  log_->Append(MakeVerifiedEvent("first", "{}"), [&](const auto&) {
    for (const char* body : {R"({"n":1})", R"({"n":1})", R"({"n":2})"}) {
      log_->Append(MakeVerifiedEvent("a", body), [&](const auto& outcome) { outcomes.push_back(outcome.value()); });
    }
  });
  Store("last", "{}");
  log_->Close();
  EXPECT_THAT(outcomes, ElementsAre(AppendOutcome::kStored, AppendOutcome::kDuplicate, AppendOutcome::kConflict));
  EXPECT_EQ(Extent().latest, 3);
}

TEST_P(EventLogTest, PositionsContinueAfterARestart) {
  Open();
  const LogIdentity identity = log_->identity();
  StoreNumbers(1, 3);
  Open();
  EXPECT_EQ(log_->identity().id, identity.id);
  EXPECT_EQ(log_->identity().cursor_key, identity.cursor_key);
  StoreNumbers(4, 5);
  EXPECT_THAT(Positions(reader_->Read({0}, {}, {})), ElementsAre(1, 2, 3, 4, 5));
}

TEST_P(EventLogTest, EachLogHasItsOwnIdentity) {
  Open();
  const LogIdentity identity = log_->identity();
  engine_->UseAnotherLog();
  Open();
  EXPECT_NE(log_->identity().id, identity.id);
  EXPECT_NE(log_->identity().cursor_key, identity.cursor_key);
}

TEST_P(EventLogTest, CommitTimesNeverDecrease) {
  Open();
  StoreNumbers(1, 1);
  SetTime(kStart - absl::Hours(1));
  StoreNumbers(2, 2);
  SetTime(kStart - absl::Hours(2));
  Open();
  StoreNumbers(3, 3);
  SetTime(kStart + absl::Hours(1));
  StoreNumbers(4, 4);
  std::vector<absl::Time> times;
  const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
  for (const LoggedEvent& event : events) times.push_back(event.commit_time);
  EXPECT_THAT(times, ElementsAre(kStart, kStart, kStart, kStart + absl::Hours(1)));
}

TEST_P(EventLogTest, ReadsWithinLimits) {
  Open();
  for (int i = 1; i <= 10; ++i) Store(IdOf(i), BodyOf(i % 2 == 0 ? "even" : "odd", std::string(1000, 'x')));
  EventReader::Limits limits;
  limits.max_events = 3;
  EXPECT_THAT(Positions(reader_->Read({2}, {}, limits)), ElementsAre(3, 4, 5));
  limits = {};
  limits.max_bytes = 2500;
  EXPECT_THAT(Positions(reader_->Read({2}, {}, limits)), ElementsAre(3, 4));
  limits.max_bytes = 1;
  EXPECT_THAT(Positions(reader_->Read({2}, {}, limits)), ElementsAre(3));
  limits = {};
  limits.max_looked_at = 4;
  EventFilter even;
  even.organization_ids = {"even"};
  absl::StatusOr<EventReader::Batch> batch = reader_->Read({2}, even, limits);
  EXPECT_THAT(Positions(batch), ElementsAre(4, 6));
  EXPECT_EQ(batch->through, 6);
  even.organization_ids = {"none"};
  batch = reader_->Read({2}, even, limits);
  EXPECT_THAT(Positions(batch), IsEmpty());
  EXPECT_EQ(batch->through, 6);
  batch = reader_->Read({9}, even, limits);
  EXPECT_EQ(batch->through, 10);
  EXPECT_EQ(reader_->Read({10}, {}, {})->through, 10);
  EXPECT_EQ(reader_->Read({99}, {}, {})->through, 99);
}

TEST_P(EventLogTest, FiltersByOrganizationAndType) {
  Open();
  Store("a", R"({"organizationId":"1","type":"T"})");
  Store("b", R"({"organizationId":"2","parentOrganizationId":"1","type":"U"})");
  Store("c", R"({"type":"T"})");
  EventFilter filter;
  EXPECT_THAT(Positions(reader_->Read({0}, filter, {})), ElementsAre(1, 2, 3));
  filter.types = {"T"};
  EXPECT_THAT(Positions(reader_->Read({0}, filter, {})), ElementsAre(1, 3));
  filter.types = {};
  filter.organization_ids = {"1"};
  EXPECT_THAT(Positions(reader_->Read({0}, filter, {})), ElementsAre(1, 2));
  filter.organization_ids = {"2", "3"};
  filter.types = {"U", "V"};
  EXPECT_THAT(Positions(reader_->Read({0}, filter, {})), ElementsAre(2));
}

TEST_P(EventLogTest, FindsThePositionOfATime) {
  Open();
  for (int i = 1; i <= 30; ++i) {
    Store(IdOf(i), "{}");
    if (i % 3 == 0) Pass(absl::Seconds(10));  // so three events have the same time
  }
  EXPECT_EQ(reader_->PositionBefore(absl::InfinitePast()).value(), 0);
  EXPECT_EQ(reader_->PositionBefore(kStart).value(), 0);
  EXPECT_EQ(reader_->PositionBefore(kStart + absl::Nanoseconds(1)).value(), 3);
  for (int group = 1; group < 10; ++group) {
    EXPECT_EQ(reader_->PositionBefore(kStart + absl::Seconds(10 * group)).value(), 3 * group);
    EXPECT_EQ(reader_->PositionBefore(kStart + absl::Seconds(10 * group - 1)).value(), 3 * group);
  }
  EXPECT_EQ(reader_->PositionBefore(kStart + absl::Hours(1)).value(), 30);
  EXPECT_EQ(reader_->PositionBefore(absl::InfiniteFuture()).value(), 30);
}

TEST_P(EventLogTest, ReportsGrowthBeforeAcknowledging) {
  Open();
  Mutex mutex;
  std::vector<std::string> reported;
  const auto tell = [&](const std::string& what) {
    const MutexLock lock(mutex);
    reported.push_back(what);
  };
  log_->SetOnGrowth([&](Position latest) { tell(absl::StrCat("latest ", latest)); });
  log_->Append(MakeVerifiedEvent("a", "{}"), [&](const auto&) {
    tell("a");
    log_->Append(MakeVerifiedEvent("b", "{}"), [&](const auto&) { tell("b"); });
    log_->Append(MakeVerifiedEvent("c", "{}"), [&](const auto&) { tell("c"); });
    log_->Append(MakeVerifiedEvent("d", "{}"), [&](const auto&) {
      // Readers already see the event that is acknowledged.
      EXPECT_EQ(log_->NewReader().value()->Extent()->latest, 4);
      tell("d");
      log_->Append(MakeVerifiedEvent("a", "{}"), [&](const auto&) { tell("a again"); });
    });
  });
  while (!reader_->Find({"d", {}}, {}).value().has_value()) std::this_thread::yield();
  log_->Close();
  EXPECT_THAT(reported, ElementsAre("latest 1", "a", "latest 4", "b", "c", "d", "a again"));
}

TEST_P(EventLogTest, RefusesEventsThatDoNotFitTheQueue) {
  options_.max_queued_bytes = 20'000;
  Open();
  Mutex gate;
  gate.Lock();
  std::atomic<int> stored = 0;
  std::atomic<int> refused = 0;
  const auto count = [&](const absl::StatusOr<AppendOutcome>& outcome) {
    if (outcome.ok()) ++stored;
    if (absl::IsResourceExhausted(outcome.status())) ++refused;
  };
  // Blocks the log's thread in its first callback.
  log_->Append(MakeVerifiedEvent("first", "{}"), [&](const auto& outcome) {
    count(outcome);
    const MutexLock lock(gate);
  });
  for (int i = 0; i < 100; ++i) log_->Append(MakeVerifiedEvent(IdOf(i), BodyOf("org", std::string(1000, 'x'))), count);
  EXPECT_GT(refused, 80);
  EXPECT_LT(refused, 95);
  gate.Unlock();
  while (stored + refused < 101) std::this_thread::yield();
  EXPECT_EQ(Extent().latest, stored);
  // The queue has space again after the log has called its callbacks.
  absl::StatusOr<AppendOutcome> last = absl::ResourceExhaustedError("");
  while (absl::IsResourceExhausted(last.status())) last = AppendAndWait(*log_, MakeVerifiedEvent("last", "{}"));
  EXPECT_EQ(last.value(), AppendOutcome::kStored);
}

TEST_P(EventLogTest, RefusesEventsWhileAWriteHangs) {
  std::atomic<int64_t> steady_seconds = 1000;
  options_.steady_now = [&] { return std::chrono::steady_clock::time_point(std::chrono::seconds(steady_seconds)); };
  // Blocks the event log's thread in the middle of a write, when the thread reads the time.
  std::atomic<bool> hang = false;
  absl::Notification hangs;
  absl::Notification goes_on;
  options_.now = [this, &hang, &hangs, &goes_on] {
    if (hang.exchange(false)) {
      hangs.Notify();
      goes_on.WaitForNotification();
    }
    return absl::FromUnixMicros(now_us_);
  };
  Open();
  Store("a", "{}");
  engine_->TrimNow(*log_);
  EXPECT_EQ(log_->WriteUnderWay(), absl::ZeroDuration());
  hang = true;
  absl::Notification stored;
  log_->Append(MakeVerifiedEvent("b", "{}"), [&](const absl::StatusOr<AppendOutcome>& outcome) {
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    stored.Notify();
  });
  hangs.WaitForNotification();
  steady_seconds += absl::ToInt64Seconds(kWriteHangsAfter);
  EXPECT_EQ(log_->WriteUnderWay(), kWriteHangsAfter);
  // The write has not yet taken longer than kWriteHangsAfter, so the log queues the next event.
  absl::Notification waited;
  log_->Append(MakeVerifiedEvent("c", "{}"), [&](const absl::StatusOr<AppendOutcome>& outcome) {
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    waited.Notify();
  });
  steady_seconds += 1;
  const absl::Status refused = AppendAndWait(*log_, MakeVerifiedEvent("d", "{}")).status();
  EXPECT_EQ(refused.code(), kGone);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("does not answer"));
  EXPECT_FALSE(stored.HasBeenNotified() || waited.HasBeenNotified());
  goes_on.Notify();
  stored.WaitForNotification();
  waited.WaitForNotification();
  engine_->TrimNow(*log_);
  EXPECT_EQ(log_->WriteUnderWay(), absl::ZeroDuration());
  Store("d", "{}");
  EXPECT_EQ(Extent().latest, 4);
  CloseAll();
}

TEST_P(EventLogTest, CloseWritesQueuedEvents) {
  Open();
  std::atomic<int> stored = 0;
  for (int i = 1; i <= 500; ++i) {
    log_->Append(MakeVerifiedEvent(IdOf(i), "{}"), [&](const auto& outcome) { stored += outcome.ok() ? 1 : 0; });
  }
  log_->Close();
  EXPECT_EQ(stored, 500);
  log_->Close();
  EXPECT_EQ(AppendAndWait(*log_, MakeVerifiedEvent("late", "{}")).status().code(), kGone);
  engine_->TrimNow(*log_);
  EXPECT_EQ(ReadAll(*reader_)->size(), 500);
  CloseAll();
  Open();
  EXPECT_EQ(Extent().latest, 500);
}

TEST_P(EventLogTest, PositionsAndTimesContinueAfterRetentionHasDeletedAllEvents) {
  options_.retention_age = absl::Seconds(10);
  options_.deduplication_age = absl::Seconds(10);
  Open();
  StoreNumbers(1, 3);
  Pass(absl::Hours(1));
  engine_->TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 4);
  EXPECT_EQ(Extent().latest, 3);
  EXPECT_EQ(reader_->Read({2}, {}, {}).status().code(), kTrimmed);
  EXPECT_THAT(Positions(reader_->Read({3}, {}, {})), IsEmpty());
  EXPECT_EQ(reader_->PositionBefore(kStart).value(), 3);
  // Only the state row still has the last position and commit time.
  SetTime(kStart - absl::Hours(1));
  Open();
  Store(IdOf(1), "{}");
  EXPECT_EQ(Extent().latest, 4);
  EXPECT_EQ(reader_->Find({IdOf(1), {}}, {}).value()->commit_time, kStart + absl::Seconds(2));
}

TEST_P(EventLogTest, RecognizesRepetitionsOfDeletedEvents) {
  options_.retention_age = absl::Seconds(10);
  options_.deduplication_age = absl::Seconds(100);
  Open();
  Store("a", BodyOf("org", "1"));
  Pass(absl::Seconds(50));
  engine_->TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 2);
  Store("a", BodyOf("org", "1"), AppendOutcome::kDuplicate);
  Store("a", BodyOf("org", "2"), AppendOutcome::kConflict);
  Open();
  Store("a", BodyOf("org", "1"), AppendOutcome::kDuplicate);
  Pass(absl::Seconds(51));
  engine_->TrimNow(*log_);
  Store("a", BodyOf("org", "1"), AppendOutcome::kStored);
  EXPECT_EQ(Extent().latest, 2);
}

// Eight threads append 400 events at the same time, each event ten times. One of the ten appends has another body.
TEST_P(EventLogTest, KeepsTheFirstOfConcurrentRepetitions) {
  constexpr int kEvents = 400;
  constexpr int kThreads = 8;
  Open();
  std::vector<std::pair<std::string, std::string>> deliveries;
  for (int i = 0; i < 10 * kEvents; ++i) {
    deliveries.emplace_back(IdOf(i % kEvents), BodyOf("org", i < kEvents ? "changed" : "same"));
  }
  std::shuffle(deliveries.begin(), deliveries.end(), std::mt19937_64(9));
  Mutex mutex;
  Condition answered;
  std::map<AppendOutcome, int> outcomes;
  std::map<std::string, std::string> first;  // the acknowledgements arrive in the order of the log
  int answers = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i = thread; i < deliveries.size(); i += kThreads) {
        const auto& [id, body] = deliveries[i];
        log_->Append(MakeVerifiedEvent(id, body), [&, i](absl::StatusOr<AppendOutcome> outcome) {
          const MutexLock lock(mutex);
          ++answers;
          ++outcomes[outcome.value()];
          first.insert(deliveries[i]);
          answered.WakeOne();
        });
      }
    });
  }
  // A concurrent reader always sees a prefix of the log.
  Position seen = 0;
  while (seen < kEvents) {
    absl::StatusOr<EventReader::Batch> batch = reader_->Read({seen}, {}, {});
    ASSERT_TRUE(batch.ok()) << batch.status();
    for (const LoggedEvent& event : batch->events) ASSERT_EQ(event.position, ++seen);
  }
  for (std::thread& thread : threads) thread.join();
  {
    const MutexLock lock(mutex);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (answers != 10 * kEvents && !answered.WaitUntil(mutex, deadline)) {
    }
    ASSERT_EQ(answers, 10 * kEvents);
  }
  EXPECT_EQ(outcomes[AppendOutcome::kStored], kEvents);
  EXPECT_GE(outcomes[AppendOutcome::kConflict], kEvents);
  std::map<std::string, std::string> found;
  const std::vector<LoggedEvent> events = ReadAll(*reader_).value();
  for (const LoggedEvent& event : events) found[event.event.event_id] = event.event.body;
  EXPECT_EQ(found, first);
}

TEST_P(EventLogTest, EventsAgeWhileNoNewEventsArrive) {
  options_.retention_age = absl::Hours(10);
  Open();
  StoreNumbers(1, 3);
  for (int half_hour = 0; half_hour < 18; ++half_hour) {
    Pass(absl::Minutes(30));
    engine_->TrimNow(*log_);
    if (half_hour % 5 == 0) Open();  // events also age across restarts
  }
  EXPECT_EQ(Extent().earliest, 1);
  for (int half_hour = 0; half_hour < 3; ++half_hour) {
    Pass(absl::Minutes(30));
    engine_->TrimNow(*log_);
  }
  EXPECT_EQ(Extent().earliest, 4);
}

}  // namespace
}  // namespace stampgate
