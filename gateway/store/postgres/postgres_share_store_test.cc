#include "gateway/store/postgres/postgres_share_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/postgres/schema.h"
#include "base/postgres/test_server.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_shares.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kVersion = PostgresVersion::k18;
constexpr char kRate[] = "upstream";

ShareRenewal Renewal(const std::string& replica, int64_t number, Millionths used, Millionths asked) {
  return {replica, number, {{kRate, used, asked}}, {{kRate, {}}}, {}};
}

std::unique_ptr<RateShares> Begin(const PostgresAddress& store, const std::string& caller) {
  RateSharesOptions options;
  options.demand = [caller] { return std::vector<RateDemand>{{kRate, {{caller, 1, kWhole}}}}; };
  options.apply = [](const std::shared_ptr<const HeldShares>&, absl::Time) {};
  return std::make_unique<RateShares>(MakePostgresShareStore(store), std::move(options));
}

double ShareOf(const RateShares& shares) { return shares.held()->Share(kRate, shares.now()); }

bool InForce(const RateShares& shares) { return shares.held()->InForce(shares.now()); }

TEST(PostgresShareStoreTest, GatewaysShareARateAndOneThatEndsFreesItsPart) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  const std::unique_ptr<RateShares> first = Begin(store, "a");
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 1; }));
  std::unique_ptr<RateShares> second = Begin(store, "b");
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
  second = nullptr;
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 1; }));
  EXPECT_EQ(SharedServer(kVersion).Sql("SELECT count(*) FROM replicas", store.schema), "1");
}

