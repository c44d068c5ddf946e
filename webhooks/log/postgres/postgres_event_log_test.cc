#include "webhooks/log/postgres/postgres_event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/postgres/schema.h"
#include "base/postgres/store_bounds.h"
#include "base/postgres/test_server.h"
#include "base/secret/symmetric_key.h"
#include "base/threads/mutex.h"
#include "webhooks/log/postgres/event_seal.h"
#include "webhooks/log/postgres/sealed_key.h"
#include "webhooks/log/postgres/testing.h"
#include "webhooks/log/postgres/unsealed_events.h"
#include "webhooks/log/row.h"
#include "webhooks/log/state.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kVersion = PostgresVersion::k18;

std::string BodyOf(int number) { return absl::StrCat(R"({"organizationId":"org","number":)", number, "}"); }

SecretBytes KeyOf(uint8_t byte) {
  SecretBytes key = *SecretBytes::Create(kSymmetricKeyBytes);
  key.data()[0] = byte;
  return key;
}

// A gateway's view of the log.
class Gateway {
 public:
  explicit Gateway(PostgresAddress store, bool allow_single_server = true) {
    options_.address = std::move(store);
    options_.steps = &LogSteps();
    options_.store_key = &key_;
    options_.address.allow_single_server = allow_single_server;
    options_.on_state = [this](const absl::Status& status) {
      const MutexLock lock(mutex_);
      state_ = status;
    };
    options_.on_taken_back = [this](Position had, Position latest) {
      const MutexLock lock(mutex_);
      taken_back_.emplace_back(had, latest);
    };
  }

  PostgresEventLogOptions& options() { return options_; }

  absl::Status Open() {
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenPostgresEventLog(options_);
    if (log.ok()) log_ = *std::move(log);
    return log.status();
  }

  EventLog& log() { return *log_; }

  absl::StatusOr<AppendOutcome> Store(int number) {
    return AppendAndWait(*log_, MakeVerifiedEvent(absl::StrCat("event-", number), BodyOf(number)));
  }

  // Stores an event as upstream does: again and again until the log acknowledges it.
  AppendOutcome StoreAtLast(int number) {
    absl::StatusOr<AppendOutcome> outcome = absl::UnavailableError("");
    EXPECT_TRUE(Eventually([&] {
      outcome = Store(number);
      return outcome.ok();
    })) << outcome.status();
    return outcome.value_or(AppendOutcome::kConflict);
  }

  absl::Status state() {
    const MutexLock lock(mutex_);
    return state_;
  }

  std::vector<std::pair<Position, Position>> taken_back() {
    const MutexLock lock(mutex_);
    return taken_back_;
  }

 private:
  SecretBytes key_ = KeyOf(1);
  PostgresEventLogOptions options_;
  Mutex mutex_;
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<Position, Position>> taken_back_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<EventLog> log_;  // destroyed first, because it calls the functions of `options_`
};

TEST(PostgresEventLogTest, GatewaysShareOneLog) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  Gateway first(store);
  Gateway second(store);
  ASSERT_TRUE(first.Open().ok());
  ASSERT_TRUE(second.Open().ok());
  EXPECT_EQ(first.log().identity().id, second.log().identity().id);
  EXPECT_EQ(first.log().identity().cursor_key, second.log().identity().cursor_key);
  std::atomic<Position> grown = 0;
  second.log().SetOnGrowth([&grown](Position latest) { grown = latest; });
  EXPECT_EQ(first.Store(1).value(), AppendOutcome::kStored);
  EXPECT_EQ(second.Store(1).value(), AppendOutcome::kDuplicate);
  EXPECT_EQ(first.Store(2).value(), AppendOutcome::kStored);
  EXPECT_TRUE(Eventually([&] { return grown == 2; })) << "a gateway learns of the events that another one stores";
  std::unique_ptr<EventReader> reader = second.log().NewReader().value();
  EXPECT_EQ(ReadAll(*reader)->size(), 2);
}

TEST(PostgresEventLogTest, AStoreThatACopyHasClaimedMeanwhileIsNotUsed) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  SharedServer(kVersion).ClaimAtWrite("log", store.schema);
  EXPECT_EQ(Gateway(store).Open().code(), absl::StatusCode::kFailedPrecondition);
}

