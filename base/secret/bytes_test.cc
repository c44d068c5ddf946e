#include "base/secret/bytes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/testing/locked_memory.h"
#include "gtest/gtest.h"

namespace stampgate {
namespace {

static_assert(!std::is_copy_constructible_v<SecretBytes>);
static_assert(!std::is_copy_assignable_v<SecretBytes>);
static_assert(std::is_nothrow_move_constructible_v<SecretBytes>);
static_assert(std::is_nothrow_move_assignable_v<SecretBytes>);

SecretBytes Make(absl::string_view content) {
  SecretBytes secret = SecretBytes::Create(content.size()).value();
  std::copy(content.begin(), content.end(), secret.data());
  return secret;
}

TEST(SecretBytesTest, CreateReturnsZeroBytes) {
  SecretBytes secret = SecretBytes::Create(33).value();
  EXPECT_EQ(secret.size(), 33u);
  EXPECT_EQ(secret.text(), std::string(33, '\0'));
}

TEST(SecretBytesTest, CreateRejectsASizeOfZero) {
  EXPECT_EQ(SecretBytes::Create(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SecretBytesTest, MovingTransfersTheBytes) {
  SecretBytes a = Make("first");
  SecretBytes b = std::move(a);
  EXPECT_EQ(b.text(), "first");
  SecretBytes c = Make("second");
  c = std::move(b);
  EXPECT_EQ(c.text(), "first");
}

TEST(SecretBytesTest, ComparesTheSizeAndTheBytes) {
  EXPECT_TRUE(Make("abc") == Make("abc"));
  EXPECT_FALSE(Make("abc") == Make("abd"));
  EXPECT_FALSE(Make("abc") == Make("abcd"));
}

TEST(SecretBytesTest, LocksItsPagesWhileItLives) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer does not lock";
  ASSERT_TRUE(SecretBytes::Create(1).ok());  // sets up OpenSSL's arena, which is locked too
  const int before = LockedKb();
  {
    std::vector<SecretBytes> secrets;
    for (int i = 0; i < 10; ++i) secrets.push_back(Make("x"));
    EXPECT_EQ(LockedKb() - before, 40);
  }
  EXPECT_EQ(LockedKb(), before);
}

TEST(SecretBytesTest, CreateFailsIfTheMemoryCannotBeLocked) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer reports every mlock as a success";
  ASSERT_TRUE(
      SecretBytes::Create(1).ok());  // sets up the arena, so that in the child only the lock of the secret can fail
  const pid_t child = fork();
  if (child == 0) {
    ForbidLocking();
    _exit(absl::IsResourceExhausted(SecretBytes::Create(32).status()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SecretBytesDeathTest, AWritePastTheEndEndsTheProcess) {
  SecretBytes secret = Make("0123456789");
  volatile uint8_t* data = secret.data();
  EXPECT_DEATH(data[secret.size()] = 1, "");
}

TEST(SecretBytesDeathTest, AWriteToReadOnlyBytesEndsTheProcess) {
  SecretBytes secret = Make("0123456789");
  secret.MakeReadOnly();
  EXPECT_EQ(secret.text(), "0123456789");
  volatile uint8_t* data = secret.data();
  EXPECT_DEATH(data[0] = 1, "");
}

}  // namespace
}  // namespace stampgate
