// The id and the status of the activity in a response.
#ifndef STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
#define STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "translate/message/plan.h"

namespace stampgate {

// Both texts are empty if the response contains no activity.
struct ActivitySummary {
  std::string id;
  std::string status;  // the name of the status, as the proto's enum and upstream spell it
};

// Returns the summary of the activity in `response`, the bytes of a message that `plan` describes. The id and the
// status are the fields of role FIELD_ROLE_ACTIVITY_ID and FIELD_ROLE_ACTIVITY_STATUS in `response` or in a message
// inside it. If a field of `response` contains upstream's whole JSON text, the id and the status are the members "id"
// and "status" of "activity" in that text.
ActivitySummary SummaryOf(const MessagePlan& plan, absl::string_view response);

// Returns the summary that upstream's JSON text of a response contains: the members "id" and "status" of "activity".
// May increase the capacity of `json`.
ActivitySummary SummaryOfJson(std::string& json);

// Returns the bytes of a message that `plan` describes and that contains only the summary. Omits a status that the enum
// does not list.
std::string ResponseOf(const MessagePlan& plan, const ActivitySummary& summary);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
