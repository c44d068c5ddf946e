// The header that says when a delivery was sent, for those who receive its event.
#ifndef STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
#define STAMPGATE_TESTS_BENCH_SENT_HEADER_H_

#include <cstddef>

namespace stampgate::bench {

// One of the operator's headers, which an event keeps; not signed, so that deliveries can be signed long before they
// are sent. Its value is the time in nanoseconds since 1970, of this machine's clock.
inline constexpr char kSentHeader[] = "X-Service-Bench-Sent";
inline constexpr size_t kSentDigits = 19;

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
