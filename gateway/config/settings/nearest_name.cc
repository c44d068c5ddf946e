#include "gateway/config/settings/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"

namespace stampgate {
namespace {

// The time of a comparison is proportional to the product of both lengths. So NearestName uses only this many bytes of
// `text`.
constexpr size_t kMostBytes = 128;
constexpr size_t kMostChanges = 3;

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (absl::ascii_tolower(a[i]) != absl::ascii_tolower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

absl::string_view NearestName(absl::string_view text, const std::vector<absl::string_view>& names) {
  absl::string_view nearest;
  size_t nearest_distance = std::min(kMostChanges, text.size() / 2) + 1;
  for (const absl::string_view name : names) {
    const size_t distance = EditDistance(text.substr(0, kMostBytes), name);
    if (distance >= nearest_distance) continue;
    nearest = name;
    nearest_distance = distance;
  }
  return nearest;
}

}  // namespace stampgate
