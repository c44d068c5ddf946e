// The tests that every store of shares passes: the one in memory, which the other tests use, and the one on a
// PostgreSQL server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/postgres/holder_secret.h"
#include "base/postgres/test_server.h"
#include "gateway/shares/memory_share_store.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/share_store.h"
#include "gateway/store/postgres/postgres_share_store.h"
#include "gateway/store/postgres/store_tables.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Kind { kMemory, kPostgres15, kPostgres18 };

// One store, to which each replica has a connection.
class Engine {
 public:
  explicit Engine(Kind kind) {
    if (kind == Kind::kMemory) return;
    const TestPostgres& server = SharedServer(kind == Kind::kPostgres15 ? PostgresVersion::k15 : PostgresVersion::k18);
    address_ = server.NewStore(StepsOfThisProgram());
    // The replicas of the tests are silent at once.
    server.Sql("UPDATE bounds SET replica_lasts_us = 0", address_.schema);
  }
  // What the others see of a replica.
  std::string NameOf(const std::string& replica) const {
    return address_.schema.empty() ? replica : HolderNameOf(replica);
  }
  std::unique_ptr<ShareStore> Connect() {
    return address_.schema.empty() ? ConnectToMemory(memory_, lost_) : MakePostgresShareStore(address_);
  }

 private:
  PostgresAddress address_ = EmptyAddress();
  MemoryShares memory_;
  const bool lost_ = false;

  static PostgresAddress EmptyAddress() {
    PostgresAddress address;
    address.schema.clear();
    return address;
  }
};

class ShareStoreTest : public testing::TestWithParam<Kind> {
 protected:
  static ShareRenewal Renewal(const std::string& replica, int64_t number, Millionths used, Millionths asked) {
    return {replica, number, {{"x", used, asked}}, {{"x", {{"caller", 2, 500}}}}, {}};
  }
  std::vector<Millionths> Grants(const ShareRenewal& renewal) {
    const absl::StatusOr<ShareAnswer> answer = store_->Renew(renewal);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->granted : std::vector<Millionths>();
  }

  Engine engine_{GetParam()};
  std::unique_ptr<ShareStore> store_ = engine_.Connect();
};

std::string NameOf(const testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::kMemory ? "Memory" : info.param == Kind::kPostgres15 ? "Postgres15" : "Postgres18";
}

INSTANTIATE_TEST_SUITE_P(AllEngines, ShareStoreTest,
                         testing::Values(Kind::kMemory, Kind::kPostgres15, Kind::kPostgres18), NameOf);

