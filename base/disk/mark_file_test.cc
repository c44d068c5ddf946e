#include "base/disk/mark_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr MarkFile::LogId kLog = {1, 2, 3};
constexpr MarkFile::LogId kOtherLog = {4, 5, 6};

HighWaterMark MarkOf(uint64_t number) {
  HighWaterMark mark;
  mark.number = number;
  mark.digest.fill(static_cast<uint8_t>(number));
  return mark;
}

// A fixture with an empty log file in a temporary folder, and a mark file beside the log file.
class MarkFileTest : public testing::Test {
 protected:
  MarkFileTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/mark-XXXXXX");
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    log_ = absl::StrCat(folder, "/events.db");
    std::ofstream(log_).close();
    EXPECT_EQ(chmod(log_.c_str(), 0600), 0);
  }

  MarkFile Open(const MarkFile::LogId& id = kLog) {
    absl::StatusOr<MarkFile> file = MarkFile::Open(path(), id, Disk::System());
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  std::string path() const { return log_ + "-mark"; }

  std::string Bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  void SetBytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<int64_t>(bytes.size()));
  }

  std::string log_;
};

TEST_F(MarkFileTest, ANewFileHasNoMark) { EXPECT_EQ(Open().mark(), std::nullopt); }

TEST_F(MarkFileTest, TheNextOpenReturnsTheLastMark) {
  for (uint64_t number = 1; number <= 5; ++number) {
    MarkFile file = Open();
    EXPECT_TRUE(file.Replace(MarkOf(10 * number)).ok());
    EXPECT_TRUE(file.Replace(MarkOf(10 * number + 1)).ok());
    EXPECT_EQ(file.mark(), MarkOf(10 * number + 1));
    EXPECT_EQ(Open().mark(), MarkOf(10 * number + 1));
  }
}

TEST_F(MarkFileTest, AMarkCanBeReplacedByALowerOne) {
  MarkFile file = Open();
  EXPECT_TRUE(file.Replace(MarkOf(7)).ok());
  EXPECT_TRUE(file.Replace(MarkOf(3)).ok());
  EXPECT_EQ(Open().mark(), MarkOf(3));
}

TEST_F(MarkFileTest, TheFileGetsTheModeOfTheLogsFile) {
  Open();
  struct stat state;
  ASSERT_EQ(stat(path().c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
}

TEST_F(MarkFileTest, IgnoresTheMarkOfAnotherLog) {
  EXPECT_TRUE(Open(kOtherLog).Replace(MarkOf(9)).ok());
  MarkFile file = Open();
  EXPECT_EQ(file.mark(), std::nullopt);
  EXPECT_TRUE(file.Replace(MarkOf(1)).ok());
  EXPECT_EQ(Open().mark(), MarkOf(1));
}

// For each byte that the last write changes, simulates that the write stopped before this byte, and that the write
// stored a wrong byte there. Each time, the next Open must return the previous mark.
TEST_F(MarkFileTest, ATornWriteLeavesThePreviousMark) {
  MarkFile file = Open();
  EXPECT_TRUE(file.Replace(MarkOf(1)).ok());
  EXPECT_TRUE(file.Replace(MarkOf(2)).ok());
  const std::string before = Bytes();
  EXPECT_TRUE(file.Replace(MarkOf(3)).ok());
  const std::string after = Bytes();
  ASSERT_EQ(before.size(), after.size());
  int torn = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    if (before[i] == after[i]) continue;
    SetBytes(after.substr(0, i) + before.substr(i));
    EXPECT_EQ(Open().mark(), MarkOf(2)) << i;
    std::string changed = after;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    SetBytes(changed);
    EXPECT_EQ(Open().mark(), MarkOf(2)) << i;
    ++torn;
  }
  EXPECT_GT(torn, 32);
  SetBytes(after);
  EXPECT_EQ(Open().mark(), MarkOf(3));
}

TEST_F(MarkFileTest, AfterATornFirstWriteTheFileHasNoMark) {
  EXPECT_TRUE(Open().Replace(MarkOf(1)).ok());
  const std::string bytes = Bytes();
  for (size_t size = 0; size < bytes.size(); size += 7) {
    SetBytes(bytes.substr(0, size));
    EXPECT_EQ(Open().mark(), std::nullopt) << size;
  }
}

TEST_F(MarkFileTest, ReportsThatBothPlacesAreDamaged) {
  MarkFile file = Open();
  EXPECT_TRUE(file.Replace(MarkOf(1)).ok());
  EXPECT_TRUE(file.Replace(MarkOf(2)).ok());
  SetBytes(std::string(Bytes().size(), 'x'));
  EXPECT_EQ(MarkFile::Open(path(), kLog, Disk::System()).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(MarkFileTest, ReportsAMissingFolder) {
  EXPECT_EQ(MarkFile::Open("/nowhere/events.db-mark", kLog, Disk::System()).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace stampgate
