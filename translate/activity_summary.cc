#include "translate/activity_summary.h"

#include "google/protobuf/descriptor.h"

namespace stampgate {
namespace {

using google::protobuf::Message;

void Collect(const MessagePlan& plan, const Message& message, ActivitySummary& summary) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == v1::FIELD_ROLE_ACTIVITY_ID) {
      summary.id = message.GetReflection()->GetString(message, field.field);
    } else if (field.role == v1::FIELD_ROLE_ACTIVITY_STATUS &&
               message.GetReflection()->HasField(message, field.field)) {
      summary.status = message.GetReflection()->GetEnum(message, field.field)->name();
    }
  }
}

}  // namespace

ActivitySummary SummaryOf(const MessagePlan& plan, const Message& response) {
  ActivitySummary summary;
  for (const FieldPlan& field : plan.fields) {
    if (field.form != JsonForm::kMessage || field.field->is_repeated()) continue;
    if (!response.GetReflection()->HasField(response, field.field)) continue;
    Collect(*field.message, response.GetReflection()->GetMessage(response, field.field), summary);
  }
  return summary;
}

}  // namespace stampgate
