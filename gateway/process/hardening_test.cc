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

// Ends the process with 0 if `holds`, else says what does not.
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what;
  std::exit(1);
}

void HardenAndLook() {
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1, "the system does not say what is dumpable");
  Expect(HardenProcess().ok(), "failed");
  // Without it, /proc/PID/mem and ptrace are root's alone, and no core is written whatever its limit is.
  Expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
  rlimit core{};
  Expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0, "core limit");
  Expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "new privileges");
  Expect(umask(0) == 077, "umask");
  std::exit(0);
}

TEST(HardenProcess, ClosesTheProcessToOthers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(HardenAndLook(), ::testing::ExitedWithCode(0), "");
}

// Sanitizers have checks of their own, and _FORTIFY_SOURCE hides calls from them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Two neighbours: what is written beyond the first is in the second, and so within the whole.
struct Neighbours {
  char first[8];
  char second[64];
};

void CopyInto(Neighbours& neighbours, const char* text) {
  std::strcpy(neighbours.first, text);  // NOLINT(clang-analyzer-security.insecureAPI.strcpy): that is the test
  // The compiler cannot leave the copy out.
  __asm__ volatile("" : : "r"(&neighbours) : "memory");
}

// The C library checks the bounds of single members with _FORTIFY_SOURCE 2, of whole objects alone with 1.
TEST(FortifySource, AWriteBeyondAMemberEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static_assert(_FORTIFY_SOURCE >= 2);
  Neighbours neighbours = {};
  CopyInto(neighbours, "7 bytes");
  std::string text(20, 'x');
  __asm__ volatile("" : : "r"(text.data()) : "memory");  // the compiler does not know its length
  EXPECT_DEATH(CopyInto(neighbours, text.c_str()), "buffer overflow detected");
}

#endif

}  // namespace
}  // namespace stampgate
