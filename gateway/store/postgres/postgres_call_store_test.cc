#include "gateway/store/postgres/postgres_call_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/postgres/test_server.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/postgres/postgres_quota_store.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/queued_call_store.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;

constexpr auto kVersion = PostgresVersion::k18;

class PostgresCallStoreTest : public testing::Test {
 protected:
  explicit PostgresCallStoreTest(PostgresAddress store = SharedServer(kVersion).NewStore(StepsOfThisProgram()))
      : store_(std::move(store)) {}

  PostgresCallStoreOptions Options() {
    PostgresCallStoreOptions options;
    options.address = store_;
    options.store_key = &key_;
    options.queue.end_delay = absl::Milliseconds(1);
    options.queue.tidy_interval = absl::Hours(1);
    options.queue.on_fatal = [this](const absl::Status&) { ++failures_; };
    options.on_loss = [this](const absl::Status&) { ++losses_; };
    return options;
  }

  // Opens the store as another gateway does.
  std::unique_ptr<CallStore> Open(PostgresCallStoreOptions options) {
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenPostgresCallStore(std::move(options));
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::unique_ptr<CallStore> Open() { return Open(Options()); }

  void Sql(const std::string& sql) { SharedServer(kVersion).Sql(sql, store_.schema); }

  PostgresAddress store_;
  const SecretBytes key_ = *SecretBytes::Create(kSymmetricKeyBytes);
  std::atomic<int> failures_ = 0;
  std::atomic<int> losses_ = 0;
};

TEST_F(PostgresCallStoreTest, AKeyHoldsAtEveryGateway) {
  std::unique_ptr<CallStore> first = Open();
  std::unique_ptr<CallStore> second = Open();
  const Begun begun = BeginAndWait(*first, MakeSubmit("a", 1, 2, 1000)).value();
  ASSERT_TRUE(begun.attempt.has_value());
  EXPECT_EQ(BeginAndWait(*second, MakeSubmit("a", 1, 3, 2000))->record->outcome.kind, Kind::kUnknown);
  first->End(*begun.attempt, Done("a-1"));
  EXPECT_TRUE(Eventually(
      [&] { return BeginAndWait(*second, MakeSubmit("a", 1, 3, 2000))->record->outcome.activity_id == "a-1"; }));
}

// Two gateways begin the same new key with different bodies at the same time, many times.
TEST_F(PostgresCallStoreTest, OneKeyBeginsWithOneBodyInARaceOfGateways) {
  std::unique_ptr<CallStore> first = Open();
  std::unique_ptr<CallStore> second = Open();
  for (int round = 0; round < 100; ++round) {
    const std::string key = absl::StrCat("key-", round);
    const auto begin = [&key](CallStore& store, uint8_t body) {
      auto answer = std::make_shared<std::promise<absl::StatusOr<Begun>>>();
      store.Begin(MakeSubmit(key, 1, body, 1000 + body), nullptr,
                  [answer](auto begun) { answer->set_value(std::move(begun)); });
      return answer->get_future();
    };
    std::future<absl::StatusOr<Begun>> one = begin(*first, 2);
    std::future<absl::StatusOr<Begun>> other = begin(*second, 3);
    const absl::StatusOr<Begun> a = one.get();
    const absl::StatusOr<Begun> b = other.get();
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    ASSERT_NE(a->attempt.has_value(), b->attempt.has_value());
    EXPECT_EQ((a->attempt ? b : a)->record->timestamp_ms, a->attempt ? 1002u : 1003u);
  }
}

// The server's numbers of keys are estimates, which ANALYZE brings up to date. A gateway reads them when it opens the
// store, and then every 30 s.
TEST_F(PostgresCallStoreTest, ACallerWithinItsShareGetsKeysThatAnotherOneHasUsedUp) {
  PostgresCallStoreOptions options = Options();
  options.max_keys = 100;
  int number = 0;
  const auto take = [&number](CallStore& store, const std::string& caller, int most) {
    int taken = 0;
    for (; taken < most; ++taken) {
      KeyedSubmit submit = MakeSubmit(absl::StrCat("key-", ++number), 1, 2);
      submit.caller = caller;
      const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
      if (begun.ok() && begun->attempt.has_value()) continue;
      EXPECT_EQ(begun.status().code(), absl::StatusCode::kResourceExhausted) << begun.status();
      break;
    }
    return taken;
  };
  std::unique_ptr<CallStore> first = Open(options);
  EXPECT_EQ(take(*first, "greedy", 100), 100);
  first = nullptr;
  Sql("ANALYZE submits");
  first = Open(options);
  std::unique_ptr<CallStore> second = Open(options);
  EXPECT_EQ(take(*first, "greedy", 1), 0);
  EXPECT_EQ(take(*second, "greedy", 1), 0);
  EXPECT_EQ(take(*first, "honest", 30), 30);
  EXPECT_EQ(take(*second, "honest", 100), 50) << "half of the keys; this gateway does not know the others yet";
  second = nullptr;
  Sql("ANALYZE submits");
  second = Open(options);
  EXPECT_EQ(take(*second, "honest", 1), 0);
  EXPECT_EQ(take(*second, "third", 100), 34);
  Sql("DELETE FROM submits WHERE caller = 'greedy'");
  Sql("DELETE FROM submits WHERE caller = 'honest'");
  Sql("ANALYZE submits");
  second = Open(options);
  EXPECT_EQ(take(*second, "greedy", 50), 50);
}

TEST_F(PostgresCallStoreTest, EachGatewayHasAnotherIndexOfTimestamps) {
  std::vector<std::unique_ptr<CallStore>> stores;
  std::set<uint64_t> indexes;
  for (int i = 0; i < 10; ++i) {
    stores.push_back(Open());
    EXPECT_EQ(stores.back()->timestamp_lease()->count, 64u);
    indexes.insert(stores.back()->timestamp_lease()->index);
  }
  EXPECT_EQ(indexes.size(), 10u);
}

TEST_F(PostgresCallStoreTest, TheNextHolderOfAnIndexBeginsAboveTheLast) {
  Sql("DELETE FROM leases WHERE index > 0");
  std::unique_ptr<CallStore> store = Open();
  EXPECT_EQ(store->timestamp_floor_ms(), 0u);
  EXPECT_EQ(RaiseAndWait(*store, 5000), absl::OkStatus());
  EXPECT_EQ(RaiseAndWait(*store, 4000), absl::OkStatus());
  EXPECT_EQ(OpenPostgresCallStore(Options()).status().code(), absl::StatusCode::kResourceExhausted);
  store->Close(4500);
  store = Open();
  EXPECT_EQ(store->timestamp_floor_ms(), 4500u) << "an orderly end gives back what it has not used";
  EXPECT_EQ(RaiseAndWait(*store, 9000), absl::OkStatus());

  // The lease of a process that has ended without Close, or is paused, ends by itself.
  Sql("UPDATE leases SET renewed_us = 0");
  std::unique_ptr<CallStore> next = Open();
  EXPECT_EQ(next->timestamp_floor_ms(), 9000u);
  // The process wakes. It may use its values below 9000. It gets others only when there is another lease.
  EXPECT_EQ(RaiseAndWait(*store, 9500).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(BeginAndWait(*store, MakeSubmit("a", 1, 2)).ok());
  Sql("INSERT INTO leases VALUES (7, NULL, 8000, 0, 0, NULL, 0)");
  EXPECT_TRUE(Eventually([&] { return RaiseAndWait(*store, 9500).ok(); }));
  EXPECT_EQ(store->timestamp_lease()->index, 7u);
  EXPECT_EQ(store->timestamp_floor_ms(), 8000u);
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("a", 1, 2)).ok());
  EXPECT_EQ(RaiseAndWait(*next, 9600), absl::OkStatus());
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(losses_, 0);
}

