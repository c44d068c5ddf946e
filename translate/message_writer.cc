#include "translate/message_writer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/timestamp.pb.h"
#include "translate/json/writer.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsRendered(const Message& message, const Reflection& reflection, const FieldPlan& plan) {
  if (!plan.field->is_repeated()) return reflection.HasField(message, plan.field);
  return plan.required || reflection.FieldSize(message, plan.field) > 0;
}

void AppendObject(const Message& message, const MessagePlan& plan, std::string& out) {
  out.push_back('{');
  AppendJsonMembers(message, plan, /*left_out=*/nullptr, out);
  out.push_back('}');
}

void AppendTimestamp(const Message& message, std::string& out) {
  const auto& timestamp = dynamic_cast<const google::protobuf::Timestamp&>(message);
  absl::StrAppend(&out, "{\"seconds\":\"", timestamp.seconds(), "\",\"nanos\":\"", timestamp.nanos(), "\"}");
}

// In a valid message, `number` is a value that the enum lists.
void AppendEnum(const FieldPlan& plan, int number, std::string& out) {
  auto json = plan.enum_json.find(number);
  if (json != plan.enum_json.end()) {
    out.append(json->second);
  } else {
    absl::StrAppend(&out, number);
  }
}

void AppendString(const FieldPlan& plan, const std::string& value, std::string& out) {
  if (plan.form == JsonForm::kJsonText) {
    absl::string_view text = absl::StripAsciiWhitespace(value);
    out.append(text.data(), text.size());
  } else {
    AppendJsonString(value, out);
  }
}

void AppendValue(const Message& message, const Reflection& reflection, const FieldPlan& plan, std::string& out) {
  const FieldDescriptor* field = plan.field;
  std::string scratch;
  switch (plan.form) {
    case JsonForm::kString:
    case JsonForm::kJsonText:
      AppendString(plan, reflection.GetStringReference(message, field, &scratch), out);
      break;
    case JsonForm::kBool:
      out.append(reflection.GetBool(message, field) ? "true" : "false");
      break;
    case JsonForm::kUint64:
      absl::StrAppend(&out, "\"", reflection.GetUInt64(message, field), "\"");
      break;
    case JsonForm::kInt64:
      absl::StrAppend(&out, "\"", reflection.GetInt64(message, field), "\"");
      break;
    case JsonForm::kUint32:
      absl::StrAppend(&out, reflection.GetUInt32(message, field));
      break;
    case JsonForm::kInt32:
      absl::StrAppend(&out, reflection.GetInt32(message, field));
      break;
    case JsonForm::kEnum:
      AppendEnum(plan, reflection.GetEnumValue(message, field), out);
      break;
    case JsonForm::kTimestamp:
      AppendTimestamp(reflection.GetMessage(message, field), out);
      break;
    case JsonForm::kMessage:
      AppendObject(reflection.GetMessage(message, field), *plan.message, out);
      break;
    case JsonForm::kJsonMembers:
      break;
  }
}

void AppendElement(const Message& message, const Reflection& reflection, const FieldPlan& plan, int i,
                   std::string& out) {
  const FieldDescriptor* field = plan.field;
  std::string scratch;
  switch (plan.form) {
    case JsonForm::kString:
    case JsonForm::kJsonText:
      AppendString(plan, reflection.GetRepeatedStringReference(message, field, i, &scratch), out);
      break;
    case JsonForm::kBool:
      out.append(reflection.GetRepeatedBool(message, field, i) ? "true" : "false");
      break;
    case JsonForm::kUint64:
      absl::StrAppend(&out, "\"", reflection.GetRepeatedUInt64(message, field, i), "\"");
      break;
    case JsonForm::kInt64:
      absl::StrAppend(&out, "\"", reflection.GetRepeatedInt64(message, field, i), "\"");
      break;
    case JsonForm::kUint32:
      absl::StrAppend(&out, reflection.GetRepeatedUInt32(message, field, i));
      break;
    case JsonForm::kInt32:
      absl::StrAppend(&out, reflection.GetRepeatedInt32(message, field, i));
      break;
    case JsonForm::kEnum:
      AppendEnum(plan, reflection.GetRepeatedEnumValue(message, field, i), out);
      break;
    case JsonForm::kTimestamp:
      AppendTimestamp(reflection.GetRepeatedMessage(message, field, i), out);
      break;
    case JsonForm::kMessage:
      AppendObject(reflection.GetRepeatedMessage(message, field, i), *plan.message, out);
      break;
    case JsonForm::kJsonMembers:
      break;
  }
}

// Returns the members in the JSON text of an object, without the braces and the white space around them.
absl::string_view Members(absl::string_view object) {
  object = absl::StripAsciiWhitespace(object);
  return absl::StripAsciiWhitespace(object.substr(1, object.size() - 2));
}

}  // namespace

void AppendJsonMembers(const Message& message, const MessagePlan& plan, const FieldPlan* left_out, std::string& out) {
  const Reflection& reflection = *message.GetReflection();
  bool first = true;
  auto separate = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  for (const FieldPlan& field : plan.fields) {
    if (&field == left_out || !field.in_json || !IsRendered(message, reflection, field)) continue;
    if (field.form == JsonForm::kJsonMembers) {
      std::string scratch;
      absl::string_view members = Members(reflection.GetStringReference(message, field.field, &scratch));
      if (members.empty()) continue;
      separate();
      out.append(members.data(), members.size());
      continue;
    }
    separate();
    out.append(field.json_key);
    if (!field.field->is_repeated()) {
      AppendValue(message, reflection, field, out);
      continue;
    }
    out.push_back('[');
    const int size = reflection.FieldSize(message, field.field);
    for (int i = 0; i < size; ++i) {
      if (i > 0) out.push_back(',');
      AppendElement(message, reflection, field, i, out);
    }
    out.push_back(']');
  }
}

}  // namespace stampgate
