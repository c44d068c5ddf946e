// The methods that the metrics count one by one.
#ifndef STAMPGATE_GATEWAY_MEASURED_METHODS_H_
#define STAMPGATE_GATEWAY_MEASURED_METHODS_H_

#include <vector>

#include "gateway/metrics/metrics.h"

namespace stampgate {

// Every method that a policy speaks about, under its class, and Prepare under one of its own.
std::vector<Metrics::Method> MeasuredMethods();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_MEASURED_METHODS_H_
