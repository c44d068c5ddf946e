#include "gateway/audit/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "base/disk/page_cache.h"
#include "gateway/audit/testing.h"

namespace stampgate {
namespace {

using Call = FaultyCalls::Call;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr absl::StatusCode kUnavailable = absl::StatusCode::kUnavailable;

class AuditFileTest : public ::testing::Test {
 protected:
  AuditFileTest() : path_(NewFolder() + "audit.log") { WriteTestFile(path_, ""); }

  void Open(const std::string& content = "one\n") {
    WriteTestFile(path_, content);
    file_ = AuditFile::Open(path_, calls_).value();
    ASSERT_TRUE(file_->CutTo(file_->size()).ok());
  }
  std::string Content() const { return ReadTestFile(path_); }

  const std::string path_;
  FaultyCalls calls_;
  std::unique_ptr<AuditFile> file_;
};

TEST_F(AuditFileTest, AppendWritesAndSyncs) {
  Open();
  const int syncs = calls_.calls(Call::kSync);
  ASSERT_TRUE(file_->Append("two\nthree\n").ok());
  EXPECT_EQ(calls_.calls(Call::kSync), syncs + 1);
  EXPECT_EQ(Content(), "one\ntwo\nthree\n");
  EXPECT_EQ(file_->size(), 14);
}

TEST_F(AuditFileTest, CutToTruncatesTheFile) {
  WriteTestFile(path_, "one\ntw");
  file_ = AuditFile::Open(path_, calls_).value();
  EXPECT_EQ(file_->size(), 6);
  ASSERT_TRUE(file_->CutTo(4).ok());
  ASSERT_TRUE(file_->Append("two\n").ok());
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(AuditFileTest, AppendContinuesAfterShortWritesAndSignals) {
  Open();
  calls_.WriteAtMost(3);
  calls_.Fail(Call::kWrite, EINTR, 2, 1);
  ASSERT_TRUE(file_->Append("0123456789\n").ok());
  EXPECT_EQ(Content(), "one\n0123456789\n");
}

TEST_F(AuditFileTest, AppendRemovesAPartialWrite) {
  for (const int error : {ENOSPC, EDQUOT, EIO, EROFS}) {
    for (int nth = 1; nth <= 4; ++nth) {
      Open();
      calls_.WriteAtMost(3);
      calls_.Fail(Call::kWrite, error, nth);
      const absl::Status status = file_->Append("0123456789\n");
      EXPECT_EQ(status.code(), kUnavailable);
      EXPECT_TRUE(absl::StrContains(status.message(), std::strerror(error))) << status;
      EXPECT_EQ(Content(), "one\n") << nth;
      EXPECT_EQ(file_->size(), 4);
      calls_.Mend();
      ASSERT_TRUE(file_->Append("two\n").ok());
      EXPECT_EQ(Content(), "one\ntwo\n") << nth;
    }
  }
}

TEST_F(AuditFileTest, AFailedSyncIsNotRetriedForTheSameBytes) {
  Open();
  calls_.Fail(Call::kSync, EIO, 1, 1);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  // After the failed sync, the file was truncated and synced again.
  EXPECT_EQ(Content(), "one\n");
  EXPECT_EQ(file_->size(), 4);
  ASSERT_TRUE(file_->Append("three\n").ok());
  EXPECT_EQ(Content(), "one\nthree\n");
}

TEST_F(AuditFileTest, AppendWritesNothingUntilTheTruncationIsSynced) {
  Open();
  calls_.Fail(Call::kSync, EIO);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  const int writes = calls_.calls(Call::kWrite);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  EXPECT_EQ(calls_.calls(Call::kWrite), writes);
  calls_.Mend();
  ASSERT_TRUE(file_->Append("three\n").ok());
  EXPECT_EQ(Content(), "one\nthree\n");
}

TEST_F(AuditFileTest, AppendRetriesAFailedTruncationBeforeItWrites) {
  Open();
  calls_.Fail(Call::kWrite, ENOSPC);
  calls_.Fail(Call::kTruncate, EIO);
  EXPECT_EQ(file_->Append("0123456789\n").code(), kUnavailable);
  EXPECT_EQ(Content(), "one\n01234");
  calls_.Mend();
  ASSERT_TRUE(file_->Append("two\n").ok());
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(AuditFileTest, AppendFailsForGoodIfTheDiskHasLostDurableBytes) {
  Open();
  calls_.Fail(Call::kSync, EIO);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  WriteTestFile(path_, "onX\n");
  calls_.Mend();
  EXPECT_EQ(file_->Append("three\n").code(), kDataLoss);
  WriteTestFile(path_, "one\n");
  EXPECT_EQ(file_->Append("three\n").code(), kDataLoss);
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(AuditFileTest, AppendFailsForGoodIfAnotherProcessChangesTheFile) {
  for (const char* content : {"on", "", "one\ntwo\n"}) {
    Open();
    WriteTestFile(path_, content);
    EXPECT_EQ(file_->Append("three\n").code(), kDataLoss) << content;
    EXPECT_EQ(Content(), content);
  }
}

TEST_F(AuditFileTest, AppendFailsForGoodIfTheFileIsTooShortAfterAFailedSync) {
  Open("one\ntwo\n");
  calls_.Fail(Call::kTruncate, EIO, 1, 1);
  calls_.Fail(Call::kWrite, ENOSPC, 1, 1);
  EXPECT_EQ(file_->Append("three\n").code(), kUnavailable);
  ASSERT_EQ(truncate(path_.c_str(), 4), 0);
  EXPECT_EQ(file_->Append("three\n").code(), kDataLoss);
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(AuditFileTest, AppendFailsForGoodIfTheFileIsRemovedOrRenamed) {
  Open();
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_EQ(file_->Append("two\n").code(), kDataLoss);
  Open();
  ASSERT_EQ(rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  EXPECT_EQ(file_->Append("two\n").code(), kDataLoss);
  EXPECT_FALSE(Exists(path_));
}

TEST_F(AuditFileTest, StartAnewContinuesInANewFile) {
  Open();
  ASSERT_TRUE(file_->StartAnew(path_ + ".1", "first\n").ok());
  EXPECT_EQ(file_->size(), 6);
  ASSERT_TRUE(file_->Append("second\n").ok());
  EXPECT_EQ(Content(), "first\nsecond\n");
  EXPECT_EQ(ReadTestFile(path_ + ".1"), "one\n");
  EXPECT_FALSE(Exists(path_ + ".next"));
  EXPECT_EQ(calls_.calls(Call::kSyncFolder), 2);
  // After a failed sync, Append compares the end of the new file with the disk.
  calls_.Fail(Call::kSync, EIO, 1, 1);
  EXPECT_EQ(file_->Append("third\n").code(), kUnavailable);
  ASSERT_TRUE(file_->Append("third\n").ok());
  EXPECT_EQ(Content(), "first\nsecond\nthird\n");
}

TEST_F(AuditFileTest, AFailedStartAnewLeavesTheOldFileInUse) {
  for (const Call call : {Call::kOpen, Call::kWrite, Call::kSync, Call::kLink, Call::kSyncFolder, Call::kRename}) {
    Open();
    calls_.Fail(call, ENOSPC, 1, 1);
    EXPECT_EQ(file_->StartAnew(path_ + ".1", "first\n").code(), kUnavailable);
    EXPECT_FALSE(Exists(path_ + ".next"));
    ASSERT_TRUE(file_->Append("two\n").ok());
    EXPECT_EQ(Content(), "one\ntwo\n");
    // StartAnew succeeds, even if the failed attempt has already given the old file its second name.
    ASSERT_TRUE(file_->StartAnew(path_ + ".1", "first\n").ok());
    EXPECT_EQ(ReadTestFile(path_ + ".1"), "one\ntwo\n");
    EXPECT_EQ(Content(), "first\n");
    ASSERT_EQ(unlink((path_ + ".1").c_str()), 0);
  }
}

TEST_F(AuditFileTest, StartAnewDoesNotReplaceAnotherFileAtTheOldPath) {
  Open();
  WriteTestFile(path_ + ".1", "precious");
  EXPECT_EQ(file_->StartAnew(path_ + ".1", "first\n").code(), kUnavailable);
  EXPECT_EQ(ReadTestFile(path_ + ".1"), "precious");
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(AuditFileTest, StartAnewFirstRemovesThePartOfAFailedAppend) {
  Open();
  calls_.Fail(Call::kWrite, ENOSPC, 1, 1);
  calls_.Fail(Call::kTruncate, EIO, 1, 1);
  EXPECT_EQ(file_->Append("0123456789\n").code(), kUnavailable);
  EXPECT_EQ(Content(), "one\n01234");
  ASSERT_TRUE(file_->StartAnew(path_ + ".1", "first\n").ok());
  EXPECT_EQ(ReadTestFile(path_ + ".1"), "one\n");
  EXPECT_EQ(Content(), "first\n");
}

TEST_F(AuditFileTest, AppendFailsForGoodIfTheFolderCannotBeSynced) {
  Open();
  calls_.Fail(Call::kSyncFolder, EIO, 2, 1);
  EXPECT_EQ(file_->StartAnew(path_ + ".1", "first\n").code(), kDataLoss);
  EXPECT_EQ(file_->Append("second\n").code(), kDataLoss);
  EXPECT_EQ(Content(), "first\n");
  EXPECT_EQ(ReadTestFile(path_ + ".1"), "one\n");
}

TEST_F(AuditFileTest, AppendRetriesARepairThatCannotReadTheDisk) {
  Open();
  calls_.Fail(Call::kSync, EIO, 1, 1);
  calls_.Fail(Call::kDropPages, EIO, 1, 1);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  const int writes = calls_.calls(Call::kWrite);
  calls_.Fail(Call::kDropPages, EIO, 1, 1);
  EXPECT_EQ(file_->Append("two\n").code(), kUnavailable);
  EXPECT_EQ(calls_.calls(Call::kWrite), writes);
  ASSERT_TRUE(file_->Append("two\n").ok());
  EXPECT_EQ(Content(), "one\ntwo\n");
}

// Simulates a disk and its page cache. The file of the test has the content of the page cache.
class CachedDisk : public FileCalls {
 public:
  explicit CachedDisk(std::string path) : path_(std::move(path)) {}

  std::string disk;  // the content of the disk
  // If true, the page cache marks unwritten pages as clean, as it does after a failed sync.
  bool falsely_clean = false;

  int Sync(int) override {
    if (!falsely_clean) disk = ReadTestFile(path_);
    return 0;
  }
  int DropPages(int, off_t) override {
    WriteTestFile(path_, disk);
    return 0;
  }

 private:
  const std::string path_;
};

TEST_F(AuditFileTest, OpenReadsTheDiskAndNotThePageCache) {
  CachedDisk calls(path_);
  WriteTestFile(path_, "one\ntwo\n");
  calls.disk = "one\n";
  calls.falsely_clean = true;
  EXPECT_EQ(AuditFile::Open(path_, calls).value()->size(), 4);
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(AuditFileTest, OpenSyncsTheWritesOfAnEarlierProcess) {
  CachedDisk calls(path_);
  WriteTestFile(path_, "one\ntwo\n");
  calls.disk = "one\n";
  EXPECT_EQ(AuditFile::Open(path_, calls).value()->size(), 8);
  EXPECT_EQ(Content(), "one\ntwo\n");
  EXPECT_EQ(calls.disk, "one\ntwo\n");
}

TEST_F(AuditFileTest, OpenFailsIfPagesCannotBeSyncedOrDropped) {
  for (const Call call : {Call::kSync, Call::kDropPages}) {
    calls_.Fail(call, EIO, 1, 1);
    const absl::Status status = AuditFile::Open(path_, calls_).status();
    EXPECT_EQ(status.code(), kUnavailable);
    EXPECT_TRUE(absl::StrContains(status.message(), std::strerror(EIO))) << status;
    EXPECT_TRUE(AuditFile::Open(path_, calls_).ok());
  }
}

TEST_F(AuditFileTest, OpenDoesNotFollowASymbolicLink) {
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(symlink("/dev/null", path_.c_str()), 0);
  EXPECT_EQ(AuditFile::Open(path_, calls_).status().code(), kUnavailable);
}

// The system drops only pages that the disk has: a page that was not synced would stay.
TEST(SystemFileCallsTest, OpeningSyncsTheFileAndDropsItFromThePageCache) {
  const std::string folder = NewFolder();
  if (!CanDropPages(folder)) GTEST_SKIP() << "the file system of " << folder << " drops no pages on request";
  const std::string path = folder + "audit.log";
  const std::string other = folder + "other";
  WriteUnsyncedFile(path);
  WriteUnsyncedFile(other);
  EXPECT_GT(CachedPages(path), 0u);
  ASSERT_TRUE(AuditFile::Open(path, FileCalls::System()).ok());
  EXPECT_EQ(CachedPages(path), 0u);
  EXPECT_GT(CachedPages(other), 0u) << "a file that was not opened left the page cache too";
}

}  // namespace
}  // namespace stampgate
