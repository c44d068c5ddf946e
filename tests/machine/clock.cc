// A wall clock that the test moves. CLOCK_MONOTONIC stays the system's.
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
// How often a wait until a wall-clock time reads the clock: a step of the clock moves the end of the wait too.
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

// When a wait until `deadline` of the moved clock ends by the system's clock, or when its current slice ends.
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

// Abseil's own counts the processor's cycles, and looks at the clock every two seconds: it would show a step that late.
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
  // glibc stores the clock of pthread_condattr_setclock() in this bit.
  constexpr unsigned kMonotonic = 2;
  if ((condition->__data.__wrefs & kMonotonic) != 0) {
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, deadline);
  }
  const WaitEnd wait(*deadline);
  const int result = pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &wait.end);
  // The end of a slice is a spurious wake-up.
  return result == ETIMEDOUT && wait.is_slice ? 0 : result;
}

// Abseil's waits call this.
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
  // Returns as if a signal had ended the wait.
  if (result != 0 && errno == ETIMEDOUT && wait.is_slice) errno = EINTR;
  return result;
}

}  // extern "C"
