// The paths that a server accepts. The time that a comparison takes does not reveal the paths.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// A set of paths. Immutable. A path is a secret, because a peer that knows it can send deliveries.
class PathSet {
 public:
  explicit PathSet(const std::vector<std::string>& paths);

  // Returns whether `target` equals one of the paths, byte for byte. The time that this takes depends only on the
  // length of `target`.
  bool Has(absl::string_view target) const;

 private:
  std::vector<std::array<uint8_t, 32>> digests_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
