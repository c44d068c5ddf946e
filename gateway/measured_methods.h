// Lists the methods that the metrics count separately.
#ifndef STAMPGATE_GATEWAY_MEASURED_METHODS_H_
#define STAMPGATE_GATEWAY_MEASURED_METHODS_H_

#include <vector>

#include "gateway/metrics/metrics.h"

namespace stampgate {

// Every method that a policy can grant, with its class, and Prepare with its own class.
std::vector<Metrics::Method> MeasuredMethods();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_MEASURED_METHODS_H_
