#include "gateway/store/call_copy.h"

namespace stampgate {

absl::StatusOr<int64_t> CopyCalls(CallSource& source, CallTarget& target) {
  for (int64_t keys = 0;;) {
    const absl::StatusOr<std::vector<CallRow>> rows = source.Next();
    if (!rows.ok()) return rows.status();
    if (rows->empty()) {
      if (absl::Status status = target.Finish(source.outline()); !status.ok()) return status;
      return keys;
    }
    if (absl::Status status = target.Add(*rows); !status.ok()) return status;
    keys += static_cast<int64_t>(rows->size());
  }
}

}  // namespace stampgate
