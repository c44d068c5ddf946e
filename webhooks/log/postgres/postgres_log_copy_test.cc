#include "webhooks/log/postgres/postgres_log_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/postgres/schema.h"
#include "base/postgres/test_server.h"
#include "base/secret/symmetric_key.h"
#include "base/testing/status_is.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/postgres/postgres_event_log.h"
#include "webhooks/log/postgres/testing.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/sqlite/sqlite_log_copy.h"
#include "webhooks/log/subscription_holds.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr int kEvents = 40;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

constexpr StoreBounds kBounds = {.retention_age = absl::Hours(4), .deduplication_age = absl::Hours(8)};

std::string IdOf(int number) { return absl::StrCat("event-", number); }
std::string BodyOf(int number) {
  return absl::StrCat(R"({"organizationId":"org-)", number % 3, R"(","text":")", number, R"("})");
}

// Everything of an event that a subscriber or an operator can see.
std::vector<std::string> Seen(const absl::StatusOr<std::vector<LoggedEvent>>& events) {
  EXPECT_TRUE(events.ok()) << events.status();
  std::vector<std::string> texts;
  if (!events.ok()) return texts;
  for (const LoggedEvent& logged : *events) {
    const Event& event = logged.event;
    std::string text = absl::StrCat(logged.position, " ", absl::ToUnixMicros(logged.commit_time), " ", event.event_id,
                                    " ", event.key_id, " ", event.timestamp_ms, " ", event.organization_id, " ",
                                    event.parent_organization_id, " ", event.type, " ", event.body);
    text.append(logged.digest.begin(), logged.digest.end());
    text.append(event.signature.begin(), event.signature.end());
    for (const HeaderField& header : event.headers) absl::StrAppend(&text, " ", header.name, "=", header.value);
    texts.push_back(text);
  }
  return texts;
}

class PostgresLogCopyTest : public ::testing::Test {
 protected:
  PostgresLogCopyTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/copy-XXXXXX");
    folder_ = mkdtemp(folder.data());
    file_ = folder_ + "/events";
  }
  ~PostgresLogCopyTest() override { std::filesystem::remove_all(folder_); }

  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }

  // Advances the clock while the log runs, which a jump of the clock does not do.
  void PassHours(EventLog& log, int hours) {
    for (int hour = 0; hour < hours; ++hour) {
      Pass(absl::Hours(1));
      if (on_server_) {
        TrimPostgresLogNow(log);
      } else {
        TrimNow(log);
      }
    }
  }

  std::unique_ptr<EventLog> OpenFile() {
    on_server_ = false;
    SqliteEventLogOptions options;
    options.path = file_;
    options.retention_age = absl::Hours(4);
    options.deduplication_age = absl::Hours(8);
    options.retention_interval = absl::Hours(1);
    options.now = [this] { return absl::FromUnixMicros(now_us_); };
    options.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(std::move(options));
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }

  absl::StatusOr<std::unique_ptr<EventLog>> TryToOpenStore() {
    on_server_ = true;
    PostgresEventLogOptions options;
    options.steps = &LogSteps();
    options.address = store_;
    options.store_key = &key_;
    options.retention_interval = absl::Hours(1);
    options.now = [this] { return absl::FromUnixMicros(now_us_); };
    return OpenPostgresEventLog(std::move(options));
  }

  std::unique_ptr<EventLog> OpenStore() {
    absl::StatusOr<std::unique_ptr<EventLog>> log = TryToOpenStore();
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }

  static void Store(EventLog& log, int first, int last, AppendOutcome expected = AppendOutcome::kStored) {
    for (int number = first; number <= last; ++number) {
      const absl::StatusOr<AppendOutcome> outcome = AppendAndWait(log, MakeVerifiedEvent(IdOf(number), BodyOf(number)));
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(*outcome, expected) << number;
    }
  }

  std::unique_ptr<PostgresConnection> Connect() { return *PostgresConnection::Open(store_); }

  // Copies the file to the empty store.
  absl::Status CopyToServer() {
    const std::unique_ptr<PostgresConnection> connection = Connect();
    absl::StatusOr<std::unique_ptr<LogSource>> source = OpenSqliteLogSource(file_, absl::FromUnixMicros(now_us_));
    if (!source.ok()) return source.status();
    const absl::StatusOr<bool> claimed =
        ClaimStore(*connection, store_.schema, LogSteps(), "NOT EXISTS (SELECT FROM log)");
    if (!claimed.ok()) return claimed.status();
    EXPECT_TRUE(*claimed);
    absl::StatusOr<std::unique_ptr<LogTarget>> target = CreatePostgresLogTarget(*connection, (*source)->state(), key_);
    if (!target.ok()) return target.status();
    if (absl::Status status = CopyLog(**source, **target, [](Position) {}); !status.ok()) return status;
    return OpenClaimedStore(*connection, LogSteps());
  }

  // Copies the store to the file, which must not exist.
  absl::Status CopyToFile() {
    const std::unique_ptr<PostgresConnection> connection = Connect();
    absl::StatusOr<std::unique_ptr<LogSource>> source = OpenPostgresLogSource(*connection, store_, key_);
    if (!source.ok()) return source.status();
    absl::StatusOr<std::unique_ptr<LogTarget>> target = CreateSqliteLogTarget(file_, (*source)->state().identity);
    if (!target.ok()) return target.status();
    if (absl::Status status = CopyLog(**source, **target, [](Position) {}); !status.ok()) return status;
    return OpenCopiedLog(file_);
  }

  void DeleteFile() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  void Sql(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  std::string folder_;
  std::string file_;
  PostgresAddress store_ = SharedServer().NewStore(LogSteps(), kBounds);
  SecretBytes key_ = *SecretBytes::Create(kSymmetricKeyBytes);
  std::atomic<int64_t> now_us_ = absl::ToUnixMicros(kStart);
  bool on_server_ = false;
};

