#include "base/secret/file_contents.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

using Digest = std::array<uint8_t, 32>;

Digest DigestOfPublic(const std::string& path) {
  FileContents contents;
  contents.ReadPublic(path);
  return contents.Digest();
}

Digest DigestOfSecret(const std::string& path) {
  FileContents contents;
  contents.ReadSecret(path);
  return contents.Digest();
}

TEST(FileContentsTest, ReturnsTheBytesThatTheFilesHadAtTheFirstRead) {
  const std::string list = WriteTemp("list", "a\nb\n");
  const std::string key = WriteTemp("key", "c");
  FileContents contents;
  contents.ReadPublic(list);
  contents.ReadSecret(key);
  WriteTemp("list", "other");
  WriteTemp("key", "other");
  contents.ReadPublic(list);
  contents.ReadSecret(key);
  EXPECT_EQ(contents.Public(list).value(), "a\nb\n");
  EXPECT_EQ(contents.Secret(key)->text(), "c");
}

TEST(FileContentsTest, ReturnsTheErrorOfTheFirstReadEvenIfTheFileAppearsLater) {
  const std::string none = TempPath("none");
  FileContents contents;
  contents.ReadPublic(none);
  contents.ReadSecret(none);
  WriteTemp("none", "late");
  EXPECT_EQ(contents.Public(none).status().message(), "it cannot be opened: No such file or directory");
  EXPECT_EQ(contents.Secret(none).status().message(), "it cannot be opened: No such file or directory");
  unlink(none.c_str());
}

TEST(FileContentsTest, ReturnsNotFoundForAFileThatWasNotRead) {
  const std::string path = WriteTemp("unread", "a");
  FileContents contents;
  EXPECT_EQ(contents.Public(path).status(), absl::NotFoundError("it was not read"));
  contents.ReadPublic(path);
  EXPECT_EQ(contents.Secret(path).status(), absl::NotFoundError("it was not read"));
}

TEST(FileContentsTest, EqualFilesHaveEqualDigests) {
  const std::string path = WriteTemp("same", "a");
  EXPECT_EQ(DigestOfPublic(path), DigestOfPublic(path));
  EXPECT_EQ(DigestOfSecret(path), DigestOfSecret(path));
}

TEST(FileContentsTest, TheDigestDiffersIfThePathTheKindTheBytesOrTheErrorDiffer) {
  std::set<Digest> digests = {FileContents().Digest()};
  const std::string path = TempPath("changing");
  for (const absl::string_view content : {"a", "b", "ab", "it cannot be opened"}) {
    WriteTemp("changing", content);
    EXPECT_TRUE(digests.insert(DigestOfPublic(path)).second) << content;
    EXPECT_TRUE(digests.insert(DigestOfSecret(path)).second) << content;
  }
  EXPECT_TRUE(digests.insert(DigestOfPublic(WriteTemp("renamed", "a"))).second);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(digests.insert(DigestOfSecret(path)).second) << "the mode now makes ReadSecretFile fail";
  unlink(path.c_str());
  EXPECT_TRUE(digests.insert(DigestOfPublic(path)).second) << "it is gone";
  EXPECT_TRUE(digests.insert(DigestOfSecret(path)).second) << "it is gone";
}

}  // namespace
}  // namespace stampgate