// Four gateways store 1,000 events at the same time, each event at two gateways.
TEST(PostgresEventLogTest, ConcurrentGatewaysStoreEachEventOnceAndLeaveNoGaps) {
  constexpr int kEvents = 1000;
  constexpr int kGateways = 4;
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  std::vector<std::unique_ptr<Gateway>> gateways;
  Mutex mutex;
  Condition answered;
  std::map<AppendOutcome, int> outcomes;
  int answers = 0;
  for (int i = 0; i < kGateways; ++i) {
    gateways.push_back(std::make_unique<Gateway>(store));
    ASSERT_TRUE(gateways.back()->Open().ok());
  }
  for (int number = 0; number < kEvents; ++number) {
    for (const int gateway : {number % kGateways, (number + 1 + number / kGateways) % kGateways}) {
      gateways[static_cast<size_t>(gateway)]->log().Append(
          MakeVerifiedEvent(absl::StrCat("event-", number), BodyOf(number)), [&](const auto& outcome) {
            const MutexLock lock(mutex);
            ++outcomes[outcome.value()];
            ++answers;
            answered.WakeOne();
          });
    }
  }
  {
    const MutexLock lock(mutex);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (answers != 2 * kEvents && !answered.WaitUntil(mutex, deadline)) {
    }
    ASSERT_EQ(answers, 2 * kEvents);
  }
  EXPECT_EQ(outcomes[AppendOutcome::kStored], kEvents);
  EXPECT_EQ(outcomes[AppendOutcome::kDuplicate], kEvents);
  std::set<std::string> ids;
  std::unique_ptr<EventReader> reader = gateways[0]->log().NewReader().value();
  Position expected = 0;
  const std::vector<LoggedEvent> events = ReadAll(*reader).value();
  for (const LoggedEvent& event : events) {
    EXPECT_EQ(event.position, ++expected);
    ids.insert(event.event.event_id);
  }
  EXPECT_EQ(ids.size(), kEvents);
}

