#include "gateway/process/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace stampgate {
namespace {

using testing::ExitedWithCode;

// Starts threads that log until the process has ended.
void LogForEver(int threads) {
  std::atomic<int> started = 0;
  for (int i = 0; i < threads; ++i) {
    std::thread([&started] {
      Log(Severity::kInfo, "first", {});
      ++started;
      for (;;) Log(Severity::kInfo, "line", {{"name", "value"}});
    }).detach();
  }
  while (started < threads) std::this_thread::yield();
}

// Discards the output of this process. Tests call this function only in child processes.
void Silence() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
}

TEST(LogDeathTest, ThreadsMayLogWhileTheProcessFlushesAndExits) {
  for (int round = 0; round < 10; ++round) {
    ASSERT_EXIT(
        {
          Silence();
          LogForEver(4);
          FlushLog();
          Log(Severity::kInfo, "after the flush", {});
          exit(0);
        },
        ExitedWithCode(0), "")
        << "round " << round;
  }
}

TEST(LogDeathTest, AFlushWritesTheQueuedLines) {
  EXPECT_EXIT(
      {
        for (int i = 0; i < 1000; ++i) Log(Severity::kInfo, "line", {{"number", std::to_string(i)}});
        Log(Severity::kWarning, "last", {{"text", "a \"quoted\" word"}});
        _exit(FlushLog() ? 0 : 1);
      },
      ExitedWithCode(0),
      "\"severity\":\"INFO\",\"event\":\"line\",\"number\":\"999\"\\}\n"
      "\\{\"time\":\"[-0-9T:.]*Z\",\"severity\":\"WARNING\",\"event\":\"last\",\"text\":"
      "\"a .\"quoted.\" word\"\\}\n");
}

TEST(LogDeathTest, NumbersAreWrittenAsJsonNumbers) {
  EXPECT_EXIT(
      {
        Log(Severity::kInfo, "line",
            {{"int", -1},
             {"unsigned", uint64_t{18446744073709551615u}},
             {"fraction", 1.5},
             {"none", std::numeric_limits<double>::infinity()},
             {"text", "1"}});
        _exit(FlushLog() ? 0 : 1);
      },
      ExitedWithCode(0),
      "\"int\":-1,\"unsigned\":18446744073709551615,\"fraction\":1.5,\"none\":null,\"text\":\"1\"\\}\n");
}

TEST(LogDeathTest, LinesBelowTheLowestSeverityAreNotWritten) {
  EXPECT_EXIT(
      {
        SetLowestLogged(Severity::kWarning);
        Log(Severity::kInfo, "info", {});
        Log(Severity::kWarning, "warning", {});
        _exit(FlushLog() ? 0 : 1);
      },
      ExitedWithCode(0), "^\\{\"time\":\"[^\"]*\",\"severity\":\"WARNING\",\"event\":\"warning\"\\}\n$");
}

TEST(LogDeathTest, FlushLogMayBeCalledRepeatedlyAndBeforeTheFirstLine) {
  EXPECT_EXIT(
      {
        bool flushed = FlushLog();
        Log(Severity::kInfo, "one", {});
        flushed = FlushLog() && FlushLog() && flushed;
        Log(Severity::kInfo, "two", {});
        _exit(FlushLog() && flushed ? 0 : 1);
      },
      ExitedWithCode(0), "\"one\"\\}\n.*\"two\"\\}\n");
}

TEST(LogDeathTest, DroppedLinesDoNotDelayAFlush) {
  EXPECT_EXIT(
      {
        Silence();
        for (int i = 0; i < 100'000; ++i) Log(Severity::kInfo, "line", {});
        _exit(FlushLog(absl::Minutes(1)) ? 0 : 1);
      },
      ExitedWithCode(0), "");
}

TEST(LogDeathTest, IfTheReaderStopsAFlushEndsAfterItsTimeLimit) {
  EXPECT_EXIT(
      {
        int pipe_ends[2];
        if (pipe(pipe_ends) != 0 || dup2(pipe_ends[1], STDERR_FILENO) < 0) _exit(2);
        for (int i = 0; i < 10'000; ++i) Log(Severity::kInfo, "line", {{"padding", std::string(100, 'x')}});
        _exit(FlushLog(absl::Milliseconds(50)) ? 1 : 0);
      },
      ExitedWithCode(0), "");
}

TEST(LogDeathTest, DroppedLinesAreCounted) {
  EXPECT_EXIT(
      {
        int pipe_ends[2];
        if (pipe(pipe_ends) != 0 || dup2(pipe_ends[1], STDERR_FILENO) < 0) _exit(2);
        if (DroppedLogLines() != 0) _exit(3);
        // A pipe holds 64 KiB, fewer than 1,000 of these lines; the queue holds 8,192 lines.
        for (int i = 0; i < 10'000; ++i) Log(Severity::kInfo, "line", {{"padding", std::string(100, 'x')}});
        _exit(DroppedLogLines() > 0 ? 0 : 1);
      },
      ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stampgate
