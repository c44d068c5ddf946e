#include "gateway/process/usage.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/numbers.h"

namespace stampgate {
namespace {

double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

double OpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return errno == EMFILE ? MaxDescriptors() : 0;
  double count = -3;  // excludes ".", ".." and the descriptor of this directory
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double CpuSeconds() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? Seconds(usage.ru_utime) + Seconds(usage.ru_stime) : 0;
}

// Returns the time at which the machine booted, in Unix time.
double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

double StartTime() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The second field is the program's name in brackets, which may contain any characters. The start time is the 20th
  // field after it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  double ticks = 0;
  if (!absl::SimpleAtod(field, &ticks)) return 0;
  return BootTime() + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  static const double start_time = StartTime();
  return {ResidentBytes(), OpenDescriptors(), MaxDescriptors(), CpuSeconds(), start_time};
}

}  // namespace stampgate
