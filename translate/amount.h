// The text of an amount, as upstream takes it.
#ifndef STAMPGATE_TRANSLATE_AMOUNT_H_
#define STAMPGATE_TRANSLATE_AMOUNT_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// The amount that means all there is.
inline constexpr absl::string_view kWholeAmount = "MAX";

// Whether `text` is kWholeAmount or a number in raw on-chain units: 1 to 78 decimal digits without a leading zero. 78
// digits hold the largest number of 256 bits.
bool IsAmount(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_AMOUNT_H_
