// The header that states when a delivery was sent, for subscribers that measure its latency.
#ifndef STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
#define STAMPGATE_TESTS_BENCH_SENT_HEADER_H_

#include <cstddef>

namespace stampgate::bench {

// One of the operator's headers, which an event keeps. It is not signed, so that deliveries can be signed long before
// they are sent. Its value is the time in nanoseconds since 1970, by this machine's clock.
inline constexpr char kSentHeader[] = "X-Service-Bench-Sent";
inline constexpr size_t kSentDigits = 19;

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