TEST_F(PostgresLogCopyTest, ACopyIsTheSameLogInBothDirections) {
  LogIdentity identity;
  std::vector<std::string> events;
  std::vector<LoggedEvent> logged;
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    Store(*log, 1, kEvents);
    identity = log->identity();
    logged = ReadAll(**log->NewReader()).value();
    events = Seen(logged);
  }
  ASSERT_EQ(CopyToServer(), absl::OkStatus());
  {
    const std::unique_ptr<EventLog> log = OpenStore();
    EXPECT_EQ(log->identity().id, identity.id);
    EXPECT_EQ(log->identity().cursor_key, identity.cursor_key);
    const std::unique_ptr<EventReader> reader = *log->NewReader();
    EXPECT_EQ(Seen(ReadAll(*reader)), events);
    Store(*log, 1, kEvents, AppendOutcome::kDuplicate);
    EXPECT_EQ(*AppendAndWait(*log, MakeVerifiedEvent(IdOf(7), R"({"organizationId":"org-1","text":"other"})")),
              AppendOutcome::kConflict);
    Store(*log, kEvents + 1, kEvents + 2);
    // A subscriber continues from each of its points.
    for (const LoggedEvent& event : logged) {
      const absl::StatusOr<EventReader::Batch> batch = reader->Read({event.position, event.digest}, {}, {});
      ASSERT_TRUE(batch.ok()) << event.position << ": " << batch.status();
      EXPECT_EQ(batch->through, kEvents + 2);
    }
    events = Seen(ReadAll(*reader));
  }
  DeleteFile();
  ASSERT_EQ(CopyToFile(), absl::OkStatus());
  const std::unique_ptr<EventLog> log = OpenFile();
  EXPECT_EQ(log->identity().id, identity.id);
  EXPECT_EQ(log->identity().cursor_key, identity.cursor_key);
  const std::unique_ptr<EventReader> reader = *log->NewReader();
  EXPECT_EQ(Seen(ReadAll(*reader)), events);
  Store(*log, 1, kEvents + 2, AppendOutcome::kDuplicate);
  Store(*log, kEvents + 3, kEvents + 3);
  const absl::StatusOr<EventReader::Batch> batch = reader->Read({logged.back().position, logged.back().digest}, {}, {});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->through, kEvents + 3);
}

