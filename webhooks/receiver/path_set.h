// The paths that a server answers to, compared without telling anything about them.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Immutable. A path is a secret: who knows it may deliver.
class PathSet {
 public:
  explicit PathSet(const std::vector<std::string>& paths);

  // Whether `target` is, byte for byte, one of the paths. The time it takes says how long `target` is and no more.
  bool Has(absl::string_view target) const;

 private:
  std::vector<std::array<uint8_t, 32>> digests_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_PATH_SET_H_
