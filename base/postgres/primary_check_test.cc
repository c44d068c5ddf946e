#include "base/postgres/primary_check.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/postgres/test_server.h"

namespace stampgate {
namespace {

// A primary and a standby, and an address with both. The gateway's connection is to the primary.
class PrimaryCheckTest : public testing::Test {
 protected:
  PrimaryCheckTest() {
    address_.hosts.push_back(standby_.address("public").hosts[0]);
    connection_ = PostgresConnection::Open(address_).value();
  }

  absl::Status Confirm() { return PrimaryCheck(address_).Confirm(*connection_); }

  // Makes transactions of the primary wait for the standby.
  void RequireStandby() {
    primary_.Set("synchronous_standby_names", "'standby'");
    address_.allow_single_server = false;
    connection_->RequireStandby();
  }

  TestPostgres primary_{PostgresVersion::k15};
  TestPostgres standby_{primary_, "standby"};
  PostgresAddress address_ = primary_.address("public");
  std::unique_ptr<PostgresConnection> connection_;
};

TEST_F(PrimaryCheckTest, APrimaryBesideItsStandbyIsConfirmed) {
  EXPECT_EQ(Confirm(), absl::OkStatus());
  RequireStandby();
  EXPECT_EQ(Confirm(), absl::OkStatus());
}

TEST_F(PrimaryCheckTest, AnOldPrimaryIsFoundAtOnce) {
  primary_.Pause();
  standby_.Promote();
  primary_.Continue();
  ASSERT_TRUE(connection_->Run({{"SELECT 1"}}).ok()) << "nobody has seen the new primary yet";
  EXPECT_EQ(Confirm().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(connection_->Run({{"SELECT 1"}}).ok()) << "nobody reads from the old one any more";
}

TEST_F(PrimaryCheckTest, AServerThatDoesNotAnswerMayBeTheNewPrimary) {
  RequireStandby();
  standby_.Pause();
  EXPECT_EQ(Confirm().code(), absl::StatusCode::kUnavailable) << "no standby confirms a write";
}

TEST_F(PrimaryCheckTest, AWriteThatAStandbyConfirmsShowsThatAnotherServerIsNotThePrimary) {
  RequireStandby();
  address_.hosts.push_back("/tmp/no-such-folder:5432");
  EXPECT_EQ(Confirm(), absl::OkStatus());
}

// The server keeps the session of a COMMIT that waits, also if the gateway has closed the connection.
TEST_F(PrimaryCheckTest, WhileNoStandbyAnswersOneSessionOfTheServerWaits) {
  RequireStandby();
  standby_.Pause();
  std::vector<std::thread> gateways;
  for (int i = 0; i < 4; ++i) {
    gateways.emplace_back([this] {
      for (int look_up = 0; look_up < 2; ++look_up) {
        const std::unique_ptr<PostgresConnection> connection =
            PostgresConnection::Open(primary_.address("public")).value();
        connection->RequireStandby();
        EXPECT_EQ(PrimaryCheck(address_).Confirm(*connection).code(), absl::StatusCode::kUnavailable);
      }
    });
  }
  for (std::thread& gateway : gateways) gateway.join();
  EXPECT_EQ(primary_.WaitingCommits(), 1);
  standby_.Continue();
  EXPECT_TRUE(Eventually([this] { return Confirm().ok(); }));
}

TEST_F(PrimaryCheckTest, ASingleServerNeedsNoOther) {
  standby_.Kill();
  EXPECT_EQ(Confirm(), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
