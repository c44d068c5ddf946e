// The control groups (cgroups) that limit this process.
#ifndef STAMPGATE_BASE_THREADS_CONTROL_GROUPS_H_
#define STAMPGATE_BASE_THREADS_CONTROL_GROUPS_H_

#include <string>
#include <vector>

namespace stampgate {

// Where the system mounts the control groups, and where it states the groups of this process.
inline constexpr char kControlGroupRoot[] = "/sys/fs/cgroup";
inline constexpr char kControlGroupMembership[] = "/proc/self/cgroup";

// Returns the folders of the control groups in which the process is, and of all groups above them, whose limits for
// `controller`, such as "memory", hold for the process: those of version 2, and those of version 1, which have a
// hierarchy for each controller. `root` and `membership` are a folder and a file like the two above. Not every folder
// exists: in a container, the path can be that of the machine, while `root` is the group of the container.
std::vector<std::string> ControlGroupFolders(const std::string& controller, const std::string& root,
                                             const std::string& membership);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_CONTROL_GROUPS_H_
