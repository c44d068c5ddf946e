// A connection whose memory a test can use up.
#ifndef STAMPGATE_GATEWAY_MEMORY_TESTING_H_
#define STAMPGATE_GATEWAY_MEMORY_TESTING_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "gateway/memory/account.h"

namespace stampgate {

// The only connection of an account.
class TestMemory {
 public:
  const std::shared_ptr<MemoryHolder>& holder() const { return holder_; }

  // Returns how many bytes the calls hold.
  int64_t held() const { return account_->bytes() - MemoryAccount::kConnectionBytes - taken_; }

  // Leaves the calls `left` bytes.
  void TakeAllBut(int64_t left) {
    for (int64_t step = account_->limits().max_bytes_per_connection; step > 0; step /= 2) {
      while (holder_->Reserve(step) == std::nullopt) taken_ += step;
    }
    holder_->Release(left);
    taken_ -= left;
  }

 private:
  const std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>(MemoryAccount::Limits());
  const std::shared_ptr<MemoryHolder> holder_ = account_->Open("a", [](MemoryBound) {});
  int64_t taken_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_MEMORY_TESTING_H_
