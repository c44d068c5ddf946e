// Which of the names that are known somebody may have meant.
#ifndef STAMPGATE_GATEWAY_CONFIG_NEAREST_NAME_H_
#define STAMPGATE_GATEWAY_CONFIG_NEAREST_NAME_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// The name that `text` becomes with the fewest changes of a letter; upper and lower case count as equal. Of several the
// first. Empty if every name needs more than three changes, or more than half the letters of `text`. Of `text` the
// first 128 bytes count.
absl::string_view NearestName(absl::string_view text, const std::vector<absl::string_view>& names);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_NEAREST_NAME_H_
