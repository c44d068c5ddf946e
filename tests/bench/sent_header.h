// The header that states when a delivery was sent, so that subscribers can measure its latency.
#ifndef STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
#define STAMPGATE_TESTS_BENCH_SENT_HEADER_H_

#include <cstddef>

namespace stampgate::bench {

// The gateway stores this header with the event, because its name begins with "X-" and upstream's name. The signature
// does not cover the header, so deliveries can be signed long before they are sent. The value is the time in
// nanoseconds since 1970.
inline constexpr char kSentHeader[] = "X-Service-Bench-Sent";
inline constexpr size_t kSentDigits = 19;

}  // namespace stampgate::bench

#endif  // STAMPGATE_TESTS_BENCH_SENT_HEADER_H_
