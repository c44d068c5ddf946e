#include "translate/activity_summary.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "google/protobuf/descriptor.h"
#include "translate/wire/fields.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

void Collect(const MessagePlan& plan, absl::string_view message, ActivitySummary& summary) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == v1::FIELD_ROLE_ACTIVITY_ID) {
      summary.id = std::string(FindBytes(message, field.field->number()).value_or(""));
    } else if (field.role == v1::FIELD_ROLE_ACTIVITY_STATUS) {
      const std::optional<uint64_t> status = FindVarint(message, field.field->number());
      if (!status.has_value()) continue;
      const auto* value = field.field->enum_type()->FindValueByNumber(static_cast<int>(*status));
      if (value != nullptr) summary.status = std::string(value->name());
    }
  }
}

bool HasActivityId(const MessagePlan& plan) {
  return absl::c_any_of(plan.fields, [](const FieldPlan& field) { return field.role == v1::FIELD_ROLE_ACTIVITY_ID; });
}

void Write(const MessagePlan& plan, const ActivitySummary& summary, WireWriter& message) {
  for (const FieldPlan& field : plan.fields) {
    if (field.role == v1::FIELD_ROLE_ACTIVITY_ID) {
      if (!summary.id.empty()) message.String(field.field->number(), summary.id);
    } else if (field.role == v1::FIELD_ROLE_ACTIVITY_STATUS) {
      const auto* value = field.field->enum_type()->FindValueByName(summary.status);
      if (value != nullptr) message.Varint(field.field->number(), static_cast<uint64_t>(value->number()));
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

// Ignores parse errors, because the text is known to be JSON: the reader of messages has parsed it before.
ActivitySummary SummaryOfJson(std::string& json) {
  ActivitySummary summary;
  const auto note = [&summary](absl::string_view name, const JsonValue& value) {
    std::string* member = name == "id" ? &summary.id : name == "status" ? &summary.status : nullptr;
    if (member != nullptr && value.kind() == JsonValue::Kind::kString && value.string())
      *member = std::string(*value.string());
    return absl::OkStatus();
  };
  ReadJsonObject(json, [&note](JsonValue& root) {
    return root.ForEachMember([&note](absl::string_view name, JsonValue& value) {
      const bool is_activity = name == "activity" && value.kind() == JsonValue::Kind::kObject;
      return is_activity ? value.ForEachMember(note) : absl::OkStatus();
    });
  }).IgnoreError();
  return summary;
}

ActivitySummary SummaryOf(const MessagePlan& plan, absl::string_view response) {
  if (plan.json_members != nullptr) {
    std::string json(FindBytes(response, plan.json_members->field->number()).value_or(""));
    return SummaryOfJson(json);
  }
  ActivitySummary summary;
  for (const FieldPlan& field : plan.fields) {
    if (field.form != JsonForm::kMessage || field.field->is_repeated()) continue;
    const std::optional<absl::string_view> inside = FindBytes(response, field.field->number());
    if (inside.has_value()) Collect(*field.message, *inside, summary);
  }
  return summary;
}

std::string ResponseOf(const MessagePlan& plan, const ActivitySummary& summary) {
  WireWriter response;
  if (plan.json_members != nullptr) {
    response.String(plan.json_members->field->number(), TextOfSummary(summary));
    return response.Take();
  }
  for (const FieldPlan& field : plan.fields) {
    if (field.form != JsonForm::kMessage || field.field->is_repeated() || !HasActivityId(*field.message)) continue;
    const WireWriter::Mark mark = response.Begin(field.field->number());
    Write(*field.message, summary, response);
    response.End(mark);
  }
  return response.Take();
}

}  // namespace stampgate
