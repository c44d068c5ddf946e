// Lists the methods that the metrics count separately.
#ifndef STAMPGATE_GATEWAY_SERVER_MEASURED_METHODS_H_
#define STAMPGATE_GATEWAY_SERVER_MEASURED_METHODS_H_

#include <vector>

#include "gateway/calls/call_metrics.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Returns every method that a policy can grant, with the policy class of the method. Also returns the method Prepare,
// with the class "prepare".
std::vector<CallMetrics::Method> MeasuredMethods(const OperationSet& operations);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_MEASURED_METHODS_H_