// Another gateway takes the lease while this one sleeps, and between two transactions of this one.
TEST_F(PostgresCallStoreTest, AStoreThatACopyHasClaimedMeanwhileIsNotUsed) {
  const TestPostgres& server = SharedServer(kVersion);
  Sql("UPDATE leases SET through_ms = 5000");
  server.ClaimAtWrite("leases", store_.schema);
  EXPECT_EQ(OpenPostgresCallStore(Options()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server.Sql("SELECT count(*) FROM leases WHERE holder IS NULL AND through_ms = 5000", store_.schema), "64");
}

TEST_F(PostgresCallStoreTest, AGatewayWhoseLeaseWasTakenContinuesWithAnother) {
  std::unique_ptr<CallStore> store = Open();
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("before", 1, 2, 1000))->attempt.has_value());
  const uint64_t index = store->timestamp_lease()->index;
  Sql("UPDATE leases SET holder = 'another', commits = 0, previous_holder = holder, previous_commits = commits"
      " WHERE holder IS NOT NULL");
  // The transaction that finds the lease taken stores nothing, and the next one has another lease.
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("late", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("late", 1, 2))->attempt.has_value());
  EXPECT_EQ(RaiseAndWait(*store, 5000), absl::OkStatus());
  EXPECT_NE(store->timestamp_lease()->index, index);
  EXPECT_FALSE(BeginAndWait(*store, MakeSubmit("before", 1, 3, 2000))->attempt.has_value());
  EXPECT_EQ(losses_, 0) << "the server still has the transactions under the lease that was taken";
  EXPECT_EQ(failures_, 0);
}

