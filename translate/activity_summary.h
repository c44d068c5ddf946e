// What a response says of its activity, in short.
#ifndef STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
#define STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_

#include <string>

#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Both are empty if there is no activity.
struct ActivitySummary {
  std::string id;
  std::string status;  // the enum value's name, which is upstream's
};

// Looks for the fields of role FIELD_ROLE_ACTIVITY_ID and FIELD_ROLE_ACTIVITY_STATUS in the messages that `response`, a
// message of `plan`, holds; in one that is upstream's JSON text, for the texts "id" and "status" in the "activity".
ActivitySummary SummaryOf(const MessagePlan& plan, const google::protobuf::Message& response);

// The reverse: makes an empty `response`, a message of `plan`, one that has this summary and nothing else. A status
// that the enum does not know is left out.
void SetSummary(const MessagePlan& plan, const ActivitySummary& summary, google::protobuf::Message& response);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_ACTIVITY_SUMMARY_H_
