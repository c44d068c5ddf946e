// Finds the known name that is most similar to a misspelt text.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_NEAREST_NAME_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_NEAREST_NAME_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the name that can be made from `text` with the fewest changes of single letters. If several names need the
// same number of changes, returns the first of them. Upper and lower case count as equal. Returns an empty text if
// every name needs more than three changes, or more changes than half the number of letters in `text`. Uses only the
// first 128 bytes of `text`.
absl::string_view NearestName(absl::string_view text, const std::vector<absl::string_view>& names);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_NEAREST_NAME_H_
