#include "base/secret/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

absl::Status Refusal(const std::string& path) { return ReadPublicFile(path).status(); }

TEST(PublicFileTest, ReturnsAllBytesOfTheFile) {
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(ReadPublicFile(WriteTemp("public", bytes)).value(), bytes);
  EXPECT_EQ(ReadPublicFile(WriteTemp("public", "")).value(), "");
}

TEST(PublicFileTest, AllocatesAboutAsManyBytesAsTheFileHas) {
  const absl::StatusOr<std::string> text = ReadPublicFile(WriteTemp("public", std::string(1000, 'a')));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_LT(text->capacity(), 2000u);
}

TEST(PublicFileTest, AcceptsAFileThatEverybodyMayReadAndWrite) {
  const std::string path = WriteTemp("public", "a");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(ReadPublicFile(path).value(), "a");
}

TEST(PublicFileTest, RejectsAFileAboveTheMaximumSize) {
  const std::string path = WriteTemp("large", "");
  std::filesystem::resize_file(path, kMaxPublicFileBytes);
  EXPECT_EQ(ReadPublicFile(path).value().size(), kMaxPublicFileBytes);
  std::filesystem::resize_file(path, kMaxPublicFileBytes + 1);
  EXPECT_EQ(Refusal(path), absl::InvalidArgumentError("it is larger than 16777216 bytes"));
  unlink(path.c_str());
}

TEST(PublicFileTest, RejectsAPathThatIsNotARegularFile) {
  const absl::Status rule = absl::FailedPreconditionError("it is not a regular file");
  const std::string fifo = TempPath("fifo");
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(fifo), rule);  // reading does not wait until a process writes to the FIFO
  EXPECT_EQ(Refusal(::testing::TempDir()), rule);
  EXPECT_EQ(Refusal("/dev/zero"), rule);
}

TEST(PublicFileTest, ReportsAMissingFile) {
  const absl::Status status = Refusal(TempPath("none"));
  EXPECT_EQ(status, absl::NotFoundError("it cannot be opened: No such file or directory"));
}

TEST(PublicFileTest, FollowsASymbolicLink) {
  const std::string link = TempPath("link");
  unlink(link.c_str());
  ASSERT_EQ(symlink(WriteTemp("public", "there").c_str(), link.c_str()), 0);
  EXPECT_EQ(ReadPublicFile(link).value(), "there");
}

}  // namespace
}  // namespace stampgate
