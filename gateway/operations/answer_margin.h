// The time that upstream's part of a call must leave for the reply.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_

#include "absl/time/time.h"

namespace stampgate {

// Upstream's part of a call must end this long before the caller's deadline, so that the caller still receives the
// reply. `time_left` is the time until that deadline, as the gateway sees it.
//
// The margin has two parts: the time that the reply may take, and the time that the caller's library may have added.
// The C core of gRPC, which C++, Python, Ruby and PHP use, rounds up the deadline that it sends: to 10 ms below 10 s,
// to 100 ms from 10 s, and to one second from 100 s.
absl::Duration AnswerMargin(absl::Duration time_left);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ANSWER_MARGIN_H_
