// Which methods a class of a grant covers. A newer release of the operations gives no caller a new right, because a
// class covers a method only if the operator has accepted its release.
#ifndef STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_
#define STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "stampgate/v1/options.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// In the functions below, `as_of` is the setting class_grants_as_of: a day such as "2026-09-22", or empty. If it is
// empty, classes cover only built-in methods that have no day.

// Whether a class can cover a method, and otherwise why none does.
enum class Coverage {
  kCovered,
  kGeneral,      // a method of GeneralService: a grant must list the operation
  kInternal,     // upstream marks the method as internal: a grant must name it
  kNoNewDay,     // the method is not built in, and has no day after those of the built-in methods: a grant must name it
  kNotAccepted,  // the method is of a day after `as_of`
};
Coverage CoverageOf(const ApiMethod& method, absl::string_view as_of);

bool ClassesCover(const ApiMethod& method, absl::string_view as_of);

// Returns a clause that states why no class covers `method`, and what an operator can do, such as "ListWallets is of
// 2026-09-22 and class_grants_as_of is not set: ...". Requires that no class covers `method`.
std::string ExplainUncovered(const ApiMethod& method, absl::string_view as_of);

// Returns a text such as "class query covers 6 of 68 methods: class_grants_as_of is not set" if the class would cover
// more of `operations` with a day. Returns an empty text if `as_of` is set, because the operator has then chosen the
// methods that classes cover.
std::string DescribeUnsetDay(const OperationSet& operations, v1::PolicyClass policy_class, absl::string_view as_of);

// Returns a line for the operator that states how many of `operations` are not covered only because they are newer than
// `as_of`. Returns an empty text if there are none.
std::string DescribeUncovered(const OperationSet& operations, absl::string_view as_of);

// Returns lines for the operator that name the methods that are not built in and that no class ever covers, and state
// why. Returns an empty text if there are none.
std::string DescribeNamedOnly(const OperationSet& operations);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_CLASS_COVERAGE_H_
