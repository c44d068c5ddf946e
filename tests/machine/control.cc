#include "tests/machine/control.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/machine/next.h"

namespace stampgate {
namespace {

// Aborts the process: if it does not run on the machine that the test configured, the test proves nothing.
[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

std::string FolderNamedBy(const char* variable) {
  const char* name = std::getenv(variable);
  char path[PATH_MAX];
  if (name == nullptr || realpath(name, path) == nullptr) Die(variable);
  return path;
}

Control* Map() {
  if (std::getenv("STAMPGATE_MACHINE") == nullptr) return nullptr;
  const std::string file = std::string(ControlFolder()) + "/control";
  const int fd = NEXT(open)(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) Die(file.c_str());
  void* mapped = mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) Die("mmap");
  return static_cast<Control*>(mapped);
}

}  // namespace

Control* GetControl() {
  static Control* const control = Map();
  return control;
}

const char* WatchedFolder() {
  static const std::string& folder = *new std::string(FolderNamedBy("STAMPGATE_MACHINE_WATCHED"));
  return folder.c_str();
}

const char* ControlFolder() {
  static const std::string& folder = *new std::string(FolderNamedBy("STAMPGATE_MACHINE"));
  return folder.c_str();
}

int64_t Load(const int64_t& member) { return std::atomic_ref(const_cast<int64_t&>(member)).load(); }
void Store(int64_t& member, int64_t value) { std::atomic_ref(member).store(value); }
int64_t Add(int64_t& member, int64_t amount) { return std::atomic_ref(member).fetch_add(amount); }

bool TakeOne(int64_t& member, int64_t least) {
  std::atomic_ref<int64_t> left(member);
  int64_t value = left.load();
  while (value > least) {
    if (left.compare_exchange_weak(value, value - 1)) return true;
  }
  return false;
}

// The SplitMix64 generator.
uint64_t NextRandom(Control& control) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t z = static_cast<uint64_t>(Add(control.random, static_cast<int64_t>(kStep))) + kStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace stampgate
