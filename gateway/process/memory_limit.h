// The limit of the memory that this process can use, and how much the gateway can need.
#ifndef STAMPGATE_GATEWAY_PROCESS_MEMORY_LIMIT_H_
#define STAMPGATE_GATEWAY_PROCESS_MEMORY_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// The memory that the gateway uses for itself, beside what its clients make it hold: a gateway at rest uses about half
// of it, and the rest is for free memory that the allocator keeps.
inline constexpr int64_t kBaseMemoryBytes = 128 << 20;
// The memory that a shared subscription can need for the events that it knows: 8 MiB for those that are not settled, 4
// MiB for parked ones, and 4 MiB for events that its consumers will get next. More subscriptions than
// kMostFullSubscriptions share what so many can need.
inline constexpr int64_t kSubscriptionBytes = 16 << 20;
inline constexpr int kMostFullSubscriptions = 10;

struct MemoryLimit {
  int64_t bytes = 0;
  std::string source = {};  // what sets the limit, such as "the control group /sys/fs/cgroup (memory.max)"
};

// Returns the lowest limit for this process: that of its control groups and of all groups above them (versions 1 and
// 2), that of the process itself (`ulimit -v` and `ulimit -d`), or the memory of the machine. Returns nothing if none
// can be read.
std::optional<MemoryLimit> LowestMemoryLimit();

// Returns the lowest limit of the control groups only. `root` and `membership` are those of ControlGroupFolders.
std::optional<MemoryLimit> ControlGroupMemoryLimit(const std::string& root, const std::string& membership);

// Returns the warning that `limit` is lower than the gateway can need, and what the operator can do; nothing if it is
// high enough, or not known. `own_bytes` is what the gateway needs for itself, `held_bytes` what clients can make it
// hold, and `settings` are the names of the settings that limit the latter.
std::optional<std::string> MemoryWarning(const std::optional<MemoryLimit>& limit, int64_t own_bytes, int64_t held_bytes,
                                         absl::string_view settings);

// Returns what a gateway with `config` needs for itself.
int64_t OwnMemoryBytes(const config::v1::Config& config);

// The same for this process, with the limits of `config`. Requires that all defaults of `config` are set.
std::optional<std::string> MemoryWarning(const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_MEMORY_LIMIT_H_
