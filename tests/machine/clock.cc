// Replaces the functions that read the wall clock or wait for it, so that a test can move this clock. Does not change
// CLOCK_MONOTONIC.
#include "absl/time/clock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "tests/machine/control.h"
#include "tests/machine/next.h"

namespace stampgate {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// A wait until a wall-clock time consists of slices of this length. After each slice it reads the clock again, because
// a step of the clock moves the end of the wait.
constexpr int64_t kSliceNs = kSecondNs / 10;

int64_t OffsetNs() {
  const Control* control = GetControl();
  return control == nullptr ? 0 : Load(control->clock_offset_ns);
}

timespec Shifted(const timespec& time, int64_t by_ns) {
  const int64_t ns = time.tv_nsec + by_ns % kSecondNs;
  const int64_t carry = ns < 0 ? -1 : ns / kSecondNs;
  return {time.tv_sec + by_ns / kSecondNs + carry, ns - carry * kSecondNs};
}

// The end, by the system's clock, of a wait until `deadline`, a time of the moved clock; or the end of the current
// slice if that is earlier.
struct WaitEnd {
  explicit WaitEnd(const timespec& deadline) : end(Shifted(deadline, -OffsetNs())) {
    timespec now;
    NEXT(clock_gettime)(CLOCK_REALTIME, &now);
    const timespec slice = Shifted(now, kSliceNs);
    is_slice = slice.tv_sec < end.tv_sec || (slice.tv_sec == end.tv_sec && slice.tv_nsec < end.tv_nsec);
    if (is_slice) end = slice;
  }

  timespec end;
  bool is_slice = false;
};

bool IsWall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI; }

}  // namespace
}  // namespace stampgate

namespace absl {
ABSL_NAMESPACE_BEGIN

// Replaces Abseil's function, which counts the cycles of the processor and reads the clock only every two seconds. It
// would show a step of the clock up to two seconds late.
int64_t GetCurrentTimeNanos() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * stampgate::kSecondNs + now.tv_nsec;
}

ABSL_NAMESPACE_END
}  // namespace absl

using stampgate::WaitEnd;

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = NEXT(clock_gettime)(clock, time);
  if (result == 0 && stampgate::IsWall(clock)) *time = stampgate::Shifted(*time, stampgate::OffsetNs());
  return result;
}

int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* seconds) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                           const timespec* __restrict deadline) {
  // glibc stores in this bit whether pthread_condattr_setclock() has chosen CLOCK_MONOTONIC.
  constexpr unsigned kMonotonic = 2;
  if ((condition->__data.__wrefs & kMonotonic) != 0) {
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, deadline);
  }
  const WaitEnd wait(*deadline);
  const int result = pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &wait.end);
  // To the caller, the end of a slice looks like a spurious wake-up.
  return result == ETIMEDOUT && wait.is_slice ? 0 : result;
}

// Abseil waits with futexes, through this function.
long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  const auto next = NEXT(syscall);
  const bool is_wall_wait = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
                            (a[1] & FUTEX_CLOCK_REALTIME) != 0 && a[3] != 0;
  if (!is_wall_wait) return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  timespec deadline;
  std::memcpy(&deadline, reinterpret_cast<void*>(a[3]), sizeof deadline);  // NOLINT(performance-no-int-to-ptr)
  const WaitEnd wait(deadline);
  const long result = next(number, a[0], a[1], a[2], &wait.end, a[4], a[5]);
  // At the end of a slice, returns as if a signal had interrupted the wait.
  if (result != 0 && errno == ETIMEDOUT && wait.is_slice) errno = EINTR;
  return result;
}

}  // extern "C"
