// Checks whether a text is the amount of a transfer.
#ifndef STAMPGATE_TRANSLATE_AMOUNT_H_
#define STAMPGATE_TRANSLATE_AMOUNT_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// The amount that means the whole balance.
inline constexpr absl::string_view kWholeAmount = "MAX";

// Returns true if `text` is kWholeAmount or a number of raw on-chain units: 1 to 78 decimal digits without a leading
// zero. (The largest number of 256 bits has 78 digits.)
bool IsAmount(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_AMOUNT_H_
