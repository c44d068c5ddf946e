// What upstream reports about an activity: in an event, or in the response to a query.
#ifndef STAMPGATE_GATEWAY_WAITING_ACTIVITY_REPORT_H_
#define STAMPGATE_GATEWAY_WAITING_ACTIVITY_REPORT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace stampgate {

// Names an activity: the id of its organization, and its own id.
using ActivityName = std::pair<std::string, std::string>;

struct ActivityReport {
  ActivityName activity;
  std::string status;       // upstream's text
  bool has_result = false;  // whether the activity has a result with at least one member
  // The JSON text {"activity":{...}}, as upstream's response to a submit or to get_activity contains it.
  std::shared_ptr<const std::string> text;
};

// Reads the JSON text {"activity":{...}}. The members of the activity must come from what upstream has signed or sent
// over TLS. Errors: kInvalidArgument if the text is not one strict JSON object, or if the activity, or its
// organizationId, id or status, is missing.
absl::StatusOr<ActivityReport> ReadActivityAnswer(std::string text);

// Reads the body of an event of type ACTIVITY_UPDATES: the activity itself. Errors: those of ReadActivityAnswer.
absl::StatusOr<ActivityReport> ReadActivityEvent(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_WAITING_ACTIVITY_REPORT_H_
