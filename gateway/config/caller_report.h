// What `stampgate check --as` says of one caller.
#ifndef STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_
#define STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/config/config.h"

namespace stampgate {

// Lines for people: what the caller called `name` may do, which keys sign where its grants name none, and which of its
// grants' organizations could not be read. Error: kNotFound, there is no such caller.
absl::StatusOr<std::string> DescribeCaller(const Config& config, absl::string_view name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CALLER_REPORT_H_
