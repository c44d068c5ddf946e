#include "stamp/secret/memory.h"

#include <openssl/crypto.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "stamp/stamp_testing.h"

namespace stampgate {
namespace {

// The first two tests need a process in which the arena is not set up. They must run before the last test, which sets
// up the arena.
TEST(KeyMemoryTest, FailsIfMemoryCannotBeLocked) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer reports every mlock as a success";
  const pid_t child = fork();
  if (child == 0) {
    ForbidLocking();
    const absl::Status first = InitializeKeyMemory();
    // The second call must fail too, although the first call has left an arena, which is not locked.
    _exit(absl::IsResourceExhausted(first) && InitializeKeyMemory() == first ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(KeyMemoryTest, FailsIfOtherCodeHasSetUpTheArena) {
  const pid_t child = fork();
  if (child == 0) {
    CRYPTO_secure_malloc_init(4096, 16);
    _exit(absl::IsInternal(InitializeKeyMemory()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(KeyMemoryTest, SetsUpAndLocksTheArenaOnlyOnce) {
  const int before = LockedKb();
  ASSERT_EQ(InitializeKeyMemory(), absl::OkStatus());
  ASSERT_EQ(InitializeKeyMemory(), absl::OkStatus());
  EXPECT_TRUE(CRYPTO_secure_malloc_initialized());
  EXPECT_EQ(LockedKb() - before, 256);
}

}  // namespace
}  // namespace stampgate
