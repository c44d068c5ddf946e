#include "translate/amount.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"

namespace stampgate {
namespace {

constexpr size_t kMaxDigits = 78;

}  // namespace

bool IsAmount(absl::string_view text) {
  if (text == kWholeAmount) return true;
  return !text.empty() && text.size() <= kMaxDigits && absl::c_all_of(text, absl::ascii_isdigit) &&
         (text[0] != '0' || text.size() == 1);
}

}  // namespace stampgate
