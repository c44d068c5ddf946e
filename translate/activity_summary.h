// The id and status of a response's activity.
#ifndef STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
#define STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Both are empty if there is no activity.
struct ActivitySummary {
  std::string id;
  std::string status;  // the name of the enum value, which is upstream's text
};

// Finds the fields of role FIELD_ROLE_ACTIVITY_ID and FIELD_ROLE_ACTIVITY_STATUS in `response`, a message of `plan`,
// and in the messages inside it. In a response that is upstream's JSON text, reads "id" and "status" of its "activity".
ActivitySummary SummaryOf(const MessagePlan& plan, const google::protobuf::Message& response);

// The inverse: gives an empty `response`, a message of `plan`, this summary and nothing else. Omits a status that the
// enum does not list.
void SetSummary(const MessagePlan& plan, const ActivitySummary& summary, google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
