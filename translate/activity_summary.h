// The id and the status of the activity in a response.
#ifndef STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
#define STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Both texts are empty if the response contains no activity.
struct ActivitySummary {
  std::string id;
  std::string status;  // the name of the status, as the proto's enum and upstream spell it
};

// Returns the summary of the activity in `response`, a message that `plan` describes. The id and the status are the
// fields of role FIELD_ROLE_ACTIVITY_ID and FIELD_ROLE_ACTIVITY_STATUS in `response` or in a message inside it. If a
// field of `response` contains upstream's whole JSON text, the id and the status are the members "id" and "status" of
// "activity" in that text.
ActivitySummary SummaryOf(const MessagePlan& plan, const google::protobuf::Message& response);

// Sets the id and the status in the empty `response`, a message that `plan` describes, such that SummaryOf returns
// `summary`. Omits a status that the enum does not list.
void SetSummary(const MessagePlan& plan, const ActivitySummary& summary, google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
