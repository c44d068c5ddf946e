#pragma once

#include <cstddef>
#include <cstdint>

namespace stampgate {

// Settings and counters that the test shares with the process under test: a file that the process maps and the test
// reads and writes. It outlives the process. machine.mjs relies on the order of the members.
//
// Both sides may use every member at any time; the process uses only Load(), Store() and Add().
struct Control {
  int64_t clock_offset_ns;   // how far CLOCK_REALTIME is ahead of the system's clock
  int64_t random;            // the state of NextRandom()
  int64_t failing_skip;      // this many matching syncs still succeed,
  int64_t failing_count;     // and then this many fail
  int64_t failing_keep_256;  // of 256 dirty pages, a failing sync writes this many on average
  int64_t hanging;     // 0: no sync hangs; else the number of the first matching sync that hangs, with all later ones
  int64_t slow_us;     // every sync takes at least this long
  int64_t free_bytes;  // how much files may still grow before writes fail with ENOSPC; negative: unlimited
  int64_t write_back_1024;  // after a write, the chance in 1024 that some dirty pages of the file are written back
  // Counters.
  int64_t syncs;    // successful syncs
  int64_t failed;   // failed syncs
  int64_t waiting;  // syncs that hang now
  int64_t refused;  // writes that failed with ENOSPC
  // A sync of a file or folder matches if its path below the watched folder contains this text.
  char match[128];
};

inline constexpr size_t kControlBytes = 4096;

// The process's control, or null if the process is not under test. STAMPGATE_MACHINE names the control folder, in which
// the control is the file "control".
Control* GetControl();

// The folder whose files are tracked, without a final slash. STAMPGATE_MACHINE_WATCHED names it.
const char* WatchedFolder();
const char* ControlFolder();

int64_t Load(const int64_t& member);
void Store(int64_t& member, int64_t value);
// Returns the previous value.
int64_t Add(int64_t& member, int64_t amount);

// Lowers `member` by one if it is above `least`. Returns whether it was.
bool TakeOne(int64_t& member, int64_t least = 0);

// A random number of the control's sequence.
uint64_t NextRandom(Control& control);

}  // namespace stampgate
