#pragma once

#include <cstddef>
#include <cstdint>

namespace stampgate {

// What the test sets and reads while the process under test runs: a file that the process maps and the test reads and
// writes. It outlives the process. machine.mjs knows the layout by the order of the members.
//
// Both sides use every member at any time: in the process only by Load(), Store() and Add().
struct Control {
  int64_t clock_offset_ns;   // what CLOCK_REALTIME shows beyond the system's clock
  int64_t random;            // the state of NextRandom()
  int64_t failing_skip;      // so many matching syncs still succeed,
  int64_t failing_count;     // and then so many fail
  int64_t failing_keep_256;  // of 256 dirty pages, a failing sync writes so many on average
  int64_t hanging;           // 0: none waits; else the number of the next matching sync that waits, and all after it
  int64_t slow_us;           // every sync lasts at least so long
  int64_t free_bytes;        // how much files may still grow before writes fail with ENOSPC; negative: any amount
  int64_t write_back_1024;   // after a write, the chance in 1024 that some dirty pages of the file are written back
  // Counters.
  int64_t syncs;    // that succeeded
  int64_t failed;   // syncs that failed
  int64_t waiting;  // syncs that wait now
  int64_t refused;  // writes that failed with ENOSPC
  // Syncs of files and folders match whose path under the watched folder contains this text.
  char match[128];
};

inline constexpr size_t kControlBytes = 4096;

// The process's control, or null if the process is not under test. STAMPGATE_MACHINE names the control folder, where
// the control is the file "control".
Control* GetControl();

// The folder whose files are tracked, without a slash at its end. STAMPGATE_MACHINE_WATCHED names it.
const char* WatchedFolder();
const char* ControlFolder();

int64_t Load(const int64_t& member);
void Store(int64_t& member, int64_t value);
// Returns the value of before.
int64_t Add(int64_t& member, int64_t amount);

// Lowers `member` by one if it is above `least`. Returns whether it was.
bool TakeOne(int64_t& member, int64_t least = 0);

// A random number of the control's sequence.
uint64_t NextRandom(Control& control);

}  // namespace stampgate
