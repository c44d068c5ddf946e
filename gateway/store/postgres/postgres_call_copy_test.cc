#include "gateway/store/postgres/postgres_call_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/postgres/test_server.h"
#include "base/secret/bytes.h"
#include "base/secret/symmetric_key.h"
#include "gateway/store/call_store_testing.h"
#include "gateway/store/postgres/postgres_call_store.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/queued_call_store.h"
#include "gateway/store/sqlite/sqlite_call_copy.h"
#include "gateway/store/sqlite/sqlite_call_store.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using Begun = CallStore::Begun;
using Kind = AttemptEnd::Kind;

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class PostgresCallCopyTest : public testing::Test {
 protected:
  PostgresCallCopyTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/copy-XXXXXX");
    folder_ = mkdtemp(folder.data());
    file_ = folder_ + "/calls.db";
  }
  ~PostgresCallCopyTest() override { std::filesystem::remove_all(folder_); }

  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }
  absl::Time Now() const { return absl::FromUnixMicros(now_us_); }

  std::unique_ptr<CallStore> OpenFile() {
    SqliteCallStoreOptions options;
    options.path = file_;
    options.key_retention = absl::Hours(3);
    options.now = [this] { return Now(); };
    options.queue.tidy_interval = absl::Hours(1);
    options.on_loss = [this](const absl::Status&) { ++losses_; };
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenSqliteCallStore(std::move(options));
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  std::unique_ptr<CallStore> OpenStore() {
    PostgresCallStoreOptions options;
    options.address = store_;
    options.store_key = &key_;
    options.key_retention = absl::Hours(3);
    options.now = [this] { return Now(); };
    options.queue.tidy_interval = absl::Hours(1);
    absl::StatusOr<std::unique_ptr<CallStore>> store = OpenPostgresCallStore(std::move(options));
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  absl::StatusOr<int64_t> CopyToServer() {
    const std::unique_ptr<PostgresConnection> connection = *PostgresConnection::Open(store_);
    absl::StatusOr<std::unique_ptr<CallSource>> source = OpenSqliteCallSource(file_, Now());
    if (!source.ok()) return source.status();
    return CopyCalls(**source, *MakePostgresCallTarget(*connection, key_));
  }

  absl::StatusOr<int64_t> CopyToFile() {
    const std::unique_ptr<PostgresConnection> connection = *PostgresConnection::Open(store_);
    absl::StatusOr<std::unique_ptr<CallSource>> source = OpenPostgresCallSource(*connection, key_);
    if (!source.ok()) return source.status();
    absl::StatusOr<std::unique_ptr<CallTarget>> target = CreateSqliteCallTarget(file_, Now());
    if (!target.ok()) return target.status();
    absl::StatusOr<int64_t> keys = CopyCalls(**source, **target);
    if (absl::Status status = OpenCopiedCalls(file_); !status.ok()) return status;
    return keys;
  }

  void DeleteFile() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }

  // Stores a submit for the key `key`, whose attempt ends so.
  static void StoreKey(CallStore& store, const std::string& key, const AttemptEnd& end) {
    const absl::StatusOr<Begun> begun = BeginAndWait(store, MakeSubmit(key, 1, 2, 1000));
    ASSERT_TRUE(begun.ok() && begun->attempt.has_value());
    store.End(*begun->attempt, end);
  }

  // Everything that a caller learns who repeats a submit with another body.
  static std::string Answer(CallStore& store, const std::string& key) {
    KeyedSubmit submit = MakeSubmit(key, 1, 3, 2000);
    submit.begins = false;
    const absl::StatusOr<Begun> begun = BeginAndWait(store, submit);
    if (!begun.ok()) return begun.status().ToString();
    if (!begun->record.has_value()) {
      return begun->unknown_until > absl::ZeroDuration() ? "perhaps lost" : "new";
    }
    const AttemptEnd& end = begun->record->outcome;
    return absl::StrCat(static_cast<int>(end.kind), " ", static_cast<int>(end.code), " ", end.domain, " ", end.reason,
                        " ", end.activity_id, " ", end.activity_status, " ", begun->record->timestamp_ms, " ",
                        begun->record->body_sha256[0]);
  }

  std::map<std::string, std::string> Answers(CallStore& store) {
    std::map<std::string, std::string> answers;
    for (const char* key : {"not-sent", "unknown", "refused", "done", "open", "new"}) answers[key] = Answer(store, key);
    return answers;
  }

  std::string folder_;
  std::string file_;
  PostgresAddress store_ = SharedServer().NewStore(StepsOfThisProgram(), {.key_retention = absl::Hours(3)});
  const SecretBytes key_ = *SecretBytes::Create(kSymmetricKeyBytes);
  std::atomic<int64_t> now_us_ = absl::ToUnixMicros(kStart);
  std::atomic<int> losses_ = 0;
};