TEST_F(PostgresCallStoreTest, AGatewayThatFindsNoTraceOfItsTransactionsReportsALoss) {
  std::unique_ptr<CallStore> store = Open();
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("before", 1, 2, 1000))->attempt.has_value());
  EXPECT_EQ(RaiseAndWait(*store, 5000), absl::OkStatus());
  // As after a failover to a server that does not even have the lease.
  Sql("UPDATE leases SET holder = NULL, commits = 0, through_ms = 0 WHERE holder IS NOT NULL");
  Sql("DELETE FROM submits");
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("late", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(BeginAndWait(*store, MakeSubmit("before", 1, 3, 2000))->attempt.has_value());
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(SharedServer(kVersion).Sql("SELECT max(through_ms) FROM leases", store_.schema), "5000");
}

TEST_F(PostgresCallStoreTest, AHolderCannotLowerTheBoundThatItsLeaseHadBefore) {
  Sql("UPDATE leases SET through_ms = 5000");
  Open()->Close(7);
  EXPECT_EQ(SharedServer(kVersion).Sql("SELECT min(through_ms) FROM leases", store_.schema), "5000");
}

TEST_F(PostgresCallStoreTest, TimestampsAreAtMostTenMinutesAheadOfTheServersClock) {
  const std::unique_ptr<CallStore> store = Open();
  const auto ahead = [](absl::Duration time) { return static_cast<uint64_t>(absl::ToUnixMillis(absl::Now() + time)); };
  EXPECT_FALSE(RaiseAndWait(*store, ahead(absl::Minutes(12))).ok());
  EXPECT_EQ(SharedServer(kVersion).Sql("SELECT max(through_ms) FROM leases", store_.schema), "0");
  EXPECT_TRUE(Eventually([&] { return RaiseAndWait(*store, ahead(absl::Minutes(8))).ok(); }));
}

