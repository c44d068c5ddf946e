// Converts durations in the config.
#ifndef STAMPGATE_GATEWAY_CONFIG_DURATION_H_
#define STAMPGATE_GATEWAY_CONFIG_DURATION_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace stampgate {

inline absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_DURATION_H_
