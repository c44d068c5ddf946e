#include "translate/operation_set/activity_type.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace stampgate {

absl::string_view WithoutVersion(absl::string_view type) {
  size_t end = type.size();
  while (end > 0 && absl::ascii_isdigit(type[end - 1])) --end;
  const bool versioned = end < type.size() && absl::EndsWith(type.substr(0, end), "_V");
  return versioned ? type.substr(0, end - 2) : type;
}

}  // namespace stampgate
