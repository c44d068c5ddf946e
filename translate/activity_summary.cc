#include "translate/activity_summary.h"

#include "absl/algorithm/container.h"
#include "google/protobuf/descriptor.h"
#include "translate/json/reader.h"
#include "translate/json/writer.h"

namespace stampgate {
namespace {

using google::protobuf::Message;

void Collect(const MessagePlan& plan, const Message& message, ActivitySummary& summary) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == v1::FIELD_ROLE_ACTIVITY_ID) {
      summary.id = message.GetReflection()->GetString(message, field.field);
    } else if (field.role == v1::FIELD_ROLE_ACTIVITY_STATUS &&
               message.GetReflection()->HasField(message, field.field)) {
      const int status = message.GetReflection()->GetEnumValue(message, field.field);
      const google::protobuf::EnumValueDescriptor* value = field.field->enum_type()->FindValueByNumber(status);
      if (value != nullptr) summary.status = std::string(value->name());
    }
  }
}

// Reads the summary from upstream's JSON text, which no plan describes. Ignores parse errors, because the text is known
// to be JSON: the reader of messages has parsed it before.
ActivitySummary SummaryOfText(std::string text) {
  ActivitySummary summary;
  const auto note = [&summary](absl::string_view name, const JsonValue& value) {
    std::string* member = name == "id" ? &summary.id : name == "status" ? &summary.status : nullptr;
    if (member != nullptr && value.kind() == JsonValue::Kind::kString && value.string())
      *member = std::string(*value.string());
    return absl::OkStatus();
  };
  ReadJsonObject(text, [&note](JsonValue& root) {
    return root.ForEachMember([&note](absl::string_view name, JsonValue& value) {
      const bool is_activity = name == "activity" && value.kind() == JsonValue::Kind::kObject;
      return is_activity ? value.ForEachMember(note) : absl::OkStatus();
    });
  }).IgnoreError();
  return summary;
}

bool HasActivityId(const MessagePlan& plan) {
  return absl::c_any_of(plan.fields, [](const FieldPlan& field) { return field.role == v1::FIELD_ROLE_ACTIVITY_ID; });
}

void Fill(const MessagePlan& plan, const ActivitySummary& summary, Message& message) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == v1::FIELD_ROLE_ACTIVITY_ID) {
      message.GetReflection()->SetString(&message, field.field, summary.id);
    } else if (field.role == v1::FIELD_ROLE_ACTIVITY_STATUS) {
      const auto* value = field.field->enum_type()->FindValueByName(summary.status);
      if (value != nullptr) message.GetReflection()->SetEnum(&message, field.field, value);
    }
  }
}

std::string TextOfSummary(const ActivitySummary& summary) {
  std::string text = "{\"activity\":{\"id\":";
  AppendJsonString(summary.id, text);
  text += ",\"status\":";
  AppendJsonString(summary.status, text);
  text += "}}";
  return text;
}

}  // namespace

ActivitySummary SummaryOf(const MessagePlan& plan, const Message& response) {
  if (plan.json_members != nullptr) {
    return SummaryOfText(response.GetReflection()->GetString(response, plan.json_members->field));
  }
  ActivitySummary summary;
  for (const FieldPlan& field : plan.fields) {
    if (field.form != JsonForm::kMessage || field.field->is_repeated()) continue;
    if (!response.GetReflection()->HasField(response, field.field)) continue;
    Collect(*field.message, response.GetReflection()->GetMessage(response, field.field), summary);
  }
  return summary;
}

void SetSummary(const MessagePlan& plan, const ActivitySummary& summary, Message& response) {
  const google::protobuf::Reflection& reflection = *response.GetReflection();
  if (plan.json_members != nullptr) {
    return reflection.SetString(&response, plan.json_members->field, TextOfSummary(summary));
  }
  for (const FieldPlan& field : plan.fields) {
    if (field.form != JsonForm::kMessage || field.field->is_repeated() || !HasActivityId(*field.message)) continue;
    Fill(*field.message, summary, *reflection.MutableMessage(&response, field.field));
  }
}

}  // namespace stampgate
