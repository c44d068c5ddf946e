// The TLS handshakes that failed. gRPC 1.51 tells of them in its log, and nowhere else.
#ifndef STAMPGATE_GATEWAY_FAILED_HANDSHAKES_H_
#define STAMPGATE_GATEWAY_FAILED_HANDSHAKES_H_

#include <cstdint>

namespace stampgate {

// From now on, gRPC's log is read for them and is not written anywhere: whoever comes without a good certificate would
// fill it.
void CountFailedHandshakes();

// How many there were, with peers of all kinds. Thread-safe.
int64_t FailedHandshakes();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FAILED_HANDSHAKES_H_
