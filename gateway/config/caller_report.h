// Makes the report of `stampgate check --as` about one caller.
#ifndef STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_
#define STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/config/config.h"

namespace stampgate {

// Returns lines for the operator about the caller called `name`. The lines state with which client certificates the
// caller connects and what a client with another certificate sees, what the caller may do, what it
// would gain if class_grants_as_of were the newest day, which keys sign where a grant names no key, and which of the
// organizations files of its grants could not be read. Errors: kNotFound if no caller has this name.
absl::StatusOr<std::string> DescribeCaller(const Config& config, absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_
