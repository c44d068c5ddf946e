#include "gateway/store/call_copy.h"

#include "absl/status/status_macros.h"

namespace stampgate {

absl::StatusOr<int64_t> CopyCalls(CallSource& source, CallTarget& target) {
  for (int64_t keys = 0;;) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<CallRow> rows, source.Next());
    if (rows.empty()) {
      ABSL_RETURN_IF_ERROR(target.Finish(source.outline()));
      return keys;
    }
    ABSL_RETURN_IF_ERROR(target.Add(rows));
    keys += static_cast<int64_t>(rows.size());
  }
}

}  // namespace stampgate
