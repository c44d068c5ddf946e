#include "stamp/key_generator.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/temporary_file.h"
#include "gtest/gtest.h"
#include "stamp/key_file.h"

namespace stampgate {
namespace {

std::string NewPath(absl::string_view name) {
  const std::string path = TempPath(name);
  unlink(path.c_str());
  return path;
}

TEST(KeyGeneratorTest, WritesAKeyThatReadKeyFileReads) {
  for (Curve curve : kCurves) {
    const std::string path = NewPath("new.key");
    umask(0);
    absl::StatusOr<std::string> public_key = GenerateKeyFile(curve, path);
    ASSERT_TRUE(public_key.ok()) << public_key.status();
    struct stat file;
    ASSERT_EQ(stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0600u);
    absl::StatusOr<PrivateKey> key = ReadKeyFile(path);
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(key->curve, curve);
    EXPECT_EQ(DerivePublicKey(*key).value().Hex(), *public_key);
  }
}

TEST(KeyGeneratorTest, WritesTheFormatOfUpstreamsTools) {
  const std::string path = NewPath("form.key");
  ASSERT_TRUE(GenerateKeyFile(Curve::kSecp256k1, path).ok());
  const std::string ecdsa = ReadAll(path);
  EXPECT_EQ(ecdsa.find_first_not_of("0123456789abcdef"), 64u);
  EXPECT_EQ(ecdsa.substr(64), ":secp256k1\n");
  unlink(path.c_str());
  const std::string public_key = GenerateKeyFile(Curve::kEd25519, path).value();
  EXPECT_EQ(ReadAll(path).substr(64), absl::StrCat(public_key, ":ed25519\n"));
}

TEST(KeyGeneratorTest, GeneratesADifferentKeyEachTime) {
  EXPECT_NE(GenerateKeyFile(Curve::kP256, NewPath("a.key")).value(),
            GenerateKeyFile(Curve::kP256, NewPath("b.key")).value());
}

TEST(KeyGeneratorTest, DoesNotChangeAnExistingFile) {
  const std::string path = WriteTemp("existing.key", "precious");
  const absl::Status status = GenerateKeyFile(Curve::kP256, path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(absl::StrContains(status.message(), path));
  EXPECT_EQ(ReadAll(path), "precious");

  const std::string link = NewPath("dangling.key");
  ASSERT_EQ(symlink("nowhere", link.c_str()), 0);
  EXPECT_EQ(GenerateKeyFile(Curve::kP256, link).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(KeyGeneratorTest, ReportsAMissingDirectory) {
  EXPECT_EQ(GenerateKeyFile(Curve::kP256, TempPath("no/such/directory.key")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(KeyGeneratorTest, DeletesTheFileIfItCannotBeWrittenCompletely) {
  const std::string path = NewPath("partial.key");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few_bytes{10, 10};
    if (std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &few_bytes) != 0) _exit(99);
    _exit(GenerateKeyFile(Curve::kP256, path).ok() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace stampgate
