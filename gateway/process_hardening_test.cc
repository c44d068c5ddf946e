#include "gateway/process_hardening.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <iostream>

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

}  // namespace
}  // namespace stampgate
