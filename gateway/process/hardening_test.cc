#include "gateway/process/hardening.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

namespace stampgate {
namespace {

// Exits with 0 if `holds`, else prints `what` and fails.
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what;
  std::exit(1);
}

void HardenAndLook() {
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1, "the system does not report what is dumpable");
  Expect(HardenProcess().ok(), "failed");
  // While it is off, only root can use /proc/PID/mem and ptrace, and no core is written whatever the limit.
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
  rlimit core{};
  Expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0, "core limit");
  Expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "new privileges");
  Expect(umask(0) == 077, "umask");
  std::exit(0);
}

TEST(HardenProcessTest, ClosesTheProcessToOthers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(HardenAndLook(), ::testing::ExitedWithCode(0), "");
}

// Sanitizers have their own checks, and _FORTIFY_SOURCE hides calls from them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Two adjacent members: a write past the first stays inside the object.
struct Neighbours {
  char first[8];
  char second[64];
};

void CopyInto(Neighbours& neighbours, const char* text) {
  std::strcpy(neighbours.first, text);  // NOLINT(clang-analyzer-security.insecureAPI.strcpy): that is the test
  // Keeps the compiler from removing the copy.
  __asm__ volatile("" : : "r"(&neighbours) : "memory");
}

// The C library checks the bounds of members with _FORTIFY_SOURCE 2; with 1 it checks only whole objects.
TEST(FortifySourceTest, AWritePastAMemberEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static_assert(_FORTIFY_SOURCE >= 2);
  Neighbours neighbours = {};
  CopyInto(neighbours, "7 bytes");
  std::string text(20, 'x');
  __asm__ volatile("" : : "r"(text.data()) : "memory");  // hides the length from the compiler
  EXPECT_DEATH(CopyInto(neighbours, text.c_str()), "buffer overflow detected");
}

#endif

}  // namespace
}  // namespace stampgate
