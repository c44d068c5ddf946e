// How many cores the process may use.
#ifndef STAMPGATE_BASE_THREADS_CORE_COUNT_H_
#define STAMPGATE_BASE_THREADS_CORE_COUNT_H_

#include <cstddef>
#include <string>

namespace stampgate {

// Returns the number of cores on which this process may run at the same time: at least one, and 16 at most, because
// each core costs a loop with its own connections. This is the number of cores in the affinity mask of the thread, or
// the CPU quota of the process's control group (cgroups v2) if that is smaller. A part of a core counts as a core.
size_t CoreCount();

// The same for other files. `root` is the mount point of the control groups, and `membership` is a file like
// /proc/self/cgroup. Returns `cores` if no control group limits them, or if the files cannot be read.
size_t CoreCountInGroup(size_t cores, const std::string& root, const std::string& membership);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_CORE_COUNT_H_
