#include "gateway/calls/counted_call.h"

#include <utility>

#include "absl/time/time.h"

namespace stampgate {

CountedCall::CountedCall(CallMetrics& metrics, absl::string_view method) : metrics_(metrics), method_(method) {
  metrics_.in_flight.Increment();
}

CountedCall::~CountedCall() {
  if (!ended_) metrics_.in_flight.Decrement();
}

void CountedCall::End(const absl::Status& status) {
  if (std::exchange(ended_, true)) return;
  metrics_.CountEnd(method_, status, absl::FromChrono(Clock::now() - started_));
  metrics_.in_flight.Decrement();
}

}  // namespace stampgate
