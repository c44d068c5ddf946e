// How much sooner than its caller a call must end.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_

#include "absl/time/time.h"

namespace stampgate {

// Upstream's part of a call ends this much before the caller's deadline, so that the caller still hears how it ended.
// `time_left` is until that deadline, as the gateway sees it.
//
// The margin is the time that the answer may take, and what the caller's library may have added: gRPC's C core, which
// C++, Python, Ruby and PHP use, rounds the deadline that it sends up. It rounds to the next 10 ms below 10 s, to 100
// ms from there on, and to a second from 100 s on.
absl::Duration AnswerMargin(absl::Duration time_left);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
