// Checks that a duration in the config is within its range.
#ifndef STAMPGATE_GATEWAY_CONFIG_DURATION_RANGE_H_
#define STAMPGATE_GATEWAY_CONFIG_DURATION_RANGE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/config/duration.h"
#include "gateway/config/fault_report.h"
#include "google/protobuf/duration.pb.h"

namespace stampgate {

// Reports a fault at `path` unless `value` is from `minimum` to `maximum`.
inline void CheckRange(const google::protobuf::Duration& value, absl::Duration minimum, const std::string& path,
                       ConfigReport& report, absl::Duration maximum = absl::Minutes(10)) {
  if (ToDuration(value) < minimum || ToDuration(value) > maximum) {
    report.Add(path,
               absl::StrCat("must be from ", absl::FormatDuration(minimum), " to ", absl::FormatDuration(maximum)));
  }
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_DURATION_RANGE_H_
