#include "gateway/config/settled_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr auto kNow = nanoseconds::zero();

class SettledFileTest : public ::testing::Test {
 protected:
  SettledFileTest() : path_(NewTestFolder() + "/f") { PutTestFile(path_, "whole"); }

  // Writes the file in place, as some editors do.
  void WriteInPlace(const std::string& content) { std::ofstream(path_, std::ios::trunc) << content; }

  nanoseconds LookAfter(milliseconds time, SettledFile& file) { return file.Look(now_ += time); }

  const std::string path_;
  SettledFile::Time now_{};
};

TEST_F(SettledFileTest, AFileThatDoesNotChangeMayBeRead) {
  SettledFile file(path_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(LookAfter(milliseconds(1), file), kNow);
  EXPECT_TRUE(file.IsAsSeen());
}

TEST_F(SettledFileTest, AFileThatChangedInPlaceMayBeReadAfterTwoSecondsWithoutAChange) {
  SettledFile file(path_);
  WriteInPlace("ha");
  EXPECT_FALSE(file.IsAsSeen());
  EXPECT_EQ(LookAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(LookAfter(milliseconds(1500), file), milliseconds(500));
  WriteInPlace("half");
  EXPECT_EQ(LookAfter(milliseconds(499), file), milliseconds(2000));
  EXPECT_EQ(LookAfter(milliseconds(1999), file), milliseconds(1));
  EXPECT_EQ(LookAfter(milliseconds(1), file), kNow);
  EXPECT_EQ(LookAfter(milliseconds(0), file), kNow);
}

TEST_F(SettledFileTest, OneLookAfterAChangeIsNeverEnough) {
  SettledFile file(path_);
  LookAfter(std::chrono::hours(1), file);
  WriteInPlace("half");
  EXPECT_EQ(LookAfter(std::chrono::hours(1), file), milliseconds(2000));
}

// An editor can create a new file under the old name and write it later.
TEST_F(SettledFileTest, ANewFileOfTheSameNameMustAlsoStayUnchanged) {
  SettledFile file(path_);
  std::filesystem::remove(path_);
  EXPECT_EQ(LookAfter(milliseconds(0), file), kNow);  // the file does not exist, which its reader must report
  WriteInPlace("whole");
  EXPECT_EQ(LookAfter(milliseconds(0), file), milliseconds(2000));
  EXPECT_EQ(LookAfter(milliseconds(2000), file), kNow);
  PutTestFile(path_ + ".new", "other");
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_EQ(LookAfter(milliseconds(0), file), milliseconds(2000));
}

TEST_F(SettledFileTest, TheSameSizeAndTimeDoNotHideAChange) {
  SettledFile file(path_);
  const auto time = std::filesystem::last_write_time(path_);
  WriteInPlace("WHOLE");
  std::filesystem::last_write_time(path_, time);
  EXPECT_EQ(LookAfter(milliseconds(0), file), milliseconds(2000));
}

TEST(SettledMountTest, AFileToWhichAChangedLinkLeadsMayBeReadImmediately) {
  MountedFolder folder(MountedFolder::Files{{"f", "one"}});
  SettledFile file(folder.PathOf("f"));
  const SettledFile::Time now{};
  folder.Swap({{"f", "two"}});
  EXPECT_FALSE(file.IsAsSeen());
  EXPECT_EQ(file.Look(now), kNow);
  EXPECT_TRUE(file.IsAsSeen());
  folder.Swap({});
  EXPECT_EQ(file.Look(now), kNow);
  folder.Swap({{"f", "two"}});
  EXPECT_EQ(file.Look(now), kNow);
  // The links stay unchanged, and the file to which they lead changes in place.
  std::ofstream(folder.PathOf("f"), std::ios::trunc) << "th";
  EXPECT_EQ(file.Look(now), milliseconds(2000));
}

}  // namespace
}  // namespace stampgate
