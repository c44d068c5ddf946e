#include "gateway/process/log.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/json/writer.h"
#include "base/threads/mutex.h"

namespace stampgate {
namespace {

constexpr size_t kQueuedLines = 8192;

// How often FlushLog polls the number of lines that spdlog has dropped. spdlog does not notify the program when it
// drops a line.
constexpr absl::Duration kLook = absl::Milliseconds(10);

// Writes without stdio: with stdio, a thread that waits for a slow reader would hold the lock of stderr, which exit()
// needs.
void WriteAll(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDERR_FILENO, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<size_t>(written);
  }
}

// Writes lines to standard error and counts them. Only the single thread of the log's thread pool writes.
class CountingSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Waits until `done` returns true for the number of written lines, but not longer than `patience`. Returns what
  // `done` has returned last.
  template <typename Done>
  bool WaitFor(absl::Duration patience, Done done) {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(patience);
    MutexLock lock(mutex_);
    while (!done(written_)) {
      if (changed_.WaitUntil(mutex_, until)) return done(written_);
    }
    return true;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(line, formatted);
    WriteAll(formatted.data(), formatted.size());
    MutexLock lock(mutex_);
    ++written_;
    changed_.WakeAll();
  }

  void flush_() override {}

  Mutex mutex_;
  Condition changed_;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The queue and the thread of the log. They are not in spdlog's global registry, because the static destructor of the
// registry destroys the registry's thread pool. Logging after this destructor would throw an exception.
class ProcessLog {
 public:
  ProcessLog()
      : sink_(std::make_shared<CountingSink>()),
        pool_(std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1)),
        logger_(std::make_shared<spdlog::async_logger>("stampgate", sink_, pool_,
                                                       spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_pattern("%v");
    logger_->set_error_handler([](const std::string& /*message*/) {});
  }

  void Write(const std::string& line) {
    ++queued_;
    logger_->info(spdlog::string_view_t(line.data(), line.size()));
  }

  uint64_t dropped() const { return pool_->overrun_counter(); }

  bool Flush(absl::Duration patience) {
    const uint64_t queued = queued_;
    const auto deadline = Clock::now() + absl::ToChronoNanoseconds(patience);
    bool done = false;
    do {
      done = sink_->WaitFor(kLook, [&](uint64_t written) { return written + dropped() >= queued; });
    } while (!done && Clock::now() < deadline);
    return done;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const std::shared_ptr<CountingSink> sink_;
  const std::shared_ptr<spdlog::details::thread_pool> pool_;
  const std::shared_ptr<spdlog::async_logger> logger_;
  std::atomic<uint64_t> queued_ = 0;
};

// Returns the log, which is never destroyed, because threads may still log while the process exits.
ProcessLog& TheLog() {
  static ProcessLog& log = *new ProcessLog;
  return log;
}

std::atomic<Severity> lowest_logged = Severity::kInfo;

void AppendValue(const LogValue& value, std::string& line) {
  if (const auto* text = std::get_if<std::string>(&value)) return AppendJsonString(*text, line);
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrAppend(&line, *number);
  if (const auto* number = std::get_if<uint64_t>(&value)) return absl::StrAppend(&line, *number);
  const double number = std::get<double>(value);
  if (!std::isfinite(number)) return absl::StrAppend(&line, "null");  // JSON cannot represent it
  absl::StrAppend(&line, number);
}

absl::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
  }
  return "";
}

}  // namespace

void SetLowestLogged(Severity severity) noexcept { lowest_logged = severity; }

void Log(Severity severity, absl::string_view event, const LogFields& fields) noexcept {
  if (severity < lowest_logged) return;
  try {
    std::string line = "{\"time\":\"";
    line += absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
    line += "\",\"severity\":";
    AppendJsonString(Name(severity), line);
    line += ",\"event\":";
    AppendJsonString(event, line);
    for (const auto& [name, value] : fields) {
      line += ',';
      AppendJsonString(name, line);
      line += ':';
      AppendValue(value, line);
    }
    line += '}';
    TheLog().Write(line);
  } catch (...) {  // spdlog may throw
  }
}

bool FlushLog(absl::Duration patience) noexcept {
  try {
    return TheLog().Flush(patience);
  } catch (...) {  // spdlog may throw
    return false;
  }
}

uint64_t DroppedLogLines() noexcept {
  try {
    return TheLog().dropped();
  } catch (...) {  // spdlog may throw
    return 0;
  }
}

}  // namespace stampgate
