// What a reload of files besides the config has done.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADED_MORE_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADED_MORE_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

struct ReloadedMore {
  absl::Status status;
  absl::Duration wait = absl::ZeroDuration();  // if not zero: a file may be read after this time (see SettledFile)
};

// Returns the shorter of two times after which a file may be read. Zero means that there is no such file.
inline absl::Duration ShorterWait(absl::Duration a, absl::Duration b) {
  if (a == absl::ZeroDuration() || b == absl::ZeroDuration()) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADED_MORE_H_
