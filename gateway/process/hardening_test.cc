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

// If `holds` is false, prints `what` and exits with an error.
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what;
  std::exit(1);
}

void HardenAndLook() {
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1, "the system does not report what is dumpable");
  Expect(HardenProcess().ok(), "failed");
  // While PR_GET_DUMPABLE is 0, only root can use ptrace and /proc/PID/mem, and the system writes no core dump.
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
  rlimit core{};
  Expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0, "core limit");
  Expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "new privileges");
  Expect(umask(0) == 077, "umask");
  std::exit(0);
}

TEST(HardenProcessTest, OthersCannotReadTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(HardenAndLook(), ::testing::ExitedWithCode(0), "");
}

// Builds with a sanitizer do not use _FORTIFY_SOURCE, because it hides calls from the sanitizer's own checks.
#ifndef STAMPGATE_SANITIZED

// Two adjacent members. A write that goes past the first member stays inside the object.
struct Neighbours {
  char first[8];
  char second[64];
};

void CopyInto(Neighbours& neighbours, const char* text) {
  std::strcpy(neighbours.first, text);  // NOLINT(clang-analyzer-security.insecureAPI.strcpy): that is the test
  // Keeps the compiler from removing the copy.
  __asm__ volatile("" : : "r"(&neighbours) : "memory");
}

// With _FORTIFY_SOURCE=2, the C library checks that a write stays within the member. With _FORTIFY_SOURCE=1, it checks
// only that the write stays within the object.
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
