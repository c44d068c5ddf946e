// The names of upstream's activity types.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_ACTIVITY_TYPE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_ACTIVITY_TYPE_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns an activity type without its version: "ACTIVITY_TYPE_VERIFY_OTP" for "ACTIVITY_TYPE_VERIFY_OTP_V2". Upstream
// also accepts older versions of a type.
absl::string_view WithoutVersion(absl::string_view type);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_ACTIVITY_TYPE_H_
