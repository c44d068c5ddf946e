#include "gateway/process/free_memory.h"

#include <gperftools/malloc_extension_c.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gateway/process/usage.h"

namespace stampgate {
namespace {

// The sanitizers replace the heap of tcmalloc.
#ifndef STAMPGATE_SANITIZED
TEST(FreeMemoryTest, KeepsALittleFreeMemory) {
  constexpr size_t kBlockBytes = 10'000;
  constexpr size_t kBlocks = kKeptFreeBytes / 2 / kBlockBytes;
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::vector<char>>(kBlockBytes, 'x'));
  const std::unique_ptr<std::vector<char>> last = std::move(blocks.back());
  blocks.clear();
  const double freed = ReadProcessUsage().resident_bytes;
  ReturnFreeMemory();
  EXPECT_GT(ReadProcessUsage().resident_bytes, freed - 1'000'000);
}

TEST(FreeMemoryTest, LimitsTheCachesOfThreads) {
  LimitThreadCaches();
  size_t most = 0;
  EXPECT_TRUE(MallocExtension_GetNumericProperty("tcmalloc.max_total_thread_cache_bytes", &most));
  EXPECT_EQ(most, kThreadCacheBytes);
}

TEST(FreeMemoryTest, ReturnsTheMemoryOfManyFreedBlocksToTheSystem) {
  constexpr size_t kBlockBytes = 10'000;
  constexpr size_t kBlocks = 20'000;
  constexpr double kAllBytes = kBlockBytes * kBlocks;
  const double before = ReadProcessUsage().resident_bytes;
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::vector<char>>(kBlockBytes, 'x'));
  blocks.clear();
  EXPECT_GT(ReadProcessUsage().resident_bytes - before, kAllBytes / 2) << "tcmalloc has returned the memory by itself";
  ReturnFreeMemory();
  EXPECT_LT(ReadProcessUsage().resident_bytes - before, kAllBytes / 10);
}
#endif

}  // namespace
}  // namespace stampgate
