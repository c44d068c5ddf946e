#include "gateway/audit/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/audit/testing.h"

namespace stampgate {
namespace {

constexpr char kHex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

TEST(AuditKeyTest, ReadsHexDigits) {
  const std::string path = NewFolder() + "audit.key";
  for (const char* end : {"", "\n", "\r\n"}) {
    WriteTestFile(path, absl::StrCat(kHex, end));
    absl::StatusOr<SecretBytes> key = ReadAuditKey(path);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_TRUE(*key == TestAuditKey());
  }
}

TEST(AuditKeyTest, RefusesOtherContentWithoutQuotingIt) {
  const std::string path = NewFolder() + "audit.key";
  const std::string hex = kHex;
  for (const std::string& content :
       {hex.substr(1), hex + "0", hex + "\n\n", " " + hex, hex + ":p256", "g" + hex.substr(1), hex.substr(0, 62),
        "0x" + hex.substr(2), std::string(64, '\n')}) {
    WriteTestFile(path, content);
    const absl::Status status = ReadAuditKey(path).status();
    EXPECT_EQ(status, absl::InvalidArgumentError(
                          absl::StrCat("audit key file ", path, ": it is not 64 hex digits on one line")));
  }
}

TEST(AuditKeyTest, RefusesFilesThatOthersCanUse) {
  const std::string path = NewFolder() + "audit.key";
  WriteTestFile(path, kHex);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(ReadAuditKey(path).status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(path.c_str(), 0440), 0);
  EXPECT_TRUE(ReadAuditKey(path).ok());
  EXPECT_EQ(ReadAuditKey(path + "x").status().code(), absl::StatusCode::kNotFound);
}

TEST(AuditKeyTest, GeneratesKeysThatCanBeRead) {
  const std::string folder = NewFolder();
  ASSERT_TRUE(GenerateAuditKey(folder + "one").ok());
  ASSERT_TRUE(GenerateAuditKey(folder + "two").ok());
  absl::StatusOr<SecretBytes> one = ReadAuditKey(folder + "one");
  absl::StatusOr<SecretBytes> two = ReadAuditKey(folder + "two");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_FALSE(*one == *two);
  EXPECT_EQ(ReadTestFile(folder + "one").size(), 65);
  struct stat file;
  ASSERT_EQ(stat((folder + "one").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600);
}

TEST(AuditKeyTest, NeverChangesAnExistingFile) {
  const std::string path = NewFolder() + "audit.key";
  WriteTestFile(path, "precious");
  const absl::Status status = GenerateAuditKey(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
  EXPECT_EQ(ReadTestFile(path), "precious");
}

}  // namespace
}  // namespace stampgate