// A person changes a row on the server.
TEST_F(PostgresCallStoreTest, AKeyThatNoGatewayHasStoredInThisFormSendsNothing) {
  Sql("ALTER TABLE submits DROP CONSTRAINT submits_are_sealed");
  std::unique_ptr<CallStore> store = Open();
  const std::vector<std::string> changes = {"activity_id = 'other'",
                                            "timestamp_ms = 1",
                                            "end_kind = 0, open_attempts = 0",
                                            "seal = NULL",
                                            "version = version + 1",
                                            "body_sha256 = sha256('')",
                                            "stored_age_us = stored_age_us + 1",
                                            "seal = (SELECT seal FROM submits WHERE key = 'genuine')"};
  const auto attempt = [&](const std::string& key) {
    store->End(*BeginAndWait(*store, MakeSubmit(key, 1, 2))->attempt, Done("a-1"));
  };
  attempt("genuine");
  for (size_t i = 0; i < changes.size(); ++i) attempt(absl::StrCat("key-", i));
  store->Close(0);
  store = Open();
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("genuine", 1, 3))->record->outcome.kind, Kind::kDone);
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::string key = absl::StrCat("key-", i);
    Sql(absl::StrCat("UPDATE submits SET ", changes[i], " WHERE key = '", key, "'"));
    for (const uint8_t body : {2, 3}) {
      const absl::StatusOr<Begun> begun = BeginAndWait(*store, MakeSubmit(key, 1, body));
      ASSERT_TRUE(begun.ok() && begun->record.has_value()) << changes[i];
      EXPECT_EQ(begun->record->outcome.kind, Kind::kUnknown) << changes[i];
    }
  }
}

TEST_F(PostgresCallStoreTest, AKeyThatAnEarlierReleaseHasChangedHoldsAfterTheStoreIsSealed) {
  Sql("UPDATE bounds SET unsealed_through = NULL, keys_unsealed_through_us = NULL;"
      " ALTER TABLE events DROP CONSTRAINT events_are_sealed; ALTER TABLE submits DROP CONSTRAINT submits_are_sealed");
  std::unique_ptr<CallStore> store = Open();
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("key", 1, 2))->attempt.has_value());
  // As put_submits does, which knows no seals.
  Sql("UPDATE submits SET version = version + 1, open_attempts = 0, end_kind = 3, activity_id = 'a-1'");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(BeginAndWait(*store, MakeSubmit("key", 1, 3))->record->outcome.activity_id, "a-1");
    Sql("SELECT seal_store()");
  }
  // Later keys need seals.
  Sql("UPDATE submit_clock SET age_us = age_us + 1000000");
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("later", 1, 2))->attempt.has_value());
  Sql("UPDATE submits SET version = version + 1, open_attempts = 0, end_kind = 3, activity_id = 'a-2'"
      " WHERE key = 'later'");
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("later", 1, 3))->record->outcome.kind, Kind::kUnknown);
  // A gateway of an earlier release that still runs, with the role of the owner, stores none without one.
  Sql("DO $$ BEGIN UPDATE submits SET seal = NULL, stored_age_us = (SELECT keys_unsealed_through_us + 1 FROM bounds)"
      " WHERE key = 'later'; RAISE 'a key without a seal is stored';"
      " EXCEPTION WHEN check_violation THEN NULL; END $$");
}

TEST_F(PostgresCallStoreTest, AnEarlierRowDoesNotReplaceALaterOne) {
  std::unique_ptr<CallStore> store = Open();
  const CallStore::AttemptId attempt = *BeginAndWait(*store, MakeSubmit("key", 1, 2))->attempt;
  Sql("CREATE TABLE earlier AS TABLE submits");
  store->End(attempt, Done("a-1"));
  store->Close(0);
  store = Open();
  for (const char* version : {"version = e.version", "version = s.version"}) {
    Sql(absl::StrCat(
        "UPDATE submits s SET ", version, ", end_kind = e.end_kind, open_attempts = e.open_attempts,",
        " activity_id = e.activity_id, activity_status = e.activity_status, seal = e.seal FROM earlier e"));
    const absl::StatusOr<Begun> begun = BeginAndWait(*store, MakeSubmit("key", 1, 2));
    // The earlier row as a whole is genuine: only the owner can put it back, because a gateway raises the version.
    EXPECT_EQ(begun->record.has_value(), absl::string_view(version) == "version = s.version");
  }
}

// A store that an administrator restores to an earlier state, with the same clock for the server and the gateways.
class RestoredPostgresCallStoreTest : public PostgresCallStoreTest {
 protected:
  std::unique_ptr<CallStore> OpenNow() {
    PostgresCallStoreOptions options = Options();
    options.now = [this] { return absl::FromUnixMillis(now_ms_); };
    return Open(options);
  }