TEST_P(ShareStoreTest, GrantsWhatIsFree) {
  EXPECT_THAT(Grants(Renewal("a", 1, 0, 700'000)), ElementsAre(700'000));
  EXPECT_THAT(Grants(Renewal("b", 1, 0, 700'000)), ElementsAre(300'000));
  EXPECT_THAT(Grants(Renewal("c", 1, 0, 700'000)), ElementsAre(0));
}

TEST_P(ShareStoreTest, AShareThatBecomesSmallerIsFreeOnlyAfterItsReplicaHasConfirmedThis) {
  EXPECT_THAT(Grants(Renewal("a", 1, 0, kWhole)), ElementsAre(kWhole));
  EXPECT_THAT(Grants(Renewal("a", 2, kWhole, 400'000)), ElementsAre(400'000));
  EXPECT_THAT(Grants(Renewal("b", 1, 0, kWhole)), ElementsAre(0));
  EXPECT_THAT(Grants(Renewal("a", 3, 400'000, 400'000)), ElementsAre(400'000));
  EXPECT_THAT(Grants(Renewal("b", 2, 0, kWhole)), ElementsAre(600'000));
}

// The replica did not get the answer that granted it a share, or got it and lost the next one.
TEST_P(ShareStoreTest, AGrantCountsUntilTheReplicaStatesThatItUsesLess) {
  EXPECT_THAT(Grants(Renewal("a", 1, 0, 800'000)), ElementsAre(800'000));
  EXPECT_THAT(Grants(Renewal("b", 1, 0, kWhole)), ElementsAre(200'000));
  EXPECT_THAT(Grants(Renewal("a", 2, 0, 100'000)), ElementsAre(100'000));
  EXPECT_THAT(Grants(Renewal("b", 2, 200'000, kWhole)), ElementsAre(900'000));
}

TEST_P(ShareStoreTest, CountsSharesThatItHasNotGranted) {
  EXPECT_THAT(Grants(Renewal("a", 1, 600'000, 600'000)), ElementsAre(600'000));
  EXPECT_THAT(Grants(Renewal("b", 1, 700'000, 700'000)), ElementsAre(400'000));
  EXPECT_THAT(Grants(Renewal("c", 1, 0, kWhole)), ElementsAre(0));
  EXPECT_THAT(Grants(Renewal("b", 2, 400'000, 700'000)), ElementsAre(400'000));
}

TEST_P(ShareStoreTest, ALaterRenewalIsNotUndone) {
  EXPECT_THAT(Grants(Renewal("a", 2, 0, kWhole)), ElementsAre(kWhole));
  EXPECT_EQ(store_->Renew(Renewal("a", 1, 0, 0)).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(store_->Renew(Renewal("a", 2, 0, 0)).status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Grants(Renewal("b", 1, 0, kWhole)), ElementsAre(0));
}

TEST_P(ShareStoreTest, ASilentReplicaLosesItsShareUnlessItHasMadeALaterRenewal) {
  Grants(Renewal("a", 1, 0, kWhole));
  Grants(Renewal("a", 2, kWhole, kWhole));
  ShareRenewal renewal = Renewal("b", 1, 0, kWhole);
  renewal.silent = {{engine_.NameOf("a"), 1}, {"nobody", 7}};
  EXPECT_THAT(Grants(renewal), ElementsAre(0));
  renewal.number = 2;
  renewal.silent = {{engine_.NameOf("a"), 2}};
  EXPECT_THAT(Grants(renewal), ElementsAre(kWhole));
}

TEST_P(ShareStoreTest, AReplicaThatReleasesItsSharesIsGone) {
  Grants(Renewal("a", 1, 0, kWhole));
  EXPECT_EQ(store_->Release("a"), absl::OkStatus());
  EXPECT_EQ(store_->Release("a"), absl::OkStatus());
  const absl::StatusOr<ShareAnswer> answer = store_->Renew(Renewal("b", 1, 0, kWhole));
  EXPECT_THAT(answer->granted, ElementsAre(kWhole));
  EXPECT_THAT(answer->others, IsEmpty());
}

TEST_P(ShareStoreTest, ReturnsTheDemandOfTheOtherReplicas) {
  const std::string bytes("\0 a'\xff{,}", 8);
  ShareRenewal renewal;
  renewal.replica = bytes;
  renewal.number = 7;
  renewal.rates = {{"", 0, 5}, {"x", 0, 5}, {"y", 0, 5}};
  renewal.demand = {{"x", {{bytes, 3, 42}, {"b", INT64_MAX, INT64_MAX}}}, {"y", {}}};
  EXPECT_THAT(Grants(renewal), ElementsAre(5, 5, 5));
  EXPECT_THAT(Grants({"idle", 1, {}, {}, {}}), IsEmpty());
  const absl::StatusOr<ShareAnswer> answer = store_->Renew({"z", 1, {}, {}, {}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->others.size(), 2u);
  const ShareAnswer::Replica& other = answer->others[answer->others[0].number == 7 ? 0 : 1];
  EXPECT_EQ(other.replica, engine_.NameOf(bytes));
  EXPECT_EQ(other.number, 7);
  ASSERT_EQ(other.demand.size(), 2u);
  const RateDemand& x = other.demand[0];
  EXPECT_EQ(x.rate, "x");
  ASSERT_EQ(x.callers.size(), 2u);
  const bool sorted = x.callers[0].caller == bytes;
  EXPECT_EQ(x.callers[sorted ? 0 : 1].caller, bytes);
  EXPECT_EQ(x.callers[sorted ? 0 : 1].weight, 3);
  EXPECT_EQ(x.callers[sorted ? 0 : 1].wanted, 42);
  EXPECT_EQ(x.callers[sorted ? 1 : 0].wanted, INT64_MAX);
  EXPECT_EQ(other.demand[1].rate, "y");
  EXPECT_THAT(other.demand[1].callers, IsEmpty());
  const ShareAnswer::Replica& idle = answer->others[answer->others[0].number == 7 ? 1 : 0];
  EXPECT_EQ(idle.replica, engine_.NameOf("idle"));
  EXPECT_THAT(idle.demand, IsEmpty());
}

// The store in memory is the model.
TEST_P(ShareStoreTest, RandomRenewalsGetTheGrantsOfTheModel) {
  MemoryShares model;
  std::mt19937 random(7);
  const auto upto = [&random](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  std::map<std::string, int64_t> numbers;
  for (int step = 0; step < 400; ++step) {
    const std::string replica = absl::StrCat("replica-", upto(3));
    if (upto(30) == 0) {
      model.Release(replica);
      EXPECT_EQ(store_->Release(replica), absl::OkStatus());
      continue;
    }
    ShareRenewal renewal;
    renewal.replica = replica;
    renewal.number = upto(9) == 0 ? upto(numbers[replica]) : ++numbers[replica];
    for (const char* rate : {"", "x", "y"}) {
      if (upto(3) > 0) renewal.rates.push_back({rate, upto(400'000), upto(kWhole)});
    }
    ShareRenewal of_model = renewal;
    for (const auto& [other, number] : numbers) {
      if (other == replica || upto(5) > 0) continue;
      of_model.silent.push_back({other, number - upto(1)});
      renewal.silent.push_back({engine_.NameOf(other), of_model.silent.back().number});
    }
    const absl::StatusOr<ShareAnswer> expected = model.Renew(of_model);
    const absl::StatusOr<ShareAnswer> answer = store_->Renew(renewal);
    ASSERT_EQ(answer.status().code(), expected.status().code()) << answer.status();
    if (!answer.ok()) continue;
    ASSERT_EQ(answer->granted, expected->granted);
    std::map<std::string, int64_t> others;
    for (const ShareAnswer::Replica& other : expected->others) others[engine_.NameOf(other.replica)] = other.number;
    ASSERT_EQ(answer->others.size(), others.size());
    for (const ShareAnswer::Replica& other : answer->others) EXPECT_EQ(other.number, others[other.replica]);
  }
}

}  // namespace
}  // namespace stampgate
