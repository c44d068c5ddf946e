// Reads from an event when its delivery was sent.
#ifndef STAMPGATE_TESTS_BENCH_SENT_TIME_H_
#define STAMPGATE_TESTS_BENCH_SENT_TIME_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate::bench {

// Returns the time at which the delivery of the event was sent, if the event has the header of sent_header.h. `event`
// is a serialized stampgate.v1.Event. Scans the event without parsing it, because the subscribers run on the same
// machine as the server and should not use the CPU that the server needs.
std::optional<absl::Time> SentTime(absl::string_view event);

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_SENT_TIME_H_
