#include "base/secret/settled_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class SettledFileTest : public ::testing::Test {
 protected:
  SettledFile FileFoundAt(off_t size) {
    state_ = FileState{.target = "/f", .device = 1, .inode = 1, .size = size};
    SettledFile file("/f", SettledFile::First::kAsFound, [this](const std::string&) { return state_; });
    EXPECT_TRUE(LookAfter(milliseconds(0), file).is_new);
    EXPECT_TRUE(file.Take());
    return file;
  }

  void WriteInPlace(off_t size) {
    state_->size = size;
    state_->modified += milliseconds(1);
    state_->changed += milliseconds(1);
  }
  void Rename(off_t size) {
    WriteInPlace(size);
    ++state_->inode;
  }
  void ChangeLink(off_t size) {
    Rename(size);
    state_->target += "x";
  }

  SettledFile::Verdict LookAfter(nanoseconds time, SettledFile& file, bool asked = false) {
    now_ += std::chrono::duration_cast<SettledFile::Time::duration>(time);
    return file.Look(now_, asked);
  }
  // Returns how long the file must still wait, and takes the file if it need not wait.
  nanoseconds WaitAfter(nanoseconds time, SettledFile& file, bool asked = false) {
    const SettledFile::Verdict verdict = LookAfter(time, file, asked);
    EXPECT_EQ(verdict.is_whole, verdict.wait == nanoseconds::zero());
    if (verdict.is_new) {
      EXPECT_TRUE(file.Take());
    }
    return verdict.wait;
  }

  std::optional<FileState> state_;
  SettledFile::Time now_{};
};

constexpr nanoseconds kNow = nanoseconds::zero();

TEST_F(SettledFileTest, AFileThatDoesNotChangeIsWholeAndIsReadOnceMoreWhenItIsStill) {
  SettledFile file = FileFoundAt(100);
  EXPECT_FALSE(LookAfter(milliseconds(1999), file).is_new);
  EXPECT_TRUE(LookAfter(milliseconds(1), file).is_new);
  EXPECT_TRUE(file.Take());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(LookAfter(seconds(10), file).is_new);
  EXPECT_TRUE(LookAfter(milliseconds(0), file, /*asked=*/true).is_new) << "an operator can know more than the state";
}

TEST_F(SettledFileTest, AFileThatChangedInPlaceIsWholeAfterTwoSecondsWithoutAChange) {
  SettledFile file = FileFoundAt(100);
  WriteInPlace(95);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(1500), file), milliseconds(500));
  WriteInPlace(97);
  EXPECT_EQ(WaitAfter(milliseconds(499), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(1999), file), milliseconds(1));
  EXPECT_EQ(WaitAfter(milliseconds(1), file), kNow);
  EXPECT_FALSE(LookAfter(milliseconds(0), file).is_new);
}

TEST_F(SettledFileTest, OneLookAfterAChangeIsNeverEnough) {
  SettledFile file = FileFoundAt(100);
  LookAfter(std::chrono::hours(1), file);
  WriteInPlace(100);
  EXPECT_EQ(WaitAfter(std::chrono::hours(1), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(1999), file, /*asked=*/true), milliseconds(1)) << "not even if somebody asks";
}

// An editor can create a new file under the old name and write it later.
TEST_F(SettledFileTest, ANewFileOfTheSameNameMustAlsoStayUnchanged) {
  SettledFile file = FileFoundAt(100);
  Rename(100);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

TEST_F(SettledFileTest, AChangedLinkIsWholeAtOnce) {
  SettledFile file = FileFoundAt(100);
  ChangeLink(1);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), kNow);
  // The link stays unchanged, and the file to which it leads changes in place.
  WriteInPlace(2);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
}

TEST_F(SettledFileTest, AFileThatHasLostMoreThanATenthWaitsThirtySeconds) {
  SettledFile file = FileFoundAt(100);
  WriteInPlace(90);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow) << "a tenth";
  WriteInPlace(80);
  LookAfter(milliseconds(0), file);
  const SettledFile::Verdict verdict = LookAfter(milliseconds(2000), file);
  EXPECT_TRUE(verdict.shrank);
  EXPECT_EQ(verdict.wait, seconds(28));
  EXPECT_EQ(file.former_size(), 90);
  EXPECT_EQ(file.size(), 80);
  EXPECT_EQ(WaitAfter(milliseconds(27999), file), milliseconds(1));
  EXPECT_EQ(WaitAfter(milliseconds(1), file), kNow);
}

