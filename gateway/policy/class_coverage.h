// Which methods a class of a grant covers. A newer release of the operations gives no caller a new right, because a
// class covers a method only if the operator has accepted its release.
#ifndef STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_
#define STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// In the functions below, `as_of` is the setting class_grants_as_of: a day such as "2026-09-22", or empty. If it is
// empty, classes cover only methods that have no day.

// Whether a class can cover `method`. A class covers no method of GeneralService and no internal method, so a grant
// must name each of them.
bool ClassesCover(const ApiMethod& method, absl::string_view as_of);

// Returns a line for the operator that states how many of `operations` are not covered only because they are newer than
// `as_of`. Returns an empty text if there are none.
std::string DescribeUncovered(const OperationSet& operations, absl::string_view as_of);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_
