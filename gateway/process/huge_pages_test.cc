#include "gateway/process/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace stampgate {
namespace {

// The sanitizers replace the heap of tcmalloc.
#ifndef STAMPGATE_SANITIZED
// The bytes of this process's mappings that have the flag: `hg` where the kernel was advised to use huge pages, `nh`
// where it was advised not to.
size_t BytesWithFlag(std::string_view flag) {
  std::ifstream mappings("/proc/self/smaps");
  size_t mapping_kilobytes = 0;
  size_t bytes = 0;
  for (std::string line; std::getline(mappings, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "Size:") words >> mapping_kilobytes;
    if (word != "VmFlags:") continue;
    while (words >> word) {
      if (word == flag) bytes += mapping_kilobytes << 10;
    }
  }
  return bytes;
}

class HugePagesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { AdviseHugePages(); }
};

TEST_F(HugePagesTest, ASizeThatNoSystemHasIsRefused) {
  volatile size_t size = SIZE_MAX - 20'000;
  EXPECT_EQ(std::malloc(size), nullptr);
}

TEST_F(HugePagesTest, TheFirstBytesOfTheHeapHaveHugePagesAndTheOthersHaveNone) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "the kernel has no huge pages";
  std::vector<std::vector<char>> blocks;
  // A block that is larger than all huge pages together gets none, and leaves them to others.
  blocks.emplace_back(kHugeHeapBytes + 1);
  const size_t small_bytes = BytesWithFlag("hg");
  EXPECT_LE(small_bytes, kHugeHeapBytes / 8);
  EXPECT_GT(BytesWithFlag("nh"), kHugeHeapBytes);

  const auto allocate = [&](size_t bytes) {
    constexpr size_t kBlockBytes = 100'000;
    for (size_t i = 0; i < bytes / kBlockBytes; ++i) blocks.emplace_back(kBlockBytes);
  };
  allocate(kHugeHeapBytes / 4);
  EXPECT_GT(BytesWithFlag("hg"), small_bytes + kHugeHeapBytes / 8);
  EXPECT_LT(BytesWithFlag("hg"), kHugeHeapBytes / 2);
  allocate(2 * kHugeHeapBytes);
  EXPECT_EQ(BytesWithFlag("hg"), kHugeHeapBytes);
  EXPECT_GT(BytesWithFlag("nh"), 2 * kHugeHeapBytes);
}
#endif

}  // namespace
}  // namespace stampgate
