#include "webhooks/log/sqlite/sqlite_log_copy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/testing/status_is.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

using ::absl::StatusCode;
using testing::StatusIs;

// webhooks/log/postgres/postgres_log_copy_test.cc tests whole copies.
class SqliteLogSourceTest : public ::testing::Test {
 protected:
  SqliteLogSourceTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/copy-XXXXXX");
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/events";
  }
  ~SqliteLogSourceTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<EventLog> Open() {
    SqliteEventLogOptions options;
    options.path = path_;
    options.now = absl::Now;
    options.on_fatal = [](const absl::Status& status) { ADD_FAILURE() << status; };
    return *OpenSqliteEventLog(std::move(options));
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SqliteLogSourceTest, ALogWithSubscriptionsIsNoSource) {
  std::unique_ptr<EventLog> log = Open();
  ASSERT_TRUE(AppendAndWait(*log, MakeVerifiedEvent("a", "{}")).ok());
  log = nullptr;
  EXPECT_EQ(OpenSqliteLogSource(path_, absl::Now()).status(), absl::OkStatus());
  log = Open();
  for (const char* name : {"payouts", "audit"}) {
    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = name, .head = SubscriptionHead{}}),
              absl::OkStatus());
  }
  log = nullptr;
  EXPECT_THAT(OpenSqliteLogSource(path_, absl::Now()),
              StatusIs(StatusCode::kFailedPrecondition,
                       absl::StrCat("event log ", path_,
                                    ": it has the shared subscriptions audit, payouts, which a store"
                                    " on PostgreSQL cannot have yet")));
  log = Open();
  for (const char* name : {"payouts", "audit"}) {
    ASSERT_EQ(WriteAndWait(*log->subscriptions(), {.subscription = name, .remove = true}), absl::OkStatus());
  }
  log = nullptr;
  EXPECT_EQ(OpenSqliteLogSource(path_, absl::Now()).status(), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