  void Attempt(CallStore& store, const KeyedSubmit& submit, AttemptEnd end) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    ASSERT_TRUE(begun.ok() && begun->attempt.has_value()) << begun.status() << submit.key;
    store.End(*begun->attempt, std::move(end));
  }

  static Kind OutcomeOf(CallStore& store, const KeyedSubmit& submit) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    EXPECT_TRUE(begun.ok() && begun->record.has_value()) << begun.status() << submit.key;
    return begun.ok() && begun->record.has_value() ? begun->record->outcome.kind : Kind::kNotSent;
  }

  void Save() {
    for (const char* table : {"submits", "submit_clock", "leases"}) {
      Sql(absl::StrCat("CREATE TABLE saved_", table, " AS TABLE ", table));
    }
  }
  void Restore() {
    for (const char* table : {"submits", "submit_clock", "leases"}) {
      Sql(absl::StrCat("DELETE FROM ", table));
      Sql(absl::StrCat("INSERT INTO ", table, " TABLE saved_", table));
    }
  }

  static constexpr int64_t kStartMs = 1'700'000'000'000;
  std::atomic<int64_t> now_ms_ = kStartMs;
};

TEST_F(RestoredPostgresCallStoreTest, BeginsNoAttemptThatMayRepeatALostOne) {
  std::unique_ptr<CallStore> store = OpenNow();
  Attempt(*store, MakeSubmit("done", 1, 2), Done("a-1"));
  Attempt(*store, MakeSubmit("refused", 1, 2), Refused("R"));
  Attempt(*store, MakeSubmit("not-sent", 1, 2), NotSent());
  store->Close(kStartMs);
  Save();
  store = OpenNow();
  Attempt(*store, MakeSubmit("since", 1, 2), Done("a-2"));
  Attempt(*store, MakeSubmit("refused", 1, 2), Done("a-3"));
  Attempt(*store, MakeSubmit("not-sent", 1, 3), Unknown());
  store->Close(kStartMs);
  Restore();
  now_ms_ += 600'000;
  Sql(absl::StrCat("SET stampgate.server_us = ", now_ms_ * 1000, "; SELECT repair_store()"));

  for (int gateway = 0; gateway < 2; ++gateway) {
    store = OpenNow();
    const Begun since = BeginAndWait(*store, MakeSubmit("since", 1, 9)).value();
    EXPECT_FALSE(since.attempt.has_value() || since.record.has_value());
    EXPECT_EQ(since.unknown_until, absl::Hours(24));
    for (uint8_t body : {2, 3, 9}) {
      EXPECT_EQ(OutcomeOf(*store, MakeSubmit("done", 1, body)), Kind::kDone);
      EXPECT_EQ(OutcomeOf(*store, MakeSubmit("refused", 1, body)), Kind::kUnknown);
      EXPECT_EQ(OutcomeOf(*store, MakeSubmit("not-sent", 1, body)), Kind::kUnknown);
    }
  }
  for (int half_hours = 0; half_hours < 49; ++half_hours) {
    now_ms_ += 30 * 60'000;
    TidyNow(*store);
  }
  for (const char* key : {"since", "done", "not-sent"}) Attempt(*store, MakeSubmit(key, 1, 9), NotSent());
  EXPECT_EQ(losses_, 0);
  EXPECT_EQ(failures_, 0);
}

