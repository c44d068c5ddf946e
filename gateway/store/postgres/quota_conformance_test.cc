// The tests that every store of quotas passes: the ones in memory, in a SQLite file, and on a PostgreSQL server.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/postgres/connection.h"
#include "base/postgres/schema.h"
#include "base/postgres/test_server.h"
#include "gateway/shares/memory_quota_store.h"
#include "gateway/shares/quota_blocks.h"
#include "gateway/shares/quota_store.h"
#include "gateway/store/postgres/postgres_quota_store.h"
#include "gateway/store/postgres/store_tables.h"
#include "gateway/store/sqlite/sqlite_quota_store.h"

namespace stampgate {
namespace {

enum class Kind { kMemory, kSqlite, kPostgres15, kPostgres18 };

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
const absl::Duration kDay = absl::Hours(24);

// A temporary folder.
class Folder {
 public:
  Folder() : path_(absl::StrCat(testing::TempDir(), "/quotas-XXXXXX")) { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class QuotaStoreTest : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<QuotaStore> Make() {
    const auto now = [this] { return absl::FromUnixMicros(now_us_); };
    if (GetParam() == Kind::kMemory) return MakeMemoryQuotaStore(now);
    if (GetParam() == Kind::kSqlite) {
      return OpenSqliteQuotaStore({.path = folder_.path() + "/quotas.db", .now = now}).value();
    }
    const PostgresVersion version = GetParam() == Kind::kPostgres15 ? PostgresVersion::k15 : PostgresVersion::k18;
    return MakePostgresQuotaStore({SharedServer(version).NewStore(StepsOfThisProgram()), now});
  }
  void Pass(absl::Duration time) { now_us_ += absl::ToInt64Microseconds(time); }
  absl::Time now() const { return absl::FromUnixMicros(now_us_); }

  int64_t Take(const QuotaLimit& limit, int64_t wanted) {
    last_ = store_->Take(limit, wanted);
    EXPECT_TRUE(last_.ok()) << last_.status();
    return last_.ok() ? last_->calls : -1;
  }
  // Takes calls until none is left.
  int64_t TakeAll(const QuotaLimit& limit) {
    int64_t all = 0;
    while (const int64_t calls = Take(limit, limit.calls)) all += calls;
    return all;
  }

  const Folder folder_;
  std::atomic<int64_t> now_us_ = absl::ToUnixMicros(kStart);
  std::unique_ptr<QuotaStore> store_ = Make();
  absl::StatusOr<QuotaBlock> last_ = absl::UnknownError("none");
};

std::string NameOf(const testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::kMemory:
      return "Memory";
    case Kind::kSqlite:
      return "Sqlite";
    case Kind::kPostgres15:
      return "Postgres15";
    case Kind::kPostgres18:
      return "Postgres18";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(AllEngines, QuotaStoreTest,
                         testing::Values(Kind::kMemory, Kind::kSqlite, Kind::kPostgres15, Kind::kPostgres18), NameOf);

TEST_P(QuotaStoreTest, GivesTheCallsOfAQuotaOnce) {
  const QuotaLimit limit{"a", kDay, 100};
  EXPECT_EQ(Take(limit, 5), 5);
  EXPECT_EQ(Take(limit, 1000), 12) << "an eighth of the rest";
  EXPECT_EQ(TakeAll(limit), 83);
  EXPECT_EQ(Take(limit, 1), 0);
  EXPECT_EQ(TakeAll({"b", kDay, 7}), 7) << "another quota";
  EXPECT_EQ(TakeAll({"a", absl::Hours(1), 7}), 7) << "another window";
  EXPECT_EQ(TakeAll({"a", kDay, 110}), 10) << "a larger limit";
  EXPECT_EQ(TakeAll({"a", kDay, 50}), 0) << "a smaller limit";
}

TEST_P(QuotaStoreTest, CallsReturnWhenTheirPartLeavesTheWindow) {
  const QuotaLimit limit{"a", kDay, 100};
  EXPECT_EQ(TakeAll(limit), 100);
  Pass(kDay);
  EXPECT_EQ(Take(limit, 1), 0) << "a call of the end of the part is not older than a day";
  Pass(kDay / QuotaLimit::kParts);
  EXPECT_EQ(TakeAll(limit), 100);
  Pass(kDay + kDay / QuotaLimit::kParts);
  EXPECT_EQ(Take(limit, 10), 10);
  Pass(absl::Hours(1));
  EXPECT_EQ(TakeAll(limit), 90);
  Pass(kDay - absl::Minutes(45));
  EXPECT_EQ(TakeAll(limit), 10);
}

TEST_P(QuotaStoreTest, ABlockEndsWithItsPart) {
  const QuotaLimit limit{"a", kDay, 100};
  Take(limit, 1);
  EXPECT_GT(last_->left, absl::ZeroDuration());
  EXPECT_LE(last_->left, kDay / QuotaLimit::kParts);
  const absl::Duration left = last_->left;
  const int64_t part = last_->part;
  Pass(left - absl::Microseconds(1));
  Take(limit, 1);
  EXPECT_EQ(last_->part, part);
  EXPECT_EQ(last_->left, absl::Microseconds(1));
  Pass(absl::Microseconds(1));
  Take(limit, 1);
  EXPECT_EQ(last_->part, part + 1);
}

TEST_P(QuotaStoreTest, AClockThatIsSetBackReturnsNoCall) {
  const QuotaLimit limit{"a", kDay, 100};
  EXPECT_EQ(TakeAll(limit), 100);
  const int64_t part = last_->part;
  Pass(-absl::Hours(100));
  EXPECT_EQ(Take(limit, 1), 0);
  EXPECT_EQ(last_->part, part);
  EXPECT_GT(last_->left, absl::Hours(99));
}

TEST_P(QuotaStoreTest, ReturnedCallsCanBeTakenAgain) {
  const QuotaLimit limit{"a", kDay, 100};
  EXPECT_EQ(TakeAll(limit), 100);
  const int64_t part = last_->part;
  EXPECT_EQ(store_->Return(limit, part, 30), absl::OkStatus());
  EXPECT_EQ(store_->Return(limit, part - 1, 30), absl::OkStatus()) << "a part without calls";
  EXPECT_EQ(store_->Return({"b", kDay, 100}, part, 30), absl::OkStatus());
  EXPECT_EQ(TakeAll(limit), 30);
}

// The calls of three replicas, two of which die again and again with a block, in any interval of a window's length.
TEST_P(QuotaStoreTest, ReplicasThatDieNeverExceedAQuota) {
  const QuotaLimit limit{"a", kDay, 2000};
  std::mt19937 random(3);
  const auto upto = [&random](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  struct Process {
    QuotaBlocks blocks;
    int64_t begun = 0;
  };
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(std::make_unique<Process>());
  std::map<int64_t, int64_t> begun;  // by time
  int64_t sum = 0;
  const int steps = GetParam() == Kind::kMemory ? 20'000 : 400;
  for (int step = 0; step < steps; ++step) {
    Pass(absl::Seconds(upto(GetParam() == Kind::kMemory ? 120 : 600)));
    const auto place = static_cast<size_t>(upto(2));
    if (upto(200) == 0 && place > 0) processes[place] = std::make_unique<Process>();
    Process& process = *processes[place];
    const int64_t waiting = upto(30);
    ASSERT_TRUE(process.blocks.Refill({{limit, process.begun, waiting}}, *store_, now()).ok());
    const int64_t calls = std::min(waiting, process.blocks.held()->Find("a", kDay).Left(process.begun, now()));
    process.begun += calls;
    begun[now_us_] += calls;
    sum += calls;
    while (begun.begin()->first <= now_us_ - absl::ToInt64Microseconds(kDay)) {
      sum -= begun.begin()->second;
      begun.erase(begun.begin());
    }
    ASSERT_LE(sum, limit.calls) << step;
  }
  EXPECT_GT(sum, limit.calls * 3 / 4) << "the test uses the quota";
}

class PostgresQuotaStoreTest : public testing::Test {
 protected:
  static constexpr auto kVersion = PostgresVersion::k18;
};

TEST_F(PostgresQuotaStoreTest, GatewaysTakeTheCallsOfAQuotaOnceInARace) {
  const PostgresAddress address = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  std::atomic<int64_t> all = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const std::unique_ptr<QuotaStore> store = MakePostgresQuotaStore({address, nullptr});
      for (;;) {
        const absl::StatusOr<QuotaBlock> block = store->Take({"a", kDay, 300}, 3);
        ASSERT_TRUE(block.ok()) << block.status();
        if (block->calls == 0) return;
        all += block->calls;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all, 300);
}

TEST_F(PostgresQuotaStoreTest, AServerThatIsKilledForgetsNoTakenCall) {
  TestPostgres server(kVersion);
  const PostgresAddress address = server.NewStore(StepsOfThisProgram());
  const std::unique_ptr<QuotaStore> store = MakePostgresQuotaStore({address, nullptr});
  EXPECT_EQ(store->Take({"a", kDay, 1}, 1)->calls, 1);
  server.Kill();
  EXPECT_FALSE(store->Take({"a", kDay, 1}, 1).ok());
  server.Start();
  EXPECT_TRUE(Eventually([&] { return store->Take({"a", kDay, 1}, 1).ok(); }));
  EXPECT_EQ(store->Take({"a", kDay, 1}, 1)->calls, 0);
}

TEST_F(PostgresQuotaStoreTest, RequiresASynchronousStandbyUnlessTheConfigAllowsASingleServer) {
  PostgresAddress address = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  address.allow_single_server = false;
  EXPECT_EQ(MakePostgresQuotaStore({address, nullptr})->Take({"a", kDay, 1}, 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(PostgresQuotaStoreTest, OldPartsAreDeleted) {
  const PostgresAddress address = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  absl::Time now = kStart;
  const std::unique_ptr<QuotaStore> store = MakePostgresQuotaStore({address, [&now] { return now; }});
  for (int i = 0; i < 150; ++i) {
    EXPECT_TRUE(store->Take({absl::StrCat("quota-", i % 3), kDay, 10}, 1).ok());
    now += absl::Minutes(30);
  }
  const auto rows = [&] {
    return std::stoi(SharedServer(kVersion).Sql("SELECT count(*) FROM quotas", address.schema));
  };
  EXPECT_LE(rows(), 50);
  now += absl::Hours(48);
  EXPECT_TRUE(store->Take({"other", kDay, 10}, 1).ok());
  EXPECT_EQ(rows(), 1);
}

TEST_F(PostgresQuotaStoreTest, TheGatewaysRoleCanTakeAndReturn) {
  const PostgresAddress owner = SharedServer(kVersion).NewStore(StepsOfThisProgram());
  SharedServer(kVersion).Sql("CREATE ROLE taker LOGIN");
  ASSERT_EQ(GrantStore(*PostgresConnection::Open(owner).value(), owner.schema, "taker", StepsOfThisProgram()),
            absl::OkStatus());
  PostgresAddress gateway = owner;
  gateway.user = "taker";
  const std::unique_ptr<QuotaStore> store = MakePostgresQuotaStore({gateway, nullptr});
  const absl::StatusOr<QuotaBlock> block = store->Take({"a", kDay, 1}, 1);
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(store->Return({"a", kDay, 1}, block->part, 1), absl::OkStatus());
  EXPECT_EQ(store->Take({"a", kDay, 1}, 1)->calls, 1);
}

}  // namespace
}  // namespace stampgate
