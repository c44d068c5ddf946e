#include "gateway/process/free_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gateway/process/usage.h"

namespace stampgate {
namespace {

// The sanitizers replace the heap of glibc.
#ifndef STAMPGATE_SANITIZED
// The first test, because glibc counts memory as free also after it was returned to the system.
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

TEST(FreeMemoryTest, ReturnsTheMemoryOfManyFreedBlocksToTheSystem) {
  constexpr size_t kBlockBytes = 10'000;
  constexpr size_t kBlocks = 20'000;
  constexpr double kAllBytes = kBlockBytes * kBlocks;
  const double before = ReadProcessUsage().resident_bytes;
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::vector<char>>(kBlockBytes, 'x'));
  // The last block stays, so that glibc cannot return the memory before it by itself.
  const std::unique_ptr<std::vector<char>> last = std::move(blocks.back());
  blocks.clear();
  EXPECT_GT(ReadProcessUsage().resident_bytes - before, kAllBytes / 2) << "glibc has returned the memory by itself";
  ReturnFreeMemory();
  EXPECT_LT(ReadProcessUsage().resident_bytes - before, kAllBytes / 10);
}
#endif

}  // namespace
}  // namespace stampgate
