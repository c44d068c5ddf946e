// Converts durations between Protocol Buffers and Abseil.
#ifndef STAMPGATE_BASE_TIME_DURATION_H_
#define STAMPGATE_BASE_TIME_DURATION_H_

#include <cstdint>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace stampgate {

inline absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// `duration` must be finite.
inline google::protobuf::Duration ToProto(absl::Duration duration) {
  absl::Duration rest;
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return proto;
}

}  // namespace stampgate

#endif  // STAMPGATE_BASE_TIME_DURATION_H_
