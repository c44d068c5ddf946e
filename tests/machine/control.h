#pragma once

#include <cstddef>
#include <cstdint>

namespace stampgate {

// The content of a file with settings and counters, which the test shares with the process under test: the process maps
// the file, and the test reads and writes it. machine.mjs relies on the order of the members.
//
// The test and the process may access every member at any time. The process accesses members only with Load(), Store()
// and Add().
struct Control {
  int64_t clock_offset_ns;   // the time by which CLOCK_REALTIME is ahead of the system's clock
  int64_t random;            // the state of NextRandom()
  int64_t failing_skip;      // the number of matching syncs that succeed before others fail
  int64_t failing_count;     // the number of matching syncs that fail after these
  int64_t failing_keep_256;  // the average number of pages that a failing sync writes, out of 256 dirty pages
  int64_t hanging;           // 0: no sync hangs; n: matching syncs hang, from the n-th on
  int64_t slow_us;           // every sync takes at least this long
  int64_t free_bytes;        // bytes by which files can grow before writes fail with ENOSPC; negative: unlimited
  int64_t
      write_back_1024;  // the chance in 1024 that, after a write, some dirty pages of the file are written to the disk
  // Counters.
  int64_t syncs;    // successful syncs
  int64_t failed;   // failed syncs
  int64_t waiting;  // syncs that hang now
  int64_t refused;  // writes that failed with ENOSPC
  // A sync of a file or folder matches if the path relative to the watched folder contains this text.
  char match[128];
};

inline constexpr size_t kControlBytes = 4096;

// Returns the mapped Control of this process, or null if the process is not under test. It is the file "control" in the
// control folder, which STAMPGATE_MACHINE names.
Control* GetControl();

// Return the folder whose files are tracked, which STAMPGATE_MACHINE_WATCHED names, and the control folder. Neither
// path ends in a slash.
const char* WatchedFolder();
const char* ControlFolder();

int64_t Load(const int64_t& member);
void Store(int64_t& member, int64_t value);
// Adds `amount` and returns the previous value.
int64_t Add(int64_t& member, int64_t amount);

// If `member` is above `least`, decrements it and returns true; otherwise returns false.
bool TakeOne(int64_t& member, int64_t least = 0);

// Returns the next random number of the sequence that the test has seeded.
uint64_t NextRandom(Control& control);

}  // namespace stampgate
