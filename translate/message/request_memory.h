// The memory that one call holds for its request.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_REQUEST_MEMORY_H_
#define STAMPGATE_TRANSLATE_MESSAGE_REQUEST_MEMORY_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"

namespace stampgate {

// A request of `request_bytes` bytes makes its call hold at most this many bytes: the request as received, the values
// that the gateway parses from it, and the body that the gateway renders from them. That is four times the request, but
// each call may hold 512 KiB, because in JSON a small request can be much larger.
inline constexpr size_t kMostBytesPerByte = 4;
inline constexpr size_t kSmallRequestBytes = 128 << 10;
constexpr size_t MostBytesHeld(size_t request_bytes) {
  return kMostBytesPerByte * std::max(request_bytes, kSmallRequestBytes);
}

// The largest body of a request to upstream, in bytes.
inline constexpr size_t kMaxBodyBytes = 4 << 20;

// Counts what one call holds for its request, and owns the arena with the parsed values. Not thread-safe.
class RequestMemory {
 public:
  // Before Receive, the call may hold `most` bytes.
  explicit RequestMemory(size_t most = MostBytesHeld(0)) : most_(most) {}

  // Counts a request of `request_bytes` bytes, which the caller of this function holds. The call may now hold
  // MostBytesHeld(request_bytes) bytes, or still the number of the constructor, if that is larger.
  void Receive(size_t request_bytes);

  // Counts bytes that are held outside of this object.
  void Count(size_t bytes) { counted_ += bytes; }
  // Must be called when bytes that were counted are held no longer, or not by this call.
  void Release(size_t bytes) { counted_ -= bytes; }

  // Copies `a` and `b` into one text, which lives as long as this object. Error: Exceeded().
  absl::StatusOr<absl::string_view> Keep(absl::string_view a, absl::string_view b);

  // Frees the arena and everything that was counted.
  void Free() {
    arena_.Reset();
    counted_ = 0;
  }

  // The arena does not know the limit: allocate on it only what Left() allows.
  google::protobuf::Arena& arena() { return arena_; }

  // The bytes that the call holds now.
  size_t held() const { return counted_ + arena_.SpaceAllocated(); }

  // The bytes that the call may allocate in addition. Keeps kSpareBytes back for the rest of the arena's last block and
  // for short texts without a count, such as the path and an error.
  size_t Left() const { return most_ - std::min(most_, held() + kSpareBytes); }

  // Returns kResourceExhausted: the request would need more. The message begins with "needs", and names the rule.
  absl::Status Exceeded() const;

 private:
  static constexpr size_t kSpareBytes = 40 << 10;  // the arena has blocks of up to 32 KiB

  size_t most_;
  size_t counted_ = 0;
  google::protobuf::Arena arena_;
};

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_REQUEST_MEMORY_H_
