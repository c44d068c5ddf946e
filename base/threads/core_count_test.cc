#include "base/threads/core_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace stampgate {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

class CoreCountTest : public testing::Test {
 protected:
  CoreCountTest() { fs::remove_all(root_); }

  // Returns the number of cores of a machine with eight cores, for a process in the group /a/b.
  size_t Count() {
    Write(root_ + "/membership", "1:cpu:/of/version/1\n0::/a/b\n");
    return CoreCountInGroup(8, root_, root_ + "/membership");
  }

  const std::string root_ = testing::TempDir() + "/core_count_test";
};

TEST_F(CoreCountTest, WithoutAQuotaAllCoresCount) {
  EXPECT_EQ(Count(), 8u);
  Write(root_ + "/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(Count(), 8u);
}

TEST_F(CoreCountTest, AQuotaLimitsTheCores) {
  Write(root_ + "/a/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(Count(), 3u);
}

TEST_F(CoreCountTest, APartOfACoreCountsAsACore) {
  Write(root_ + "/a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(Count(), 3u);
  Write(root_ + "/a/b/cpu.max", "25000 100000\n");
  EXPECT_EQ(Count(), 1u);
}

TEST_F(CoreCountTest, AQuotaAboveTheNumberOfCoresLimitsNothing) {
  Write(root_ + "/a/b/cpu.max", "99900000 100000\n");
  EXPECT_EQ(Count(), 8u);
}

TEST_F(CoreCountTest, TheSmallestQuotaOfAllGroupsAboveCounts) {
  Write(root_ + "/a/b/cpu.max", "max 100000\n");
  Write(root_ + "/a/cpu.max", "200000 100000\n");
  Write(root_ + "/cpu.max", "400000 100000\n");
  EXPECT_EQ(Count(), 2u);
  fs::remove(root_ + "/a/cpu.max");
  EXPECT_EQ(Count(), 4u);
}

TEST_F(CoreCountTest, AProcessInTheRootOfItsNamespaceReadsTheQuotaOfTheRoot) {
  Write(root_ + "/cpu.max", "100000 100000\n");
  Write(root_ + "/membership", "0::/\n");
  EXPECT_EQ(CoreCountInGroup(8, root_, root_ + "/membership"), 1u);
}

TEST_F(CoreCountTest, FilesThatCannotBeReadLimitNothing) {
  EXPECT_EQ(CoreCountInGroup(8, root_, root_ + "/no_such_file"), 8u);
  for (const std::string text : {"", "many 100000", "-1 100000", "100000 0", "nan nan"}) {
    Write(root_ + "/a/b/cpu.max", text);
    EXPECT_EQ(Count(), 8u) << text;
  }
}

TEST(CoreCountOfThisProcessTest, TheAffinityMaskLimitsTheCores) {
  size_t count = 0;
  std::thread([&count] {
    cpu_set_t core;
    sched_getaffinity(0, sizeof(core), &core);
    for (int i = 0, kept = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &core) && kept++ > 0) CPU_CLR(i, &core);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(core), &core), 0);
    count = CoreCount();
  }).join();
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace stampgate
