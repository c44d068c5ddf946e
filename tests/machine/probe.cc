// A program that executes a command, on files or clocks, for each line of its input. For each command it prints a
// result: a number, or the name of an errno.
//
//   open F                  opens F for reading and writing, or creates it; the other commands first do this too
//   append F TEXT           appends TEXT, with O_APPEND
//   write F OFFSET BYTE N   writes the character BYTE N times
//   cut F SIZE              calls ftruncate()
//   grow F SIZE             calls posix_fallocate()
//   sync F                  calls fsync()
//   drop F                  calls posix_fadvise(POSIX_FADV_DONTNEED)
//   bytes F OFFSET N        prints N bytes, with '.' for a zero
//   rename F G, link F G    calls rename() or link()
//   unlink F, syncdir       deletes F; syncs the folder
//   clocks                  prints the seconds of clock_gettime, gettimeofday, time, std::chrono, absl::Now, monotonic
//   wait MS, wait_absl MS   waits MS by the wall clock; prints the milliseconds that passed by the monotonic clock
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace {

std::string Outcome(int64_t result) { return result < 0 ? strerrorname_np(errno) : std::to_string(result); }

int64_t MonotonicMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string Clocks() {
  timespec real, monotonic;
  timeval day;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  gettimeofday(&day, nullptr);
  std::ostringstream text;
  text << real.tv_sec << ' ' << day.tv_sec << ' ' << time(nullptr) << ' '
       << std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) << ' '
       << absl::ToUnixSeconds(absl::Now()) << ' ' << monotonic.tv_sec;
  return text.str();
}

std::string WaitStandard(int64_t ms) {
  std::mutex mutex;
  std::condition_variable never;
  const int64_t start = MonotonicMs();
  std::unique_lock lock(mutex);
  const auto end = std::chrono::system_clock::now() + std::chrono::milliseconds(ms);
  never.wait_until(lock, end, [] { return false; });
  return std::to_string(MonotonicMs() - start);
}

std::string WaitAbseil(int64_t ms) {
  absl::Mutex mutex;
  absl::CondVar never;
  const int64_t start = MonotonicMs();
  absl::MutexLock lock(mutex);
  const absl::Time end = absl::Now() + absl::Milliseconds(ms);
  while (!never.WaitWithDeadline(&mutex, end)) continue;
  return std::to_string(MonotonicMs() - start);
}

class Probe {
 public:
  std::string Do(std::istream& line) {
    std::string verb;
    line >> verb;
    if (verb == "clocks") return Clocks();
    if (verb == "syncdir") return SyncFolder();
    std::string first, second;
    line >> first;
    if (verb == "wait") return WaitStandard(std::stoll(first));
    if (verb == "wait_absl") return WaitAbseil(std::stoll(first));
    if (verb == "unlink") return Outcome(unlink(Path(first).c_str()));
    if (verb == "rename" || verb == "link") {
      line >> second;
      const auto change = verb == "rename" ? rename : link;
      return Outcome(change(Path(first).c_str(), Path(second).c_str()));
    }
    return DoToFile(verb, first, line);
  }

  explicit Probe(std::string folder) : folder_(std::move(folder)) {}

 private:
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string SyncFolder() {
    const int fd = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    const std::string outcome = Outcome(fsync(fd));
    close(fd);
    return outcome;
  }

  std::string DoToFile(const std::string& verb, const std::string& name, std::istream& line) {
    if (verb == "append") {
      std::string text;
      line >> text;
      const int fd = open(Path(name).c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
      const std::string outcome = Outcome(write(fd, text.data(), text.size()));
      close(fd);
      return outcome;
    }
    const int fd = open(Path(name).c_str(), O_RDWR | O_CREAT, 0600);
    const std::string outcome = DoTo(fd, verb, line);
    close(fd);
    return outcome;
  }

  static std::string DoTo(int fd, const std::string& verb, std::istream& line) {
    if (verb == "open") return Outcome(fd < 0 ? -1 : 0);
    if (verb == "sync") return Outcome(fsync(fd));
    if (verb == "drop") return Outcome(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
    int64_t number = 0, count = 0;
    line >> number;
    if (verb == "cut") return Outcome(ftruncate(fd, number));
    if (verb == "grow") {
      errno = posix_fallocate(fd, 0, number);
      return Outcome(errno == 0 ? 0 : -1);
    }
    if (verb == "write") {
      char byte;
      line >> byte >> count;
      const std::string bytes(static_cast<size_t>(count), byte);
      return Outcome(pwrite(fd, bytes.data(), bytes.size(), number));
    }
    if (verb != "bytes") return "unknown";
    line >> count;
    std::string bytes(static_cast<size_t>(count), '\0');
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), number);
    if (got < 0) return Outcome(got);
    bytes.resize(static_cast<size_t>(got));
    for (char& byte : bytes) byte = byte == '\0' ? '.' : byte;
    return bytes;
  }

  const std::string folder_;
};

}  // namespace

int main(int, char** arguments) {
  Probe probe(arguments[1]);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::cout << probe.Do(words) << std::endl;
  }
}
