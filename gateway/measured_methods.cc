#include "gateway/measured_methods.h"

#include "gateway/operations/prepare_call.h"
#include "gateway/policy/method.h"

namespace stampgate {

std::vector<Metrics::Method> MeasuredMethods() {
  std::vector<Metrics::Method> methods = {{kPrepare, "prepare"}};
  for (const PolicedMethod& method : PolicedMethods()) {
    methods.push_back({method.full_name, ClassNameOf(method), method.descriptor->server_streaming()});
  }
  return methods;
}

}  // namespace stampgate