// Renewals of many gateways at the same time.
TEST(PostgresShareStoreTest, ConcurrentRenewalsGrantAtMostTheWholeRate) {
  const PostgresAddress store = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<ShareStore> connection = MakePostgresShareStore(store);
      Millionths used = 0;
      for (int64_t number = 1; number <= 150; ++number) {
        const Millionths asked = (number * 7919 * (i + 1)) % kWhole;
        used = std::min(used, asked);
        const absl::StatusOr<ShareAnswer> answer =
            connection->Renew(Renewal(absl::StrCat("replica-", i), number, used, asked));
        ASSERT_TRUE(answer.ok()) << answer.status();
        used = answer->granted[0];
      }
    });
  }
  std::thread reader([&] {
    while (!stop) {
      EXPECT_LE(
          std::stoll(SharedServer(kVersion).Sql("SELECT coalesce(sum(shares[1]), 0) FROM replicas", store.schema)),
          kWhole);
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
}

TEST(PostgresShareStoreTest, AtMost128ReplicasShareTheRates) {
  const std::unique_ptr<ShareStore> connection =
      MakePostgresShareStore(SharedServer(kVersion).NewStore(StepsOfThisProgram()));
  for (int i = 0; i < 128; ++i) {
    ASSERT_EQ(connection->Renew(Renewal(absl::StrCat("replica-", i), 1, 0, 1)).status(), absl::OkStatus());
  }
  EXPECT_FALSE(connection->Renew(Renewal("another", 1, 0, 1)).ok());
  EXPECT_TRUE(connection->Renew(Renewal("replica-0", 2, 0, 1)).ok());
  EXPECT_EQ(connection->Release("replica-1"), absl::OkStatus());
  EXPECT_TRUE(connection->Renew(Renewal("another", 2, 0, 1)).ok());
}

TEST(PostgresShareStoreTest, ARenewalWaitsForNoStandby) {
  const TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(StepsOfThisProgram());
  server.Set("synchronous_standby_names", "'nobody'");
  const std::unique_ptr<ShareStore> connection = MakePostgresShareStore(store);
  EXPECT_THAT(connection->Renew(Renewal("a", 1, 0, 7))->granted, ElementsAre(7));
  EXPECT_EQ(connection->Release("a"), absl::OkStatus());
}

TEST(PostgresShareStoreTest, AServerThatWasKilledBeginsWithoutReplicasAndTheyContinue) {
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(StepsOfThisProgram());
  const std::unique_ptr<RateShares> first = Begin(store, "a");
  const std::unique_ptr<RateShares> second = Begin(store, "b");
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
  server.Kill();
  EXPECT_TRUE(Eventually([&] { return !InForce(*first) && !InForce(*second); }));
  EXPECT_LE(ShareOf(*first) + ShareOf(*second), 1) << "both continue without the store";
  EXPECT_GT(ShareOf(*first), 0.4);
  server.Start();
  EXPECT_TRUE(Eventually([&] { return InForce(*first) && InForce(*second); }));
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
}

TEST(PostgresShareStoreTest, SharesContinueAfterAFailover) {
  TestPostgres primary(kVersion);
  PostgresAddress store = primary.NewStore(StepsOfThisProgram());
  TestPostgres standby(primary, "standby");
  store.hosts.push_back(standby.address(store.schema).hosts[0]);
  const std::unique_ptr<RateShares> first = Begin(store, "a");
  const std::unique_ptr<RateShares> second = Begin(store, "b");
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
  primary.Kill();
  standby.Promote();
  EXPECT_TRUE(Eventually([&] {
    return standby.Sql("SELECT count(*) FROM replicas", store.schema) == "2" && InForce(*first) && InForce(*second);
  }));
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
}

// The server's processes stop in the middle of a renewal, perhaps with the lock.
TEST(PostgresShareStoreTest, SharesEndWhileTheServerDoesNotAnswer) {
  TestPostgres server(kVersion);
  const PostgresAddress store = server.NewStore(StepsOfThisProgram());
  const std::unique_ptr<RateShares> first = Begin(store, "a");
  const std::unique_ptr<RateShares> second = Begin(store, "b");
  EXPECT_TRUE(Eventually([&] { return ShareOf(*first) == 0.5 && ShareOf(*second) == 0.5; }));
  server.Pause();
  EXPECT_TRUE(Eventually([&] { return !InForce(*first) && !InForce(*second); }));
  EXPECT_LE(ShareOf(*first) + ShareOf(*second), 1);
  server.Continue();
  EXPECT_TRUE(Eventually([&] { return InForce(*first) && InForce(*second); }));
}

TEST(PostgresShareStoreTest, TheGatewaysRoleCanOnlyRenewAndRelease) {
  const PostgresAddress owner = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  SharedServer(kVersion).Sql("CREATE ROLE sharer LOGIN");
  PostgresAddress gateway = owner;
  gateway.user = "sharer";
  const std::unique_ptr<ShareStore> before = MakePostgresShareStore(gateway);
  EXPECT_EQ(before->Renew(Renewal("a", 1, 0, 7)).status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(GrantStore(*PostgresConnection::Open(owner).value(), owner.schema, "sharer", StepsOfThisProgram()),
            absl::OkStatus());
  const std::unique_ptr<ShareStore> store = MakePostgresShareStore(gateway);
  EXPECT_THAT(store->Renew(Renewal("a", 1, 0, 7))->granted, ElementsAre(7));
  EXPECT_EQ(store->Release("a"), absl::OkStatus());
  const std::unique_ptr<PostgresConnection> connection = PostgresConnection::Open(gateway).value();
  for (const char* sql : {"DELETE FROM replicas", "UPDATE quotas SET taken = 0", "TRUNCATE replicas"}) {
    EXPECT_EQ(connection->Run({{sql}}).status().code(), absl::StatusCode::kFailedPrecondition) << sql;
  }
}

TEST(PostgresShareStoreTest, AStoreWithoutTablesIsRefused) {
  const absl::Status status =
      MakePostgresShareStore(SharedServer(kVersion).address("empty"))->Renew(Renewal("a", 1, 0, 7)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("stampgate store migrate"));
}

}  // namespace
}  // namespace stampgate
