#include "gateway/process/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/threads/control_groups.h"

namespace stampgate {
namespace {

// The files in which versions 2 and 1 state the limit.
constexpr const char* kLimitFiles[] = {"memory.max", "memory.limit_in_bytes"};

void Lower(std::optional<MemoryLimit>& lowest, MemoryLimit limit) {
  if (!lowest.has_value() || limit.bytes < lowest->bytes) lowest = std::move(limit);
}

void LowerToResource(std::optional<MemoryLimit>& lowest, __rlimit_resource resource, absl::string_view source) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur > rlim_t{std::numeric_limits<int64_t>::max()}) return;
  Lower(lowest, {static_cast<int64_t>(limit.rlim_cur), std::string(source)});
}

}  // namespace

std::optional<MemoryLimit> LowestMemoryLimit() {
  std::optional<MemoryLimit> lowest = ControlGroupMemoryLimit(kControlGroupRoot, kControlGroupMembership);
  LowerToResource(lowest, RLIMIT_AS, "the limit of the process's address space (ulimit -v)");
  LowerToResource(lowest, RLIMIT_DATA, "the limit of the process's data (ulimit -d)");
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) Lower(lowest, {pages * sysconf(_SC_PAGESIZE), "the machine"});
  return lowest;
}

std::optional<MemoryLimit> ControlGroupMemoryLimit(const std::string& root, const std::string& membership) {
  std::optional<MemoryLimit> lowest;
  for (const std::string& folder : ControlGroupFolders("memory", root, membership)) {
    for (const char* name : kLimitFiles) {
      std::ifstream file(absl::StrCat(folder, "/", name));
      std::string text;
      int64_t bytes = 0;
      // Without a limit, the text is "max", or a number that exceeds each memory.
      if (!(file >> text) || !absl::SimpleAtoi(text, &bytes)) continue;
      Lower(lowest, {bytes, absl::StrCat("the control group ", folder, " (", name, ")")});
    }
  }
  return lowest;
}

std::optional<std::string> MemoryWarning(const std::optional<MemoryLimit>& limit, int64_t own_bytes, int64_t held_bytes,
                                         absl::string_view settings) {
  const auto mebibytes = [](int64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); };
  const int64_t need = own_bytes + held_bytes;
  if (!limit.has_value() || need <= limit->bytes) return std::nullopt;
  return absl::StrCat(settings, ": the gateway can need ", mebibytes(need), " of memory (", mebibytes(own_bytes),
                      " for itself, ", mebibytes(held_bytes), " for what its clients make it hold), but ",
                      limit->source, " gives it ", mebibytes(limit->bytes),
                      ": the system can end the gateway; raise the limit, or lower ", settings);
}

int64_t OwnMemoryBytes(const config::v1::Config& config) {
  return kBaseMemoryBytes + std::min(config.subscriptions_size(), kMostFullSubscriptions) * kSubscriptionBytes;
}

std::optional<std::string> MemoryWarning(const config::v1::Config& config) {
  return MemoryWarning(LowestMemoryLimit(), OwnMemoryBytes(config), static_cast<int64_t>(config.memory().max_bytes()),
                       "memory.max_bytes");
}

}  // namespace stampgate