TEST_F(PostgresLogCopyTest, EventsAndIdsExpireInACopyAsInTheOriginal) {
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    Store(*log, 1, 10);
    PassHours(*log, 5);  // longer than events live
    Store(*log, 11, 20);
    PassHours(*log, 1);
  }
  ASSERT_EQ(CopyToServer(), absl::OkStatus());
  {
    const std::unique_ptr<EventLog> log = OpenStore();
    const std::unique_ptr<EventReader> reader = *log->NewReader();
    EXPECT_EQ(reader->Extent()->earliest, 11);
    Store(*log, 1, 20, AppendOutcome::kDuplicate);
    PassHours(*log, 3);
    // The first ids are 9 hours old, the events 4.
    Store(*log, 1, 1);
    Store(*log, 11, 20, AppendOutcome::kDuplicate);
    EXPECT_EQ(reader->Extent()->earliest, 11);
    PassHours(*log, 1);
    EXPECT_EQ(reader->Extent()->earliest, 21);
    Store(*log, 11, 20, AppendOutcome::kDuplicate);
  }
  ASSERT_EQ(CopyToFile(),
            absl::FailedPreconditionError(absl::StrCat("event log ", file_, ": there is a file already")));
  DeleteFile();
  ASSERT_EQ(CopyToFile(), absl::OkStatus());
  const std::unique_ptr<EventLog> log = OpenFile();
  const std::unique_ptr<EventReader> reader = *log->NewReader();
  EXPECT_EQ(reader->Extent()->earliest, 21);
  EXPECT_EQ(reader->Extent()->latest, 21);
  Store(*log, 11, 20, AppendOutcome::kDuplicate);
  PassHours(*log, 5);
  Store(*log, 11, 20);
}

TEST_F(PostgresLogCopyTest, ALogWithoutEventsCanBeCopied) {
  OpenFile();
  ASSERT_EQ(CopyToServer(), absl::OkStatus());
  {
    const std::unique_ptr<EventLog> log = OpenStore();
    Store(*log, 1, 2);
    PassHours(*log, 12);
    EXPECT_EQ((*log->NewReader())->Extent()->earliest, 3);
  }
  DeleteFile();
  ASSERT_EQ(CopyToFile(), absl::OkStatus());
  store_ = SharedServer().NewStore(LogSteps(), kBounds);
  ASSERT_EQ(CopyToServer(), absl::OkStatus());
  const std::unique_ptr<EventLog> log = OpenStore();
  Store(*log, 3, 5);
  const std::unique_ptr<EventReader> reader = *log->NewReader();
  EXPECT_EQ(reader->Extent()->earliest, 3);
  EXPECT_EQ(reader->Extent()->latest, 5);
  EXPECT_EQ(Seen(ReadAll(*reader)).size(), 3);
}

TEST_F(PostgresLogCopyTest, ADamagedEventStopsTheCopyAndNoGatewayCanUseItsTarget) {
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    Store(*log, 1, kEvents);
  }
  Sql("UPDATE events SET body = x'00' WHERE seq = 3");
  const absl::Status status = CopyToServer();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("event 3 of the log is damaged"));
  const absl::Status opened = TryToOpenStore().status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.message()), HasSubstr("a copy to this store has not ended"));
}

TEST_F(PostgresLogCopyTest, AnInterruptedCopyToAFileCannotBeOpened) {
  {
    const std::unique_ptr<EventLog> log = OpenStore();
    Store(*log, 1, 3);
  }
  SharedServer().Sql("UPDATE events SET body = '' WHERE position = 3", store_.schema);
  EXPECT_EQ(CopyToFile().code(), absl::StatusCode::kDataLoss);
  SqliteEventLogOptions options;
  options.path = file_;
  options.now = absl::Now;
  const absl::Status opened = OpenSqliteEventLog(std::move(options)).status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.message()), HasSubstr("a copy to this file has not ended"));
}

TEST_F(PostgresLogCopyTest, AFileThatAGatewayUsesCannotBeCopied) {
  const std::unique_ptr<EventLog> log = OpenFile();
  const absl::Status status = CopyToServer();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another process has"));
}

// Changes that create two subscriptions with every kind of row. "payouts" has more rows than one transaction stores.
std::vector<SubscriptionChange> ChangesOfSubscriptions() {
  SubscriptionHead head = HeadAt(7, /*order=*/1);
  for (size_t partition = 0; partition < kPartitions; ++partition) {
    const auto number = static_cast<Position>(partition);
    head.partitions[partition] = {.through = number, .reserved = 5000 + number};
  }
  head.incarnation = 1200;
  const absl::Time time = kStart + absl::Microseconds(1);
  SubscriptionChange payouts = {.subscription = "payouts", .head = head};
  payouts.put = {
      {.position = 3, .partition = 15},
      {.position = 4, .partition = 0, .mark = EventMark::kSentAgain, .deliveries = 3},
      {.position = 5,
       .partition = 7,
       .mark = EventMark::kParked,
       .deliveries = 10,
       .time = time,
       .reason = "br\xFFken"},
      {.position = 6,
       .partition = 8,
       .mark = EventMark::kRetried,
       .deliveries = 12,
       .uncounted = 10,
       .time = time + absl::Hours(1)},
  };
  for (Position position = 100; position < 1100; ++position) payouts.put.push_back({.position = position});
  payouts.put_lagging = {{"org-1", 17}, {std::string("\0\xFF", 2), 18}};
  return {std::move(payouts), {.subscription = "audit", .head = HeadAt(0)}};
}

