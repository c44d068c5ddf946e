// What a session learns about a COMMIT that the server lets go, and about what another session reads then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/postgres/commit_terms.h"
#include "base/postgres/connection.h"
#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

// A primary with one synchronous standby, which does not answer, and a connection whose COMMIT waits for it.
class WaitingCommitTest : public testing::TestWithParam<PostgresVersion> {
 protected:
  WaitingCommitTest() {
    primary_.Set("synchronous_standby_names", "'standby'");
    primary_.Sql("CREATE TABLE numbers (number bigint)");
    connection_ = PostgresConnection::Open(primary_.address("public")).value();
    connection_->RequireStandby();
    EXPECT_EQ(Insert(1), absl::OkStatus());
    process_ = static_cast<pid_t>(connection_->Run({{"SELECT pg_backend_pid()::bigint"}})->front().Number(0, 0));
    standby_.Pause();
    waiting_ = std::thread([this] { status_ = Insert(2); });
    EXPECT_TRUE(Eventually([this] { return primary_.WaitingCommits() == 1; }));
  }

  ~WaitingCommitTest() override {
    if (waiting_.joinable()) waiting_.join();
  }

  absl::Status Insert(int number) {
    return connection_->Commit({{absl::StrCat("INSERT INTO numbers VALUES (", number, ")")}}).status();
  }

  // Returns the status of the COMMIT that waited.
  absl::Status Ended() {
    waiting_.join();
    EXPECT_EQ(primary_.Sql("SELECT count(*) FROM numbers"), "2") << "the primary shows the row";
    return status_;
  }

  // Empties the setting, and restores it, while the session's process does not run.
  void EmptyAndRestore() {
    kill(process_, SIGSTOP);
    primary_.Set("synchronous_standby_names", "''");
    primary_.Set("synchronous_standby_names", "'standby'");
  }

  TestPostgres primary_{GetParam()};
  TestPostgres standby_{primary_, "standby"};
  std::unique_ptr<PostgresConnection> connection_;
  pid_t process_ = 0;
  absl::Status status_;
  std::thread waiting_;
};

INSTANTIATE_TEST_SUITE_P(Versions, WaitingCommitTest, testing::Values(PostgresVersion::k15, PostgresVersion::k18));

TEST_P(WaitingCommitTest, AnEmptiedSettingLetsItGoAndItIsNotDurable) {
  primary_.Set("synchronous_standby_names", "''");
  const absl::Status status = Ended();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("not known whether the transaction is durable"));
  EXPECT_EQ(Insert(3).code(), absl::StatusCode::kUnavailable) << "the next one does not wait either";
}

TEST_P(WaitingCommitTest, ASettingThatWasEmptiedAndRestoredLetsItGoAndItIsNotDurable) {
  EmptyAndRestore();
  kill(process_, SIGCONT);
  EXPECT_EQ(Ended().code(), absl::StatusCode::kUnavailable) << "the standby still does not answer";
}

TEST_P(WaitingCommitTest, ALaterWriteThatTheStandbyConfirmsShowsThatItIsDurable) {
  EmptyAndRestore();
  standby_.Continue();
  kill(process_, SIGCONT);
  EXPECT_EQ(Ended(), absl::OkStatus());
  EXPECT_TRUE(Eventually([this] { return standby_.Sql("SELECT count(*) FROM numbers") == "2"; }));
}

// The gap that commit_terms.h states: the terms look right.
TEST_P(WaitingCommitTest, WhileTheCheckpointerLacksTheRestoredSettingACommitDoesNotWait) {
  primary_.Set("synchronous_standby_names", "''");
  EXPECT_FALSE(Ended().ok());
  const auto checkpointer = static_cast<pid_t>(
      std::stoi(primary_.Sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")));
  kill(checkpointer, SIGSTOP);
  primary_.Set("synchronous_standby_names", "'standby'");
  EXPECT_EQ(Insert(3), absl::OkStatus()) << "although the standby does not answer";
  kill(checkpointer, SIGCONT);
  primary_.Sql("CHECKPOINT");
  EXPECT_EQ(Insert(4).code(), absl::StatusCode::kUnavailable) << "the COMMIT waits for the standby";
}

// A server also shows transactions that it did not let wait.
TEST_P(WaitingCommitTest, WhatItHasWrittenIsNotReadAsDurable) {
  const std::unique_ptr<PostgresConnection> reader = PostgresConnection::Open(primary_.address("public")).value();
  reader->RequireStandby();
  const auto prove = [&] {
    const std::vector<PostgresResult> results =
        reader->Run({{"SELECT count(*) FROM numbers"}, {kReadCommitTerms}}).value();
    return reader->ProveRead(CommitTermsOf(results[1]), /*written_us=*/0);
  };
  primary_.Set("synchronous_standby_names", "''");
  EXPECT_FALSE(Ended().ok());
  EXPECT_EQ(prove().code(), absl::StatusCode::kUnavailable);
  standby_.Continue();
  primary_.Set("synchronous_standby_names", "'standby'");
  EXPECT_EQ(prove(), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
