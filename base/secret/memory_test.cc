#include "base/secret/memory.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "base/testing/locked_memory.h"
#include "gtest/gtest.h"

namespace stampgate {
namespace {

// The first two tests need a process in which the arena is not set up. They must run before the other tests, which set
// up the arena.
TEST(KeyMemoryTest, FailsIfMemoryCannotBeLocked) {
  if (IsSanitized()) GTEST_SKIP() << "the sanitizer reports every mlock as a success";
  const pid_t child = fork();
  if (child == 0) {
    ForbidLocking();
    const absl::Status first = InitializeKeyMemory();
    if (!absl::StrContains(first.message(), "may lock 0 KiB (ulimit -l) and needs 1 MiB, and 4 KiB more for each key"))
      _exit(2);
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
  EXPECT_EQ(LockedKb() - before, 1024);
}

// The client's part of a key exchange is in the arena from the beginning of a handshake to the server's response.
TEST(KeyMemoryTest, TheArenaHoldsTheKeysOfManyHandshakes) {
  ASSERT_EQ(InitializeKeyMemory(), absl::OkStatus());
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  std::vector<SSL*> clients;
  for (int i = 0; i < 400; ++i) {
    SSL* const client = clients.emplace_back(SSL_new(context));
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client);
    EXPECT_EQ(SSL_get_error(client, SSL_do_handshake(client)), SSL_ERROR_WANT_READ) << i;
  }
  for (SSL* const client : clients) SSL_free(client);
  SSL_CTX_free(context);
}

}  // namespace
}  // namespace stampgate
