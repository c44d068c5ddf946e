// The paths that a server accepts, compared without leaking them through timing.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Immutable. A path is a secret: a sender that knows it can send deliveries.
class PathSet {
 public:
  explicit PathSet(const std::vector<std::string>& paths);

  // Whether `target` equals one of the paths, byte for byte. The time depends on the length of `target` only.
  bool Has(absl::string_view target) const;

 private:
  std::vector<std::array<uint8_t, 32>> digests_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