// Calls a function that stores one event. If `seal` is nullopt, calls that of releases before 0.2.0.
absl::Status StoreWithSql(const PostgresAddress& store, int number, std::optional<std::string> seal) {
  const VerifiedEvent verified = MakeVerifiedEvent(absl::StrCat("event-", number), BodyOf(number));
  const Event& event = *verified;
  const std::string headers = EncodeHeaders(event.headers);
  const EventRow row = RowOf(event, headers);
  const std::string content = EncodeContent(row);
  PostgresParameters arguments;
  if (!seal.has_value()) arguments.Bigint(std::nullopt);
  arguments.Bool(false)
      .ByteArrays({event.event_id})
      .ByteArrays({IdScopeOf(event)})
      .ByteArrays({event.organization_id})
      .ByteArrays({event.parent_organization_id})
      .ByteArrays({event.type})
      .ByteArrays({event.key_id})
      .Bigints({event.timestamp_ms})
      .ByteArrays({row.signature})
      .ByteArrays({headers})
      .ByteArrays({row.body_sha256})
      .ByteArrays({content})
      .ByteArrays({event.body});
  if (seal.has_value()) arguments.ByteArrays({*seal});
  return (*PostgresConnection::Open(store))
      ->Commit({{seal.has_value() ? "SELECT store_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
                                  : "SELECT append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                 std::move(arguments)}})
      .status();
}

// Returns the positions of the events that a reader returns, and of those that it reports as damaged.
std::pair<std::vector<Position>, std::vector<Position>> FoundAndDamaged(EventReader& reader) {
  std::pair<std::vector<Position>, std::vector<Position>> positions;
  const Position latest = reader.Extent()->latest;
  for (Position after = 0; after < latest;) {
    const absl::StatusOr<EventReader::Batch> batch = reader.Read({after}, {}, {});
    if (batch.ok()) {
      for (const LoggedEvent& event : batch->events) positions.first.push_back(event.position);
      after = batch->through;
    } else {
      EXPECT_EQ(batch.status().code(), absl::StatusCode::kDataLoss) << batch.status();
      after = reader.Lost().last;
      positions.second.push_back(after);
    }
  }
  return positions;
}

TEST(PostgresEventLogTest, DetectsDamage) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  Gateway gateway(store);
  ASSERT_TRUE(gateway.Open().ok());
  for (int number = 1; number <= 6; ++number) ASSERT_TRUE(gateway.Store(number).ok());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  const std::vector<LoggedEvent> events = ReadAll(*reader).value();
  const auto sql = [&store](const char* statement) { SharedServer(kVersion).Sql(statement, store.schema); };
  sql("UPDATE events SET body = body || ' ' WHERE position = 2");
  sql("UPDATE events SET type = 'other' WHERE position = 4");
  sql("DELETE FROM events WHERE position = 6");
  EXPECT_EQ(FoundAndDamaged(*reader), std::pair(std::vector<Position>({1, 3, 5}), std::vector<Position>({2, 4, 6})));
  EXPECT_EQ(reader->DigestAt(4).value(), events[3].digest) << "the next row has the digest too";
  EXPECT_EQ(reader->Find({"event-2", {}}, {}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(reader->Find({"event-6", {}}, {}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(reader->Find({"event-5", {}}, {}).value()->position, 5);
}

// Somebody can call the functions of the store, and has not its key. The server computes correct checksums.
TEST(PostgresEventLogTest, AnEventThatNoGatewayHasStoredIsDamaged) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  Gateway gateway(store);
  ASSERT_TRUE(gateway.Open().ok());
  ASSERT_TRUE(gateway.Store(1).ok());
  LogIdentity with_other_key = gateway.log().identity();
  with_other_key.cursor_key[0] ^= 1;
  const VerifiedEvent third = MakeVerifiedEvent("event-3", BodyOf(3));
  const std::string headers = EncodeHeaders(third->headers);
  ASSERT_EQ(StoreWithSql(store, 2, std::string(32, 'x')), absl::OkStatus());
  ASSERT_EQ(StoreWithSql(store, 3, EventSeals(with_other_key).Make(RowOf(*third, headers))), absl::OkStatus());
  ASSERT_TRUE(gateway.Store(4).ok());
  // The seal of another event.
  SharedServer(kVersion).Sql("UPDATE events SET seal = (SELECT seal FROM events WHERE position = 1) WHERE position = 4",
                             store.schema);
  ASSERT_TRUE(gateway.Store(5).ok());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  EXPECT_EQ(FoundAndDamaged(*reader), std::pair(std::vector<Position>({1, 5}), std::vector<Position>({2, 3, 4})));
  EXPECT_EQ(reader->Find({"event-2", {}}, {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(PostgresEventLogTest, EventsOfAnEarlierReleaseNeedNoSealUntilTheStoreIsSealed) {
  const PostgresAddress store = SharedServer(kVersion).address("earlier_release");
  std::unique_ptr<PostgresConnection> owner = PostgresConnection::Open(store).value();
  StoreSteps earlier = LogSteps();
  earlier.version = 2;
  ASSERT_EQ(MigrateStore(*owner, store.schema, earlier), absl::OkStatus());
  const LogIdentity log = MakeLogIdentity();
  ASSERT_TRUE(owner
                  ->Commit({{"SELECT create_log($1, $2)",
                             PostgresParameters().Bytes(AsText(log.id)).Bytes(SealKey(log.cursor_key, KeyOf(1)))}})
                  .ok());
  ASSERT_EQ(StoreWithSql(store, 1, std::nullopt), absl::OkStatus());
  ASSERT_EQ(MigrateStore(*owner, store.schema, LogSteps()), absl::OkStatus());
  Gateway gateway(store);
  ASSERT_TRUE(gateway.Open().ok());
  ASSERT_TRUE(gateway.Store(2).ok());
  EXPECT_EQ(StoreWithSql(store, 3, std::nullopt), absl::OkStatus()) << "a gateway of the earlier release still runs";
  EXPECT_EQ(StoreWithSql(store, 4, std::string(32, 'x')), absl::OkStatus());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  EXPECT_EQ(FoundAndDamaged(*reader), std::pair(std::vector<Position>({1, 2, 3}), std::vector<Position>({4})));
  EXPECT_EQ(ReadStoreDecisions(*owner)->unsealed_through, std::nullopt);
  EXPECT_EQ(CountEventsWithoutSeal(*owner, *ReadStoreDecisions(*owner)).value(), 2);

  SharedServer(kVersion).Sql("UPDATE bounds SET unsealed_through = 4", store.schema);
  EXPECT_EQ(StoreWithSql(store, 5, std::nullopt), absl::OkStatus());
  ASSERT_TRUE(gateway.Store(6).ok());
  EXPECT_EQ(FoundAndDamaged(*reader), std::pair(std::vector<Position>({1, 2, 3, 6}), std::vector<Position>({4, 5})));
  EXPECT_EQ(CountEventsWithoutSeal(*owner, *ReadStoreDecisions(*owner)).value(), 2);
}

TEST(PostgresEventLogTest, EventsWithoutASealAreCountedInSteps) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  Gateway gateway(store);
  ASSERT_TRUE(gateway.Open().ok());
  ASSERT_TRUE(gateway.Store(1).ok());
  SharedServer(kVersion).Sql(
      "INSERT INTO events SELECT (jsonb_populate_record(first, jsonb_build_object('position', number, 'seal',"
      " CASE WHEN number % 3 = 0 THEN NULL ELSE first.seal END))).*"
      " FROM events AS first, generate_series(2, 11001) AS number",
      store.schema);
  std::unique_ptr<PostgresConnection> owner = PostgresConnection::Open(store).value();
  StoreDecisions decisions = *ReadStoreDecisions(*owner);
  decisions.unsealed_through = std::nullopt;
  EXPECT_EQ(CountEventsWithoutSeal(*owner, decisions).value(), 3667);
  decisions.unsealed_through = 9000;
  EXPECT_EQ(CountEventsWithoutSeal(*owner, decisions).value(), 3000);
}

TEST(PostgresEventLogTest, RetentionDropsOldPartsAndKeepsTheirIds) {
  StoreBounds bounds;
  bounds.retention_age = absl::Minutes(16);
  Gateway gateway(SharedServer(kVersion).NewStore(LogSteps(), bounds));
  std::atomic<int64_t> now_us = absl::ToUnixMicros(absl::FromUnixSeconds(1'700'000'000));
  gateway.options().now = [&now_us] { return absl::FromUnixMicros(now_us); };
  gateway.options().retention_interval = absl::Hours(1);
  ASSERT_TRUE(gateway.Open().ok());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  for (int number = 1; number <= 60; ++number) {  // one event a minute
    ASSERT_TRUE(gateway.Store(number).ok());
    now_us += absl::ToInt64Microseconds(absl::Minutes(1));
    TrimPostgresLogNow(gateway.log());
    const LogExtent extent = reader->Extent().value();
    EXPECT_EQ(extent.latest, number);
    EXPECT_LE(extent.earliest, std::max(1, number - 15)) << "an event was deleted too early";
    EXPECT_GE(extent.earliest, number - 18) << "an event was deleted too late";
  }
  EXPECT_EQ(reader->Read({1}, {}, {}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kDuplicate);
  EXPECT_EQ(reader->Find({"event-1", {}}, {}).value(), std::nullopt);
  const LogExtent extent = reader->Extent().value();
  EXPECT_EQ(ReadAll(*reader)->size(), extent.latest - extent.earliest + 1);
}

// A reader sees the events and the log's state of one moment, although a dropped partition is gone for older snapshots.
TEST(PostgresEventLogTest, ReadersSeeNoDamageWhileRetentionDropsParts) {
  StoreBounds bounds;
  bounds.retention_age = absl::Minutes(16);
  Gateway gateway(SharedServer(kVersion).NewStore(LogSteps(), bounds));
  std::atomic<int64_t> now_us = absl::ToUnixMicros(absl::FromUnixSeconds(1'700'000'000));
  gateway.options().now = [&now_us] { return absl::FromUnixMicros(now_us); };
  gateway.options().retention_interval = absl::Hours(1);
  ASSERT_TRUE(gateway.Open().ok());
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  std::thread reading([&] {
    std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
    while (!stop) {
      const absl::Status status = ReadAll(*reader).status();
      EXPECT_TRUE(status.ok() || absl::IsOutOfRange(status)) << status;
      EXPECT_TRUE(reader->Usage().ok());
      ++reads;
    }
  });
  for (int number = 1; number <= 200; ++number) {
    ASSERT_TRUE(gateway.Store(number).ok());
    now_us += absl::ToInt64Microseconds(absl::Minutes(2));
    TrimPostgresLogNow(gateway.log());
  }
  stop = true;
  reading.join();
  EXPECT_GT(reads, 20);
}

TEST(PostgresEventLogTest, RetentionLimitsTheBytes) {
  StoreBounds bounds;
  bounds.retention_bytes = 4 << 20;
  Gateway gateway(SharedServer(kVersion).NewStore(LogSteps(), bounds));
  gateway.options().retention_interval = absl::Hours(1);
  ASSERT_TRUE(gateway.Open().ok());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  const std::string body = absl::StrCat(R"({"text":")", std::string(100'000, 'x'), R"("})");
  for (int number = 1; number <= 150; ++number) {
    ASSERT_TRUE(AppendAndWait(gateway.log(), MakeVerifiedEvent(absl::StrCat("large-", number), body)).ok());
    TrimPostgresLogNow(gateway.log());
    EXPECT_LE(reader->Usage()->bytes, 5 << 20);
  }
  const LogExtent extent = reader->Extent().value();
  EXPECT_GT(extent.earliest, 100);
  EXPECT_LT(extent.earliest, 130);
}

TEST(PostgresEventLogTest, AnotherStoreKeyIsRefused) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps());
  Gateway gateway(store);
  ASSERT_TRUE(gateway.Open().ok());
  Gateway other(store);
  const SecretBytes key = KeyOf(2);
  other.options().store_key = &key;
  const absl::Status status = other.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("key file"));
}

TEST(PostgresEventLogTest, AStoreWithoutTablesIsRefused) {
  Gateway gateway(SharedServer(kVersion).address("no_such_schema"));
  const absl::Status status = gateway.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("store migrate"));
}

// A gateway with a role of its own can store events, but can neither change nor delete them.
TEST(PostgresEventLogTest, TheLeastRightsAreEnough) {
  StoreBounds bounds;
  bounds.retention_age = absl::Minutes(1);
  PostgresAddress store = SharedServer(kVersion).NewStore(LogSteps(), bounds);
  const std::string role = "gateway_" + store.schema;
  SharedServer(kVersion).Sql("CREATE ROLE " + role + " LOGIN");
  ASSERT_TRUE(GrantStore(**PostgresConnection::Open(store), store.schema, role, LogSteps()).ok());
  store.user = role;
  Gateway gateway(store);
  std::atomic<int64_t> now_us = absl::ToUnixMicros(absl::FromUnixSeconds(1'700'000'000));
  gateway.options().now = [&now_us] { return absl::FromUnixMicros(now_us); };
  gateway.options().retention_interval = absl::Hours(1);
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  EXPECT_EQ(ReadAll(*reader)->size(), 1);
  EXPECT_TRUE(reader->Usage().ok());
  EXPECT_TRUE(reader->PositionBefore(absl::Now()).ok());
  EXPECT_TRUE(reader->Find({"event-1", {}}, {}).ok());
  now_us += absl::ToInt64Microseconds(absl::Hours(1));
  TrimPostgresLogNow(gateway.log());
  EXPECT_EQ(reader->Extent()->earliest, 2);
  EXPECT_EQ(gateway.state(), absl::OkStatus());
  std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(store).value();
  for (const char* sql :
       {"DELETE FROM events", "UPDATE events SET body = ''", "DELETE FROM seen", "UPDATE log SET latest = 0",
        "INSERT INTO seen VALUES ('', '', 9, '')", "DROP TABLE events_1", "TRUNCATE seen", "SELECT create_part(99)",
        "CREATE TABLE another ()", "SELECT lock_log(NULL)"}) {
    EXPECT_EQ(connection->Run({{sql}}).status().code(), absl::StatusCode::kFailedPrecondition) << sql;
  }
}

TEST(PostgresEventLogTest, ARestartOfTheServerLosesNoEvent) {
  TestPostgres server(kVersion);
  Gateway gateway(server.NewStore(LogSteps()));
  ASSERT_TRUE(gateway.Open().ok());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  int number = 0;
  for (int round = 0; round < 3; ++round) {
    std::thread killer([&server] { server.Kill(); });
    for (int i = 0; i < 30; ++i) gateway.Store(++number).status().IgnoreError();
    killer.join();
    EXPECT_EQ(gateway.Store(number + 1).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Eventually([&] { return !gateway.state().ok(); }));
    server.Start();
    EXPECT_TRUE(reader->Extent().ok()) << "the reader connects again";
    for (int again = 1; again <= number; ++again) gateway.StoreAtLast(again);
    EXPECT_EQ(gateway.state(), absl::OkStatus());
  }
  EXPECT_EQ(ReadAll(*reader)->size(), number);
  EXPECT_TRUE(gateway.taken_back().empty());
}

TEST(PostgresEventLogTest, AnIdleGatewayNoticesTheLossOfItsServer) {
  TestPostgres server(kVersion);
  Gateway gateway(server.NewStore(LogSteps()));
  gateway.options().retention_interval = absl::Hours(1);
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  TrimPostgresLogNow(gateway.log());
  server.Kill();
  EXPECT_TRUE(Eventually([&] { return !gateway.state().ok(); }));
  server.Start();
  EXPECT_TRUE(Eventually([&] { return gateway.state().ok(); }));
}

TEST(PostgresEventLogTest, AGatewayPausesBeforeItConnectsAgain) {
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(LogSteps());
  Gateway gateway(store);
  gateway.options().retention_interval = absl::Milliseconds(1);  // so that a step of retention is always due
  ASSERT_TRUE(gateway.Open().ok());
  server.Kill();
  // Replaces the server, and closes each connection at once. The writer and the listener each pause for 250 ms.
  const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {AF_UNIX, {}};
  const std::string path = absl::StrCat(store.hosts[0].substr(0, store.hosts[0].rfind(':')), "/.s.PGSQL.5432");
  ASSERT_LT(path.copy(address.sun_path, sizeof(address.sun_path) - 1), sizeof(address.sun_path) - 1);
  unlink(path.c_str());
  ASSERT_EQ(bind(sock, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(sock, 8), 0);
  const auto accept_one = [sock] { close(accept(sock, nullptr, nullptr)); };
  accept_one();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 24; ++i) accept_one();
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(500));
  close(sock);
}

TEST(PostgresEventLogTest, AServerThatDoesNotAnswerIsReported) {
  TestPostgres server(kVersion);
  Gateway gateway(server.NewStore(LogSteps()));
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  server.Pause();
  EXPECT_EQ(gateway.Store(2).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(gateway.Store(3).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(reader->Extent().status().code(), absl::StatusCode::kUnavailable);
  server.Continue();
  EXPECT_NE(gateway.StoreAtLast(2), AppendOutcome::kConflict);
  gateway.StoreAtLast(3);
  EXPECT_EQ(ReadAll(*reader)->size(), 3);
}

TEST(PostgresEventLogTest, RequiresASynchronousStandbyInEveryTransaction) {
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(LogSteps());
  Gateway gateway(store, /*allow_single_server=*/false);
  const absl::Status refused = gateway.Open();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("synchronous_standby_names"));

  TestPostgres standby(server, "standby");
  server.Set("synchronous_standby_names", "'standby'");
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  // A failover manager may empty the setting while the gateway is connected.
  server.Set("synchronous_standby_names", "''");
  const absl::Status status = gateway.Store(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("no synchronous standby"));
  EXPECT_EQ(server.Sql("SELECT latest FROM log", store.schema), "1");
  server.Set("synchronous_standby_names", "'standby'");
  EXPECT_EQ(gateway.StoreAtLast(2), AppendOutcome::kStored);
}

TEST(PostgresEventLogTest, AServerWithoutDurableWritesIsRefused) {
  TestPostgres server(kVersion, {"fsync = off"});
  Gateway gateway(server.NewStore(LogSteps()));
  const absl::Status status = gateway.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("fsync"));
}

// An administrator cancels the commit while it waits for the standby: the server then has the event, but the standby
// may not have it.
TEST(PostgresEventLogTest, ACommitThatDidNotWaitForTheStandbyIsNotAcknowledged) {
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(LogSteps());
  TestPostgres standby(server, "standby");
  server.Set("synchronous_standby_names", "'standby'");
  Gateway gateway(store, /*allow_single_server=*/false);
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  TrimPostgresLogNow(gateway.log());  // so that the only commit that waits is that of the next event
  standby.Pause();
  absl::StatusOr<AppendOutcome> outcome;
  std::thread sender([&] { outcome = gateway.Store(2); });
  EXPECT_TRUE(Eventually([&] {
    return server.Sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "t";
  }));
  sender.join();
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable) << "the standby does not have the event";
  EXPECT_EQ(server.Sql("SELECT latest FROM log", store.schema), "2");
  standby.Continue();
  EXPECT_EQ(gateway.StoreAtLast(2), AppendOutcome::kDuplicate);
}

// A failover manager empties the setting while a COMMIT waits. The server then lets it go, and shows its event. Before,
// the server's clock was ahead.
TEST(PostgresEventLogTest, ReadersDoNotSeeAnEventThatTheStandbyMayLack) {
  std::atomic<bool> is_ahead = true;
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(LogSteps());
  TestPostgres standby(server, "standby");
  server.Set("synchronous_standby_names", "'standby'");
  Gateway gateway(store, /*allow_single_server=*/false);
  gateway.options().now = [&is_ahead] { return absl::Now() + (is_ahead ? absl::Hours(1) : absl::ZeroDuration()); };
  Gateway other(store, /*allow_single_server=*/false);
  ASSERT_TRUE(gateway.Open().ok());
  ASSERT_TRUE(other.Open().ok());
  EXPECT_EQ(gateway.StoreAtLast(1), AppendOutcome::kStored);
  is_ahead = false;
  TrimPostgresLogNow(gateway.log());  // so that the only commit that waits is that of the next event
  TrimPostgresLogNow(other.log());
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  std::unique_ptr<EventReader> other_reader = other.log().NewReader().value();
  EXPECT_TRUE(Eventually([&] { return other_reader->Extent()->latest == 1; }));
  standby.Pause();
  absl::StatusOr<AppendOutcome> outcome;
  std::thread sender([&] { outcome = gateway.Store(2); });
  EXPECT_TRUE(Eventually([&] { return server.WaitingCommits() == 1; }));
  server.Set("synchronous_standby_names", "''");
  sender.join();
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(outcome.status().message(), HasSubstr("not known whether the transaction is durable"));
  EXPECT_EQ(server.Sql("SELECT latest FROM log", store.schema), "2") << "the server shows the event";
  for (EventReader* each : {reader.get(), other_reader.get()}) {
    EXPECT_EQ(each->Extent()->latest, 1);
    EXPECT_EQ(ReadAll(*each)->size(), 1);
    EXPECT_EQ(each->Find({"event-1", {}}, {}).value()->position, 1);
    EXPECT_EQ(each->Find({"event-2", {}}, {}).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(each->DigestAt(2).status().code(), absl::StatusCode::kUnavailable);
  }
  server.Set("synchronous_standby_names", "'standby'");
  EXPECT_TRUE(Eventually(
      [&] { return server.Sql("SELECT clock_timestamp() > pg_conf_load_time() + interval '2 seconds'") == "t"; }));
  EXPECT_EQ(gateway.log().NewReader().value()->Extent()->latest, 1) << "the setting does not show what was before it";
  standby.Continue();
  EXPECT_EQ(gateway.StoreAtLast(2), AppendOutcome::kDuplicate);
  EXPECT_EQ(ReadAll(*reader)->size(), 2);
  EXPECT_TRUE(Eventually([&] { return other_reader->Extent()->latest == 2; }));
  EXPECT_TRUE(gateway.taken_back().empty());
}

// The two servers of a failover. The gateway uses the first server of its list that accepts writes.
PostgresAddress Both(const PostgresAddress& store, const TestPostgres& standby) {
  PostgresAddress both = store;
  both.hosts.push_back(standby.address("").hosts[0]);
  return both;
}

TEST(PostgresEventLogTest, AFailoverToASynchronousStandbyLosesNoEvent) {
  TestPostgres primary(kVersion);
  const PostgresAddress store = primary.NewStore(LogSteps());
  TestPostgres standby(primary, "standby");
  primary.Set("synchronous_standby_names", "'standby'");
  standby.Set("synchronous_standby_names", "'next'");
  Gateway gateway(Both(store, standby), /*allow_single_server=*/false);
  ASSERT_TRUE(gateway.Open().ok());
  int acknowledged = 0;
  std::thread killer([&] { primary.Kill(); });
  for (int number = 1; number <= 200; ++number) {
    if (!gateway.Store(number).ok()) break;
    acknowledged = number;
  }
  killer.join();
  standby.Promote();
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  const std::vector<LoggedEvent> events = ReadAll(*reader).value();
  EXPECT_GE(events.size(), acknowledged);
  // The new primary has no standby, so it stores nothing.
  EXPECT_EQ(gateway.Store(999).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(gateway.taken_back().empty());
}

// The server keeps the session of a COMMIT that waits, also if the gateway has closed the connection.
TEST(PostgresEventLogTest, WhileNoStandbyAnswersTwoSessionsOfTheServerWait) {
  TestPostgres primary(kVersion);
  const PostgresAddress store = primary.NewStore(LogSteps());
  TestPostgres standby(primary, "standby");
  primary.Set("synchronous_standby_names", "'standby'");
  Gateway gateway(Both(store, standby), /*allow_single_server=*/false);
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.StoreAtLast(1), AppendOutcome::kStored);
  standby.Pause();
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
      for (int look_up = 0; look_up < 2; ++look_up) {
        EXPECT_EQ(reader->Find({"unknown", {}}, {}).status().code(), absl::StatusCode::kUnavailable);
        EXPECT_EQ(reader->Find({"event-1", {}}, {}).value()->position, 1);
      }
    });
  }
  callers.emplace_back([&] {
    for (int number = 2; number <= 4; ++number) EXPECT_FALSE(gateway.Store(number).ok());
  });
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(primary.WaitingCommits(), 2);
  standby.Continue();
  gateway.StoreAtLast(2);
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  EXPECT_EQ(reader->Find({"unknown", {}}, {}).value(), std::nullopt);
}

// A gateway reaches both servers, and its connection is still to the old primary, which wakes. Another gateway has
// stored an event on the new one.
TEST(PostgresEventLogTest, NothingIsCalledLostOnAnOldPrimary) {
  TestPostgres primary(kVersion);
  const PostgresAddress store = primary.NewStore(LogSteps());
  TestPostgres standby(primary, "standby");
  Gateway gateway(Both(store, standby));
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  EXPECT_TRUE(Eventually([&] { return standby.Sql("SELECT latest FROM log", store.schema) == "1"; }));
  const auto new_reader = [&] {
    std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
    EXPECT_EQ(reader->Extent()->latest, 1);
    return reader;
  };
  std::vector<std::unique_ptr<EventReader>> readers;
  for (int i = 0; i < 3; ++i) readers.push_back(new_reader());
  primary.Pause();
  standby.Promote();
  Gateway other(standby.address(store.schema));
  ASSERT_TRUE(other.Open().ok());
  EXPECT_EQ(other.Store(2).value(), AppendOutcome::kStored);
  const LogPoint seen = {2, other.log().NewReader().value()->DigestAt(2).value()};
  primary.Continue();

  const absl::StatusOr<EventReader::Batch> batch = readers[0]->Read(seen, {}, {});
  EXPECT_EQ(batch.status(), absl::OkStatus()) << "the cursor is not ahead of the log";
  EXPECT_EQ(readers[1]->Find({"event-2", {}}, {}).value()->position, 2);
  EXPECT_EQ(readers[2]->DigestAt(2).value(), seen.digest);
  EXPECT_EQ(readers[2]->Find({"event-3", {}}, {}).value(), std::nullopt) << "both servers were asked";
  EXPECT_TRUE(gateway.taken_back().empty());
}

// The negative control of the failover: if the primary does not wait for the standby, a failover loses events, and this
// is reported to the operator and to each reader that has seen them.
TEST(PostgresEventLogTest, AFailoverThatLosesEventsIsReported) {
  TestPostgres primary(kVersion);
  const PostgresAddress store = primary.NewStore(LogSteps());
  TestPostgres standby(primary, "standby");
  Gateway gateway(Both(store, standby));
  ASSERT_TRUE(gateway.Open().ok());
  EXPECT_EQ(gateway.Store(1).value(), AppendOutcome::kStored);
  EXPECT_TRUE(Eventually([&] { return standby.Sql("SELECT latest FROM log", store.schema) == "1"; }));
  standby.Kill();
  for (int number = 2; number <= 4; ++number) EXPECT_EQ(gateway.Store(number).value(), AppendOutcome::kStored);
  std::unique_ptr<EventReader> reader = gateway.log().NewReader().value();
  const std::vector<LoggedEvent> before = ReadAll(*reader).value();
  ASSERT_EQ(before.size(), 4);
  const LogPoint seen = {4, before[3].digest};
  const LogPoint common = {1, before[0].digest};
  primary.Kill();
  standby.Start();
  standby.Promote();

  EXPECT_TRUE(Eventually([&] { return !gateway.taken_back().empty(); }));
  EXPECT_THAT(gateway.taken_back(), ElementsAre(std::pair<Position, Position>(4, 1)));
  const auto read = [&](const LogPoint& after) {
    absl::StatusOr<EventReader::Batch> batch = absl::UnavailableError("");
    EXPECT_TRUE(Eventually([&] {
      batch = reader->Read(after, {}, {});
      return !absl::IsUnavailable(batch.status());
    }));
    return batch.status().code();
  };
  EXPECT_EQ(read(seen), absl::StatusCode::kFailedPrecondition) << "the log ends before the reader's point";
  EXPECT_EQ(read(common), absl::StatusCode::kOk);
  for (int number = 11; number <= 13; ++number) gateway.StoreAtLast(number);
  EXPECT_EQ(read(seen), absl::StatusCode::kFailedPrecondition) << "the log has another event at the reader's point";
  gateway.StoreAtLast(14);
  EXPECT_EQ(read(seen), absl::StatusCode::kFailedPrecondition) << "the next event does not follow the reader's point";
  EXPECT_EQ(read({4, {}}), absl::StatusCode::kOk) << "only the digest shows the difference";
  EXPECT_EQ(ReadAll(*reader)->size(), 5);
}

}  // namespace
}  // namespace stampgate
