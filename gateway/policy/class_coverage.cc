#include "gateway/policy/class_coverage.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

bool ClassesCover(const ApiMethod& method, absl::string_view as_of) {
  // Days in this form compare as texts, and the empty day of an old method is before every day.
  return !method.general && !method.internal && method.since <= as_of;
}

std::string DescribeUncovered(const OperationSet& operations, absl::string_view as_of) {
  const std::string& newest = operations.newest_since();
  const auto count = absl::c_count_if(operations.methods(), [&](const ApiMethod& method) {
    return ClassesCover(method, newest) && !ClassesCover(method, as_of);
  });
  if (count == 0) return "";
  return absl::StrCat("class grants do not cover ", count, count == 1 ? " operation that is" : " operations that are",
                      " newer than class_grants_as_of, which is ", as_of.empty() ? "not set" : as_of,
                      "; the newest is of ", newest, "\n");
}

}  // namespace stampgate
