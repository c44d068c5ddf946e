#include "gateway/memory/held_bytes.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "translate/error.h"

namespace stampgate {
namespace {

struct Bound {
  absl::string_view holder;
  absl::string_view setting;
  int64_t bytes;
};

Bound BoundOf(MemoryBound limit, const MemoryAccount::Limits& limits) {
  switch (limit) {
    case MemoryBound::kConnection:
      return {"this connection", "memory.max_bytes_per_connection", limits.max_bytes_per_connection};
    case MemoryBound::kIdentity:
      return {"the connections of this identity", "memory.max_bytes_per_identity", limits.max_bytes_per_identity};
    case MemoryBound::kAll:
      break;
  }
  return {"all connections", "the part of memory.max_bytes for callers", limits.max_bytes};
}

absl::Status TooMuchMemory(MemoryBound limit, const MemoryAccount::Limits& limits) {
  const Bound bound = BoundOf(limit, limits);
  Error error =
      GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MUCH_MEMORY,
                   absl::StrCat("the calls of ", bound.holder, " hold too much of the gateway's memory: the limit is ",
                                bound.setting, ", ", bound.bytes, " bytes"));
  error.retry_delay = absl::Seconds(1);
  return ToStatus(error);
}

}  // namespace

absl::Status HeldBytes::Resize(size_t bytes) {
  if (holder_ == nullptr) return absl::OkStatus();
  const int64_t wanted = static_cast<int64_t>(bytes - std::min(bytes, free_));
  const int64_t more = wanted - reserved_;
  if (more > 0) {
    const std::optional<MemoryBound> exceeded = holder_->Reserve(more);
    if (exceeded.has_value()) return TooMuchMemory(*exceeded, holder_->limits());
  } else if (more < 0) {
    holder_->Release(-more);
  }
  reserved_ = wanted;
  return absl::OkStatus();
}

void HeldBytes::Free() {
  if (reserved_ > 0) holder_->Release(std::exchange(reserved_, 0));
}

}  // namespace stampgate
