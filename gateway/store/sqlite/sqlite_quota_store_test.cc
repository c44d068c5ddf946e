#include "gateway/store/sqlite/sqlite_quota_store.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/disk/power_cut.h"
#include "base/disk/test_disk.h"

namespace stampgate {
namespace {

const QuotaLimit kLimit{"a", absl::Hours(24), 1000};
constexpr char kPath[] = "/quotas.db";

absl::StatusOr<std::unique_ptr<QuotaStore>> Open(Disk& disk) {
  return OpenSqliteQuotaStore(
      {.path = kPath, .disk = &disk, .now = [] { return absl::FromUnixSeconds(1'700'000'000); }});
}

int64_t Left(QuotaStore& store) {
  int64_t left = 0;
  for (;;) {
    const absl::StatusOr<QuotaBlock> block = store.Take(kLimit, kLimit.calls);
    EXPECT_TRUE(block.ok()) << block.status();
    if (!block.ok() || block->calls == 0) return left;
    left += block->calls;
  }
}

TEST(SqliteQuotaStoreTest, ARestartForgetsNoTakenCall) {
  TestDisk disk;
  {
    const std::unique_ptr<QuotaStore> store = Open(disk).value();
    EXPECT_EQ(store->Take(kLimit, 100)->calls, 100);
  }
  EXPECT_EQ(Left(*Open(disk).value()), 900);
}

// Whatever the disk had done when the power failed, the taken calls that were reported before count.
TEST(SqliteQuotaStoreTest, APowerCutForgetsNoTakenCall) {
  TestDisk disk;
  std::vector<std::pair<size_t, int64_t>> taken;  // by the steps of the disk
  {
    const std::unique_ptr<QuotaStore> store = Open(disk).value();
    int64_t all = 0;
    for (int i = 0; i < 6; ++i) {
      all += store->Take(kLimit, 10)->calls;
      taken.emplace_back(disk.steps(), all);
    }
  }
  ASSERT_EQ(taken.back().second, 60);
  PowerCut power_cut({}, disk.history());
  std::mt19937_64 random(1);
  const size_t created = taken.front().first;
  for (size_t step = created; step <= disk.history().size(); ++step) {
    power_cut.MoveTo(step);
    int64_t reported = 0;
    for (const auto& [when, all] : taken) reported = when <= step ? all : reported;
    for (int i = 0; i < 5; ++i) {
      TestDisk after(power_cut.Cut(random));
      const absl::StatusOr<std::unique_ptr<QuotaStore>> store = Open(after);
      ASSERT_TRUE(store.ok()) << "step " << step << ": " << store.status();
      const int64_t left = Left(**store);
      EXPECT_LE(left, 1000 - reported) << "step " << step;
      EXPECT_GE(left, 1000 - reported - 10) << "step " << step;
    }
  }
}

TEST(SqliteQuotaStoreTest, OneProcessHasTheFile) {
  const std::string path = absl::StrCat(testing::TempDir(), "/one-quotas.db");
  const auto open = [&path] { return OpenSqliteQuotaStore({.path = path, .now = absl::Now}); };
  std::unique_ptr<QuotaStore> store = open().value();
  EXPECT_EQ(open().status().code(), absl::StatusCode::kFailedPrecondition);
  store = nullptr;
  EXPECT_TRUE(open().ok());
}

TEST(SqliteQuotaStoreTest, AFullDiskRefusesTakesUntilItHasSpace) {
  TestDisk disk;
  const std::unique_ptr<QuotaStore> store = Open(disk).value();
  EXPECT_EQ(store->Take(kLimit, 10)->calls, 10);
  disk.FillAtWrite(1, /*everywhere=*/true);
  EXPECT_EQ(store->Take(kLimit, 10).status().code(), absl::StatusCode::kResourceExhausted);
  disk.MakeRoom();
  EXPECT_EQ(Left(*store), 990);
}

TEST(SqliteQuotaStoreTest, AfterAFailedSyncTheStoreIsUsedOnlyWhenItIsOpenedAgain) {
  TestDisk disk;
  std::unique_ptr<QuotaStore> store = Open(disk).value();
  EXPECT_EQ(store->Take(kLimit, 10)->calls, 10);
  disk.FailSync(1);
  EXPECT_FALSE(store->Take(kLimit, 10).ok());
  EXPECT_FALSE(store->Take(kLimit, 10).ok());
  store = nullptr;
  const int64_t left = Left(*Open(disk).value());
  EXPECT_TRUE(left == 980 || left == 990) << left;
}

}  // namespace
}  // namespace stampgate
