// Random numbers that are not secret.
#ifndef STAMPGATE_GATEWAY_PROCESS_RANDOM_H_
#define STAMPGATE_GATEWAY_PROCESS_RANDOM_H_

#include <cstdint>

#include "absl/random/random.h"

namespace stampgate {

// Returns a random number. Each thread has its own generator, so that calls do not wait for each other.
inline uint64_t RandomOfThread() {
  thread_local absl::InsecureBitGen generator;
  return generator();
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_RANDOM_H_
