#include "gateway/server/measured_methods.h"

#include "gateway/operations/prepare_call.h"
#include "gateway/policy/method_name.h"

namespace stampgate {

std::vector<CallMetrics::Method> MeasuredMethods(const OperationSet& operations) {
  std::vector<CallMetrics::Method> methods = {{kPrepare, "prepare"}};
  for (const ApiMethod& method : operations.methods()) {
    methods.push_back({method.full_name, ClassNameOf(method.policy_class), method.streams});
  }
  return methods;
}

}  // namespace stampgate
