#include "webhooks/log/sqlite/sqlite_log_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/disk/sqlite.h"
#include "base/testing/status_is.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::absl::StatusCode;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::StatusIs;

// webhooks/log/postgres/postgres_log_copy_test.cc tests copies to another engine.
class SqliteLogCopyTest : public ::testing::Test {
 protected:
  SqliteLogCopyTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/copy-XXXXXX");
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/events";
    copy_ = folder_ + "/copy";
  }
  ~SqliteLogCopyTest() override { std::filesystem::remove_all(folder_); }

  static std::unique_ptr<EventLog> Open(const std::string& path) {
    SqliteEventLogOptions options;
    options.path = path;
    options.now = absl::Now;
    options.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    return *OpenSqliteEventLog(std::move(options));
  }

  absl::Status Copy() const {
    ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<LogSource> source, OpenSqliteLogSource(path_, absl::Now()));
    ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<LogTarget> target,
                          CreateSqliteLogTarget(copy_, source->state().identity));
    ABSL_RETURN_IF_ERROR(CopyLog(*source, *target, [](Position) {}));
    return OpenCopiedLog(copy_);
  }

  std::string folder_;
  std::string path_;
  std::string copy_;
};

TEST_F(SqliteLogCopyTest, ACopyHasTheSameSubscriptions) {
  std::mt19937_64 random(5);
  SubscriptionStates states;
  std::unique_ptr<EventLog> log = Open(path_);
  ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent("a", "{}")).ok());
  for (int step = 0; step < 100; ++step) {
    const SubscriptionChange change = RandomChange(random);
    if (ApplyChange(change, &states).ok()) {
      ASSERT_EQ(WriteAndWait(*log->subscriptions(), change), absl::OkStatus());
    }
  }
  EXPECT_THAT(states, Not(IsEmpty()));
  log = nullptr;
  ASSERT_EQ(Copy(), absl::OkStatus());
  EXPECT_EQ(*Open(copy_)->subscriptions()->Load(), states);
}

TEST_F(SqliteLogCopyTest, ACopyWithoutSubscriptionsKeepsTheVersionOfEarlierReleases) {
  Open(path_);
  ASSERT_EQ(Copy(), absl::OkStatus());
  EXPECT_EQ(OpenLogFileToRead(copy_, /*vfs=*/"")->Number("PRAGMA user_version").value(), 3);
}

TEST_F(SqliteLogCopyTest, ALogWithADamagedSubscriptionIsNotCopiedUntilItIsDeleted) {
  std::unique_ptr<EventLog> log = Open(path_);
  for (const char* name : {"payouts", "audit"}) {
    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = name, .head = SubscriptionHead{}}),
              absl::OkStatus());
  }
  log = nullptr;
  {
    absl::StatusOr<SqliteConnection> connection = OpenLogFileToWrite(path_, /*vfs=*/"", /*synchronous_full=*/true);
    ASSERT_TRUE(connection.ok()) << connection.status();
    ASSERT_EQ(connection->Run("UPDATE subscriptions SET incarnation = 5 WHERE subscription = 'payouts'"),
              absl::OkStatus());
  }
  EXPECT_THAT(OpenSqliteLogSource(path_, absl::Now()),
              StatusIs(StatusCode::kDataLoss,
                       absl::StrCat("event log ", path_,
                                    ": the shared subscription payouts is damaged: its head has another checksum; start"
                                    " the gateway without it in the config, and run `stampgate subscriptions delete"
                                    " payouts`")));
  log = Open(path_);
  ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = "payouts", .remove = true}), absl::OkStatus());
  log = nullptr;
  EXPECT_EQ(Copy(), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