TEST_F(PostgresLogCopyTest, SharedSubscriptionsContinueInACopyInBothDirections) {
  SubscriptionStates states;
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    Store(*log, 1, 3);
    for (const SubscriptionChange& change : ChangesOfSubscriptions()) {
      ASSERT_EQ(WriteAndWait(*log->subscriptions(), change), absl::OkStatus());
    }
    states = *log->subscriptions()->Load();
  }
  ASSERT_EQ(CopyToServer(), absl::OkStatus());
  {
    const std::unique_ptr<EventLog> log = OpenStore();
    EXPECT_EQ(*log->subscriptions()->Load(), states);
    const DeclaredSettings declared = {.version = 0, .settings = "settings", .order = 1};
    EXPECT_EQ(*log->holds()->Declare(
                  {.subscription = "payouts", .order = 2, .start = 3, .version = 0, .settings = "settings"}),
              declared);

    // Consumers can settle what they held, as long as after a restart of the gateway that had the file.
    Pass(absl::Hours(100));
    const Hold hold = *log->holds()->Renew({.subscription = "payouts", .settle_within = absl::Seconds(30)});
    EXPECT_EQ(hold.added, SoleHold({}, absl::Seconds(30)).added);
    EXPECT_EQ(hold.state, states["payouts"]);

    // No token of a later subscription is one of the source.
    ASSERT_TRUE(log->holds()->Declare({.subscription = "new"}).ok());
    EXPECT_GT(log->subscriptions()->Load()->at("new").head.incarnation, 1200);

    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = "payouts",
                                                   .progress = {{3, {.through = 30, .reserved = 31}}},
                                                   .erase = {4},
                                                   .hold = hold.number}),
              absl::OkStatus());
    states = *log->subscriptions()->Load();
    EXPECT_EQ(states["payouts"].head.partitions[3].through, 30);
  }
  DeleteFile();
  ASSERT_EQ(CopyToFile(), absl::OkStatus());
  EXPECT_EQ(*OpenFile()->subscriptions()->Load(), states);
}

TEST_F(PostgresLogCopyTest, AFileWithADamagedSubscriptionIsNotCopiedAndTheStoreRemainsUsable) {
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = "payouts", .head = SubscriptionHead{}}),
              absl::OkStatus());
  }
  Sql("UPDATE subscriptions SET incarnation = 5");
  EXPECT_THAT(CopyToServer(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the shared subscription payouts is damaged")));
  EXPECT_EQ(TryToOpenStore().status(), absl::OkStatus());
}

TEST_F(PostgresLogCopyTest, ASubscriptionThatTheServerCannotStoreIsNotCopied) {
  const SubscriptionRow row = {.position = 1, .mark = EventMark::kParked, .reason = std::string(4097, 'a')};
  for (const auto& [change, what] : std::vector<std::pair<SubscriptionChange, std::string>>{
           {{.subscription = "payouts", .head = HeadAt(0), .put = {row}}, "a reason of more than 4096 bytes"},
           {{.subscription = "payouts", .head = HeadAt(0), .put_lagging = {{std::string(8193, 'a'), 1}}},
            "a key of more than 8192 bytes"},
       }) {
    DeleteFile();
    store_ = SharedServer().NewStore(LogSteps(), kBounds);
    ASSERT_EQ(WriteAndWait(*OpenFile()->subscriptions(), change), absl::OkStatus());
    EXPECT_THAT(CopyToServer(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         absl::StrCat("the shared subscription payouts has ", what,
                                                      ", which a store on PostgreSQL cannot have")));
  }
}

TEST_F(PostgresLogCopyTest, TheKeyOfTheStoreIsNecessary) {
  OpenStore();
  key_.data()[0] ^= 1;
  EXPECT_EQ(CopyToFile().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PostgresLogCopyTest, AnIdWithoutAnOrganizationIsNotCopied) {
  {
    const std::unique_ptr<EventLog> log = OpenFile();
    Store(*log, 1, 2);
  }
  Sql("UPDATE seen SET scope = '' WHERE seq = 2");
  const absl::Status status = CopyToServer();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the id of event 2 has no organization"));
}

}  // namespace
}  // namespace stampgate
