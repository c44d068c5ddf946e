// Checks the text of an amount.
#ifndef STAMPGATE_TRANSLATE_AMOUNT_H_
#define STAMPGATE_TRANSLATE_AMOUNT_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// The text that means the whole balance.
inline constexpr absl::string_view kWholeAmount = "MAX";

// Whether `text` is kWholeAmount or a number in raw on-chain units: 1 to 78 decimal digits without a leading zero. The
// largest number of 256 bits has 78 digits.
bool IsAmount(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_AMOUNT_H_
