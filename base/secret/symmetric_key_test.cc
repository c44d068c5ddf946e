#include "base/secret/symmetric_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

constexpr char kHex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

TEST(SymmetricKeyTest, ReadsHexDigits) {
  for (const char* end : {"", "\n", "\r\n"}) {
    const std::string path = WriteTemp("symmetric.key", absl::StrCat(kHex, end));
    absl::StatusOr<SecretBytes> key = ReadSymmetricKey(path);
    ASSERT_TRUE(key.ok()) << key.status();
    ASSERT_EQ(key->size(), kSymmetricKeyBytes);
    for (size_t i = 0; i < kSymmetricKeyBytes; ++i) EXPECT_EQ(key->data()[i], i);
  }
}

TEST(SymmetricKeyTest, RefusesOtherContentWithoutQuotingIt) {
  const std::string hex = kHex;
  for (const std::string& content :
       {hex.substr(1), hex + "0", hex + "\n\n", " " + hex, hex + ":p256", "g" + hex.substr(1), hex.substr(0, 62),
        "0x" + hex.substr(2), std::string(64, '\n')}) {
    const std::string path = WriteTemp("symmetric.key", content);
    const absl::Status status = ReadSymmetricKey(path).status();
    EXPECT_EQ(status,
              absl::InvalidArgumentError(absl::StrCat("key file ", path, ": it is not 64 hex digits on one line")));
  }
}

TEST(SymmetricKeyTest, RefusesFilesThatOthersCanUse) {
  const std::string path = WriteTemp("symmetric.key", kHex);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(ReadSymmetricKey(path).status().code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(path.c_str(), 0440), 0);
  EXPECT_TRUE(ReadSymmetricKey(path).ok());
  EXPECT_EQ(ReadSymmetricKey(path + "x").status().code(), absl::StatusCode::kNotFound);
}

TEST(SymmetricKeyTest, GeneratesKeysThatCanBeRead) {
  const std::string folder = TempPath("keys-");
  ASSERT_TRUE(GenerateSymmetricKey(folder + "one").ok());
  ASSERT_TRUE(GenerateSymmetricKey(folder + "two").ok());
  absl::StatusOr<SecretBytes> one = ReadSymmetricKey(folder + "one");
  absl::StatusOr<SecretBytes> two = ReadSymmetricKey(folder + "two");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_FALSE(*one == *two);
  EXPECT_EQ(ReadAll(folder + "one").size(), 65);
  struct stat file;
  ASSERT_EQ(stat((folder + "one").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600);
}

TEST(SymmetricKeyTest, NeverChangesAnExistingFile) {
  const std::string path = WriteTemp("symmetric.key", "precious");
  const absl::Status status = GenerateSymmetricKey(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
  EXPECT_EQ(ReadAll(path), "precious");
}

}  // namespace
}  // namespace stampgate
