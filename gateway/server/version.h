// The version of the program.
#ifndef STAMPGATE_GATEWAY_SERVER_VERSION_H_
#define STAMPGATE_GATEWAY_SERVER_VERSION_H_

#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr absl::string_view kVersion = "0.3.0-dev";

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_VERSION_H_
