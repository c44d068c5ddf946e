// A library for LD_PRELOAD that steps the wall clock by STAMPGATE_CLOCK_STEP_SECONDS whenever something is synced: so
// the clock steps in the midst of every call that waits for its record in the audit. CLOCK_MONOTONIC is left alone.
#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<time_t> offset_seconds;

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int Sync(const char* name, int descriptor) {
  if (const char* step = getenv("STAMPGATE_CLOCK_STEP_SECONDS")) offset_seconds += atoll(step);
  return Next<int(int)>(name)(descriptor);
}

}  // namespace

extern "C" int fsync(int descriptor) { return Sync("fsync", descriptor); }
extern "C" int fdatasync(int descriptor) { return Sync("fdatasync", descriptor); }

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const next = Next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset_seconds;
  return result;
}
