#include "translate/testing/status.h"

#include <gtest/gtest.h>

#include "base/time/duration.h"
#include "google/rpc/error_details.pb.h"
#include "translate/error.h"

namespace stampgate::testing {

Details DetailsOf(const absl::Status& status) {
  Details details;
  const google::rpc::Status rpc = ToRpcStatus(status);
  for (const google::protobuf::Any& any : rpc.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&info)) {
      details.domain = info.domain();
      details.reason = info.reason();
      details.metadata.insert(info.metadata().begin(), info.metadata().end());
    } else if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        details.violations.emplace_back(violation.field(), violation.description());
      }
    } else if (any.UnpackTo(&retry)) {
      details.retry_delay = ToDuration(retry.retry_delay());
    } else {
      ADD_FAILURE() << "the status has a detail of an unknown type: " << any.type_url();
    }
  }
  return details;
}

}  // namespace stampgate::testing