TEST_F(PostgresCallCopyTest, ACopyAnswersAsTheOriginalInBothDirections) {
  std::map<std::string, std::string> answers;
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    StoreKey(*store, "not-sent", NotSent());
    StoreKey(*store, "unknown", Unknown());
    StoreKey(*store, "refused", Refused("REASON"));
    StoreKey(*store, "done", Done("activity"));
    EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("open", 1, 2, 1000))->attempt.has_value());
    EXPECT_EQ(RaiseAndWait(*store, 77'000), absl::OkStatus());
  }
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    answers = Answers(*store);
  }
  EXPECT_EQ(CopyToServer().value(), 5);
  {
    const std::unique_ptr<CallStore> store = OpenStore();
    EXPECT_EQ(Answers(*store), answers);
    EXPECT_EQ(store->timestamp_floor_ms(), 77'000u);
    // A submit that is repeated with its bytes continues.
    EXPECT_TRUE(BeginAndWait(*store, MakeSubmit("unknown", 1, 2, 1000))->attempt.has_value());
    EXPECT_EQ(RaiseAndWait(*store, 88'000), absl::OkStatus());
    store->Close(87'000);
  }
  DeleteFile();
  EXPECT_EQ(CopyToFile().value(), 5);
  const std::unique_ptr<CallStore> store = OpenFile();
  EXPECT_EQ(Answers(*store), answers);
  EXPECT_EQ(store->timestamp_floor_ms(), 87'000u);
  EXPECT_EQ(losses_, 0);
}

TEST_F(PostgresCallCopyTest, AKeyThatNoGatewayHasStoredInThisFormIsNotCopied) {
  std::unique_ptr<CallStore> store = OpenStore();
  StoreKey(*store, "key", Done("a-1"));
  store->Close(0);
  SharedServer().Sql("UPDATE submits SET activity_id = 'a-2'", store_.schema);
  EXPECT_EQ(CopyToFile().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(PostgresCallCopyTest, KeysExpireInACopyAsInTheOriginal) {
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    StoreKey(*store, "old", Done("activity"));
    Pass(absl::Hours(1));
    TidyNow(*store);
    StoreKey(*store, "new", Done("activity"));
    Pass(absl::Hours(1));
    TidyNow(*store);
  }
  EXPECT_EQ(CopyToServer().value(), 2);
  {
    const std::unique_ptr<CallStore> store = OpenStore();
    Pass(absl::Hours(1) - absl::Minutes(1));
    TidyNow(*store);
    EXPECT_NE(Answer(*store, "old"), "new");
  }
  DeleteFile();
  EXPECT_EQ(CopyToFile().value(), 2);
  const std::unique_ptr<CallStore> store = OpenFile();
  Pass(absl::Minutes(2));
  TidyNow(*store);
  EXPECT_EQ(Answer(*store, "old"), "new");
  EXPECT_NE(Answer(*store, "new"), "new");
}

TEST_F(PostgresCallCopyTest, KeysThatWereDistrustedRemainDistrusted) {
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    StoreKey(*store, "before", Refused("REASON"));
  }
  std::filesystem::remove(file_ + "-mark");
  OpenFile();
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(CopyToServer().value(), 1);
  {
    Pass(absl::Minutes(1));
    const std::unique_ptr<CallStore> store = OpenStore();
    EXPECT_EQ(BeginAndWait(*store, MakeSubmit("before", 1, 2, 1000))->record->outcome.kind, Kind::kUnknown);
    EXPECT_EQ(Answer(*store, "unknown"), "perhaps lost");
  }
  DeleteFile();
  EXPECT_EQ(CopyToFile().value(), 1);
  const std::unique_ptr<CallStore> store = OpenFile();
  EXPECT_EQ(BeginAndWait(*store, MakeSubmit("before", 1, 2, 1000))->record->outcome.kind, Kind::kUnknown);
  EXPECT_EQ(Answer(*store, "unknown"), "perhaps lost");
}

TEST_F(PostgresCallCopyTest, AStoreWhoseLossWasNotNoticedYetIsDistrustedInTheCopy) {
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    StoreKey(*store, "before", Refused("REASON"));
  }
  std::filesystem::remove(file_ + "-mark");
  EXPECT_EQ(CopyToServer().value(), 1);
  const std::unique_ptr<CallStore> store = OpenStore();
  EXPECT_EQ(Answer(*store, "unknown"), "perhaps lost");
}

TEST_F(PostgresCallCopyTest, ManyKeysOfOneMomentAreCopied) {
  constexpr int kKeys = 3 * kCopiedRows / 2;
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    for (int i = 0; i < kKeys; ++i) StoreKey(*store, absl::StrCat("key-", i), Done("activity"));
  }
  EXPECT_EQ(CopyToServer().value(), kKeys);
  DeleteFile();
  EXPECT_EQ(CopyToFile().value(), kKeys);
  const std::unique_ptr<CallStore> store = OpenFile();
  for (int i = 0; i < kKeys; ++i) EXPECT_THAT(Answer(*store, absl::StrCat("key-", i)), HasSubstr("activity"));
}

TEST_F(PostgresCallCopyTest, RefusesAFileInUseAFileThatExistsAndADamagedKey) {
  {
    const std::unique_ptr<CallStore> store = OpenFile();
    StoreKey(*store, "done", Done("activity"));
    EXPECT_EQ(CopyToServer().status().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(CopyToFile().status().code(), absl::StatusCode::kFailedPrecondition);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "UPDATE calls SET kind = 0", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_EQ(CopyToServer().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(PostgresCallCopyTest, AnInterruptedCopyToAFileIsRefused) {
  ASSERT_TRUE(CreateSqliteCallTarget(file_, Now()).ok());
  const std::string reason =
      absl::StrCat("call store ", file_, ": a copy to this file has not ended; if it was ", "interrupted, delete ",
                   file_, "-copying and the other files of the new ", "store, and start again");
  EXPECT_EQ(CreateSqliteCallTarget(file_, Now()).status(), absl::FailedPreconditionError(reason));
  EXPECT_EQ(OpenSqliteCallSource(file_, Now()).status(), absl::FailedPreconditionError(reason));
  // The mark alone protects the file.
  ASSERT_EQ(OpenCopiedCalls(file_), absl::OkStatus());
  OpenFile();
}

}  // namespace
}  // namespace stampgate
