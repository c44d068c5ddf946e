// Memory that a call has reserved in the account of its client.
#ifndef STAMPGATE_GATEWAY_MEMORY_HELD_BYTES_H_
#define STAMPGATE_GATEWAY_MEMORY_HELD_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "gateway/memory/account.h"

namespace stampgate {

// Reserves memory before it is allocated, and returns it when it is destroyed. Not thread-safe.
class HeldBytes {
 public:
  // Without a holder, all memory is free. A call has none if its connection ended long ago, and in tests.
  HeldBytes() = default;
  // The first `free` bytes reserve nothing, because they count already: in MemoryAccount::kStreamBytes, or in what
  // another part of the call has reserved.
  explicit HeldBytes(std::shared_ptr<MemoryHolder> holder, size_t free = 0) : holder_(std::move(holder)), free_(free) {}
  HeldBytes(HeldBytes&& other) noexcept
      : holder_(std::move(other.holder_)), free_(other.free_), reserved_(std::exchange(other.reserved_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(holder_, other.holder_);
    std::swap(free_, other.free_);
    std::swap(reserved_, other.reserved_);
    return *this;
  }
  ~HeldBytes() { Free(); }

  // Sets how many bytes are held. Never fails if they are fewer than before. Error: RESOURCE_EXHAUSTED
  // (TOO_MUCH_MEMORY), with the name of the bound; then as many are held as before.
  absl::Status Resize(size_t bytes);

  void Free();

  // Whether memory is reserved.
  bool reserves() const { return reserved_ > 0; }

  const std::shared_ptr<MemoryHolder>& holder() const { return holder_; }

 private:
  std::shared_ptr<MemoryHolder> holder_;
  size_t free_ = 0;
  int64_t reserved_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_MEMORY_HELD_BYTES_H_