TEST_F(SettledFileTest, AWriterThatContinuesBeginsTheWaitAgain) {
  SettledFile file = FileFoundAt(100);
  WriteInPlace(50);
  LookAfter(milliseconds(0), file);
  LookAfter(seconds(29), file);
  WriteInPlace(60);
  EXPECT_EQ(WaitAfter(seconds(1), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(seconds(29), file), seconds(1));
  WriteInPlace(100);
  EXPECT_EQ(WaitAfter(seconds(1), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

TEST_F(SettledFileTest, AShorterFileIsWholeAfterARenameOrIfSomebodyAsksForIt) {
  SettledFile file = FileFoundAt(100);
  Rename(10);
  LookAfter(milliseconds(0), file);
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
  WriteInPlace(1);
  EXPECT_EQ(WaitAfter(milliseconds(0), file, /*asked=*/true), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

TEST_F(SettledFileTest, AFileThatIsWrittenAfterARenameIsNotRenamedAnyMore) {
  SettledFile file = FileFoundAt(100);
  Rename(100);
  LookAfter(milliseconds(0), file);
  WriteInPlace(10);
  LookAfter(milliseconds(1000), file);
  EXPECT_TRUE(LookAfter(milliseconds(2000), file).shrank);
}

// Some editors create the new file under the old name first.
TEST_F(SettledFileTest, ANewFileThatGrowsIsNotRenamed) {
  SettledFile file = FileFoundAt(100);
  Rename(0);
  LookAfter(milliseconds(0), file);
  WriteInPlace(50);
  LookAfter(milliseconds(1000), file);
  EXPECT_TRUE(LookAfter(milliseconds(2000), file).shrank);
}

TEST_F(SettledFileTest, ARenamedFileMayGetAnotherMode) {
  SettledFile file = FileFoundAt(100);
  Rename(10);
  LookAfter(milliseconds(0), file);
  state_->changed += milliseconds(1);
  LookAfter(milliseconds(1000), file);
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

// Somebody who asks means the state that the file has now, not a later one.
TEST_F(SettledFileTest, AnAnswerToOneStateIsNoneToTheNext) {
  SettledFile file = FileFoundAt(100);
  WriteInPlace(50);
  LookAfter(milliseconds(0), file, /*asked=*/true);
  WriteInPlace(40);
  LookAfter(milliseconds(0), file);
  EXPECT_TRUE(LookAfter(milliseconds(2000), file).shrank);
}

TEST_F(SettledFileTest, AFileThatIsDeletedAndCreatedAgainIsNotRenamed) {
  SettledFile file = FileFoundAt(100);
  const FileState before = *state_;
  state_.reset();
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  state_ = before;
  Rename(10);
  LookAfter(milliseconds(0), file);
  EXPECT_TRUE(LookAfter(milliseconds(2000), file).shrank);
}

TEST_F(SettledFileTest, AFileThatStaysMissingIsWholeSoThatItsReaderReportsIt) {
  SettledFile file = FileFoundAt(100);
  state_.reset();
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_TRUE(LookAfter(milliseconds(2000), file).is_new);
  EXPECT_TRUE(file.Take());
  EXPECT_EQ(file.former_size(), 100);
}

TEST_F(SettledFileTest, AFileThatIsNamedLaterMustBeStillFirst) {
  state_ = FileState{.target = "/f", .size = 100};
  SettledFile file("/f", SettledFile::First::kWhenStill, [this](const std::string&) { return state_; });
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

TEST_F(SettledFileTest, AFileThatWasMissingAtTheStartMustBeStillFirst) {
  SettledFile file("/f", SettledFile::First::kAsFound, [this](const std::string&) { return state_; });
  EXPECT_EQ(WaitAfter(milliseconds(0), file), kNow);
  state_ = FileState{.target = "/f", .size = 100};
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(WaitAfter(milliseconds(2000), file), kNow);
}

TEST_F(SettledFileTest, AStartThatBeginsAgainUsesTheFileAsItIsFoundThen) {
  SettledFile file = FileFoundAt(100);
  WriteInPlace(10);
  file.BeginAgain();
  EXPECT_TRUE(LookAfter(milliseconds(0), file).is_new);
  EXPECT_TRUE(file.Take());
  WriteInPlace(9);
  EXPECT_EQ(WaitAfter(milliseconds(0), file), milliseconds(2000));
}

TEST_F(SettledFileTest, AFileThatChangesWhileItIsReadIsNotTaken) {
  SettledFile file = FileFoundAt(100);
  ChangeLink(200);
  EXPECT_TRUE(LookAfter(milliseconds(0), file).is_new);
  WriteInPlace(150);
  EXPECT_FALSE(file.Take());
  EXPECT_EQ(file.former_size(), 100);
}

TEST(FileStateTest, EveryWriteChangesTheState) {
  const std::string path = WriteTemp("f", "whole");
  const std::optional<FileState> before = FileStateOf(path);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->size, 5);
  const auto time = std::filesystem::last_write_time(path);
  while (FileStateOf(path) == before) {  // until the file system's clock has advanced
    std::ofstream(path, std::ios::trunc) << "WHOLE";
    std::filesystem::last_write_time(path, time);
  }
  EXPECT_EQ(FileStateOf(path)->modified, before->modified);
  EXPECT_EQ(FileStateOf(path + "-missing"), std::nullopt);
}

TEST(FileStateTest, ALinkLeadsToItsTarget) {
  const std::string one = WriteTemp("one", "1");
  const std::string link = TempPath("link");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(one, link);
  EXPECT_EQ(FileStateOf(link), FileStateOf(one));
  EXPECT_EQ(FileStateOf(link)->target, std::filesystem::canonical(one).string());
}

}  // namespace
}  // namespace stampgate
