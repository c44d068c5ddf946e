// Abseil's counter of the references to a Status, for TSan. Abseil's library is not instrumented: TSan does not see
// that the library's counter orders the last use of a Status before its end, and would report a race. The dynamic
// linker prefers this function to that of the library.

#include <atomic>

#include "absl/status/internal/status_internal.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace status_internal {

void StatusRep::Unref() const {
  if (ref_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace status_internal
ABSL_NAMESPACE_END
}  // namespace absl