TEST_F(RestoredPostgresCallStoreTest, TimestampsOfEachLeaseBeginAboveTheClockAndTheBound) {
  const int64_t ahead_ms = kStartMs + 300'000;
  constexpr int64_t kLastMs = kStartMs + 600'000;
  Sql(absl::StrCat("UPDATE leases SET through_ms = ", ahead_ms, " WHERE index = 7"));
  // Somebody who had the role of a gateway has raised it.
  Sql("UPDATE leases SET through_ms = 9223372036854775807 WHERE index = 8");
  std::unique_ptr<CallStore> paused = OpenNow();
  Save();
  EXPECT_EQ(RaiseAndWait(*paused, kStartMs + 10'000), absl::OkStatus());
  Restore();
  Sql(absl::StrCat("SET stampgate.server_us = ", now_ms_ * 1000, "; SELECT repair_store()"));
  const auto free = [this](int64_t through_ms) {
    return SharedServer(kVersion).Sql(
        absl::StrCat("SELECT count(*) FROM leases WHERE holder IS NULL AND through_ms = ", through_ms), store_.schema);
  };
  EXPECT_EQ(free(kStartMs + 31'000), "62");
  EXPECT_EQ(free(ahead_ms), "1");
  EXPECT_EQ(free(kLastMs), "1");
  EXPECT_EQ(OpenNow()->timestamp_floor_ms(), kStartMs + 31'000);
  // The process from before the restoration does not get its lease again.
  EXPECT_EQ(RaiseAndWait(*paused, kStartMs + 20'000).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Eventually([&] { return RaiseAndWait(*paused, kStartMs + 20'000).ok(); }));
  EXPECT_GE(paused->timestamp_floor_ms(), kStartMs + 31'000);
}

TEST_F(PostgresCallStoreTest, AnEndOfAnAttemptIsStoredWithoutALaterSubmit) {
  std::unique_ptr<CallStore> store = Open();
  store->End(*BeginAndWait(*store, MakeSubmit("a", 1, 2))->attempt, Done("a-1"));
  EXPECT_TRUE(Eventually([this] {
    return SharedServer(kVersion).Sql("SELECT convert_from(activity_id, 'UTF8') FROM submits", store_.schema) == "a-1";
  }));
}

class PostgresCallStoreFaultTest : public PostgresCallStoreTest {
 protected:
  PostgresCallStoreFaultTest() : PostgresCallStoreTest(PostgresAddress()) {
    store_ = server_.NewStore(StepsOfThisProgram());
  }

  TestPostgres server_{kVersion};
};

TEST_F(PostgresCallStoreFaultTest, ARestartOfTheServerForgetsNoAttempt) {
  std::unique_ptr<CallStore> store = Open();
  std::set<std::string> begun;
  for (int round = 0; round < 3; ++round) {
    std::thread killer([this] { server_.Kill(); });
    for (int i = 0; i < 20; ++i) {
      const std::string key = absl::StrCat(round, "-", i);
      const absl::StatusOr<Begun> answer = BeginAndWait(*store, MakeSubmit(key, 1, 2, 1000));
      if (answer.ok() && answer->attempt.has_value()) begun.insert(key);
    }
    killer.join();
    EXPECT_EQ(BeginAndWait(*store, MakeSubmit("late", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
    server_.Start();
    EXPECT_TRUE(Eventually([&] { return BeginAndWait(*store, MakeSubmit("probe", 9, 9)).ok(); }));
  }
  for (const std::string& key : begun) {
    const absl::StatusOr<Begun> answer = BeginAndWait(*store, MakeSubmit(key, 1, 3, 2000));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->attempt.has_value()) << key;
  }
  EXPECT_EQ(losses_, 0);
  EXPECT_EQ(failures_, 0);
}

TEST_F(PostgresCallStoreFaultTest, AStoreThatOpensWithoutItsServerGetsALeaseLater) {
  server_.Kill();
  std::unique_ptr<CallStore> store = Open();
  EXPECT_FALSE(store->timestamp_lease().has_value());
  EXPECT_EQ(RaiseAndWait(*store, 5000).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("a", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
  server_.Start();
  EXPECT_TRUE(Eventually([&] { return RaiseAndWait(*store, 5000).ok(); }));
  EXPECT_EQ(store->timestamp_lease()->count, 64u);
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("a", 1, 2)).ok());
  EXPECT_EQ(failures_, 0);
}

// A failover manager empties the setting while COMMITs wait. The server then lets them go.
TEST_F(PostgresCallStoreFaultTest, AnEmptiedSettingGrantsNothing) {
  TestPostgres standby(server_, "standby");
  server_.Set("synchronous_standby_names", "'standby'");
  PostgresCallStoreOptions options = Options();
  options.address.allow_single_server = false;
  std::unique_ptr<CallStore> keys = Open(options);
  std::unique_ptr<CallStore> bounds = Open(options);
  const std::unique_ptr<QuotaStore> quotas = MakePostgresQuotaStore({options.address, nullptr});
  const QuotaLimit limit = {"a", absl::Hours(24), 100};
  EXPECT_TRUE(BeginAndWait(*keys, MakeSubmit("a", 1, 2)).ok());
  EXPECT_EQ(RaiseAndWait(*bounds, 5000), absl::OkStatus());
  EXPECT_TRUE(quotas->Take(limit, 1).ok());
  standby.Pause();
  absl::StatusCode begun, raised, taken;
  std::thread threads[] = {std::thread([&] { begun = BeginAndWait(*keys, MakeSubmit("b", 1, 2)).status().code(); }),
                           std::thread([&] { raised = RaiseAndWait(*bounds, 9000).code(); }),
                           std::thread([&] { taken = quotas->Take(limit, 1).status().code(); })};
  EXPECT_TRUE(Eventually([&] { return server_.WaitingCommits() == 3; }));
  server_.Set("synchronous_standby_names", "''");
  for (std::thread& thread : threads) thread.join();
  for (const absl::StatusCode code : {begun, raised, taken}) EXPECT_EQ(code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_.Sql("SELECT count(*) FROM submits", store_.schema), "2") << "the server shows the rows";
  standby.Continue();
  server_.Set("synchronous_standby_names", "'standby'");
  EXPECT_TRUE(Eventually([&] { return BeginAndWait(*keys, MakeSubmit("b", 1, 2)).ok(); }));
}

// The server keeps the session of a COMMIT that waits, also if the gateway has closed the connection. Each COMMIT here
// would lock another row.
TEST_F(PostgresCallStoreFaultTest, WhileNoStandbyAnswersNewLeasesAndOtherQuotasKeepNoSessions) {
  TestPostgres standby(server_, "standby");
  server_.Set("synchronous_standby_names", "'standby'");
  PostgresCallStoreOptions options = Options();
  options.address.allow_single_server = false;
  const std::unique_ptr<QuotaStore> quotas = MakePostgresQuotaStore({options.address, nullptr});
  EXPECT_TRUE(quotas->Take({"first", absl::Hours(24), 100}, 1).ok());
  EXPECT_TRUE(BeginAndWait(*Open(options), MakeSubmit("a", 1, 2)).ok());
  standby.Pause();
  std::thread taker([&] {
    for (int number = 0; number < 4; ++number) {
      EXPECT_FALSE(quotas->Take({absl::StrCat("quota-", number), absl::Hours(24), 100}, 1).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the store connects again
    }
  });
  for (int i = 0; i < 3; ++i) {
    const std::unique_ptr<CallStore> store = Open(options);
    EXPECT_EQ(BeginAndWait(*store, MakeSubmit("b", 1, 2)).status().code(), absl::StatusCode::kUnavailable);
  }
  taker.join();
  EXPECT_LE(server_.WaitingCommits(), 2) << "the first call of a quota, and one write that asks the standby";
  standby.Continue();
  EXPECT_TRUE(Eventually([&] { return quotas->Take({"last", absl::Hours(24), 100}, 1).ok(); }));
  const std::unique_ptr<CallStore> store = Open(options);
  EXPECT_TRUE(Eventually([&] { return BeginAndWait(*store, MakeSubmit("b", 1, 2)).ok(); }));
}

// The connection is still to the old primary, which wakes. Another gateway has carried the submit out.
TEST_F(PostgresCallStoreFaultTest, AnOldPrimaryAnswersNoLookUp) {
  TestPostgres standby(server_, "standby");
  PostgresCallStoreOptions options = Options();
  options.address.hosts.push_back(standby.address("").hosts[0]);
  std::unique_ptr<CallStore> store = Open(options);
  EXPECT_EQ(RaiseAndWait(*store, 5000), absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return standby.Sql("SELECT max(through_ms) FROM leases", store_.schema) == "5000"; }));
  server_.Pause();
  standby.Promote();
  PostgresCallStoreOptions others = Options();
  others.address = standby.address(store_.schema);
  std::unique_ptr<CallStore> other = Open(others);
  const Begun begun = BeginAndWait(*other, MakeSubmit("a", 1, 2)).value();
  other->End(*begun.attempt, Done("a-1"));
  KeyedSubmit look_up = MakeSubmit("a", 1, 2);
  look_up.begins = false;
  EXPECT_TRUE(Eventually([&] { return BeginAndWait(*other, look_up)->record->outcome.kind == Kind::kDone; }));
  server_.Continue();
  const absl::StatusOr<Begun> answer = BeginAndWait(*store, look_up);
  ASSERT_TRUE(answer.ok() && answer->record.has_value()) << answer.status();
  EXPECT_EQ(answer->record->outcome.activity_id, "a-1");
}

TEST_F(PostgresCallStoreFaultTest, RequiresASynchronousStandbyInEveryTransaction) {
  PostgresCallStoreOptions options = Options();
  options.address.allow_single_server = false;
  EXPECT_EQ(OpenPostgresCallStore(options).status().code(), absl::StatusCode::kFailedPrecondition);
  TestPostgres standby(server_, "standby");
  server_.Set("synchronous_standby_names", "'standby'");
  std::unique_ptr<CallStore> store = Open(options);
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("a", 1, 2)).ok());
  server_.Set("synchronous_standby_names", "''");
  const absl::Status status = BeginAndWait(*store, MakeSubmit("b", 1, 2)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("no synchronous standby"));
  EXPECT_EQ(RaiseAndWait(*store, 5000).code(), absl::StatusCode::kUnavailable);
  server_.Set("synchronous_standby_names", "'standby'");
  EXPECT_TRUE(Eventually([&] { return BeginAndWait(*store, MakeSubmit("b", 1, 2)).ok(); }));
  EXPECT_EQ(failures_, 0);
}

// After a failover that has lost an attempt, no gateway begins an attempt that could repeat it.
TEST_F(PostgresCallStoreFaultTest, AFailoverThatLosesAttemptsIsDetected) {
  TestPostgres standby(server_, "standby");
  PostgresCallStoreOptions options = Options();
  options.address.hosts.push_back(standby.address("").hosts[0]);
  std::unique_ptr<CallStore> store = Open(options);
  store->End(*BeginAndWait(*store, MakeSubmit("done", 1, 2))->attempt, Done("a-1"));
  EXPECT_TRUE(Eventually(
      [&] { return standby.Sql("SELECT convert_from(activity_id, 'UTF8') FROM submits", store_.schema) == "a-1"; }));
  standby.Kill();
  EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("lost", 1, 2, 1000))->attempt.has_value());
  EXPECT_EQ(RaiseAndWait(*store, 7000), absl::OkStatus());
  server_.Kill();
  standby.Start();
  standby.Promote();

  absl::StatusOr<Begun> answer;
  EXPECT_TRUE(Eventually([&] {
    answer = BeginAndWait(*store, MakeSubmit("lost", 1, 3, 2000));
    return answer.ok();
  }));
  EXPECT_FALSE(answer->attempt.has_value());
  EXPECT_GT(answer->unknown_until, absl::Hours(23));
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("done", 1, 3, 2000))->record->outcome.activity_id, "a-1");
  EXPECT_EQ(standby.Sql("SELECT max(through_ms) FROM leases", store_.schema), "7000");
  std::unique_ptr<CallStore> other = Open(options);
  EXPECT_FALSE(BeginAndWait(*other, MakeSubmit("lost", 1, 4, 3000))->attempt.has_value());
}

}  // namespace
}  // namespace stampgate
