// The time between the end of upstream's part of a call and the caller's deadline.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_

#include "absl/time/time.h"

namespace stampgate {

// Returns how long before the caller's deadline upstream's part of a call must end, so that the caller still receives
// the reply. `time_left` is the time until the caller's deadline, as the gateway computes it.
//
// The margin is the sum of two times: the time that the reply can need, and the time by which the caller's gRPC library
// can have lengthened the timeout. The C core of gRPC, which C++, Python, Ruby and PHP use, rounds up the timeout that
// it sends: a timeout of 1 s or more to a multiple of 10 ms, of 10 s or more to a multiple of 100 ms, and of 100 s or
// more to a multiple of one second.
absl::Duration AnswerMargin(absl::Duration time_left);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
