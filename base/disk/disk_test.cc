#include "base/disk/disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/disk/page_cache.h"

namespace stampgate {
namespace {

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/disk-XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

// The system drops only pages that the disk has: a page that was not synced would stay.
TEST(SystemDiskTest, SettleSyncsAFileAndDropsItFromThePageCache) {
  const std::string folder = NewFolder();
  if (!CanDropPages(folder)) GTEST_SKIP() << "the file system of " << folder << " drops no pages on request";
  const std::string settled = folder + "/settled";
  const std::string other = folder + "/other";
  WriteUnsyncedFile(settled);
  WriteUnsyncedFile(other);
  EXPECT_GT(CachedPages(settled), 0u);
  ASSERT_TRUE(Disk::System().Settle(settled).ok());
  EXPECT_EQ(CachedPages(settled), 0u);
  EXPECT_GT(CachedPages(other), 0u) << "a file that was not settled left the page cache too";
}

TEST(SystemDiskTest, SettleIgnoresAMissingFile) { EXPECT_TRUE(Disk::System().Settle(NewFolder() + "/missing").ok()); }

TEST(SystemDiskTest, SettleReportsAFileThatCannotBeOpened) {
  const std::string folder = NewFolder();
  const absl::Status status = Disk::System().Settle(folder);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), folder + " cannot be opened: Is a directory");
}

}  // namespace
}  // namespace stampgate
