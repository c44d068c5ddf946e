#include "translate/message/writer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "translate/json/writer.h"

namespace stampgate {
namespace {

void AppendTimestamp(const ParsedMessage& message, std::string& out) {
  const Timestamp timestamp = TimestampIn(message);
  absl::StrAppend(&out, "{\"seconds\":\"", timestamp.seconds, "\",\"nanos\":\"", timestamp.nanos, "\"}");
}

// In a valid message, `number` is a value that the enum lists.
void AppendEnum(const FieldPlan& plan, int number, std::string& out) {
  auto json = plan.values->json.find(number);
  if (json != plan.values->json.end()) {
    out.append(json->second);
  } else {
    absl::StrAppend(&out, number);
  }
}

void AppendJsonText(absl::string_view text, std::string& out) {
  absl::StrAppend(&out, absl::StripAsciiWhitespace(text));
}

// Appends a value of a field, an element of a list, or a member of a map.
void AppendValue(const FieldPlan& plan, const FieldValue& value, std::string& out) {
  switch (plan.form) {
    case JsonForm::kString:
      AppendJsonString(value.text(), out);
      break;
    case JsonForm::kBytes:
      absl::StrAppend(&out, "\"", absl::Base64Escape(value.text()), "\"");
      break;
    case JsonForm::kJsonText:
      AppendJsonText(value.text(), out);
      break;
    case JsonForm::kBool:
      out.append(value.number() != 0 ? "true" : "false");
      break;
    case JsonForm::kUint64:
      absl::StrAppend(&out, "\"", value.number(), "\"");
      break;
    case JsonForm::kInt64:
      absl::StrAppend(&out, "\"", static_cast<int64_t>(value.number()), "\"");
      break;
    case JsonForm::kUint32:
      absl::StrAppend(&out, value.number());
      break;
    case JsonForm::kInt32:
      absl::StrAppend(&out, static_cast<int32_t>(value.number()));
      break;
    case JsonForm::kEnum:
      AppendEnum(plan, static_cast<int>(value.number()), out);
      break;
    case JsonForm::kTimestamp:
      AppendTimestamp(value.message(), out);
      break;
    case JsonForm::kMessage:
      out.push_back('{');
      AppendJsonMembers(value.message(), /*left_out=*/nullptr, out);
      out.push_back('}');
      break;
    case JsonForm::kStringMap: {
      const MapEntry entry = MapEntryIn(value.message());
      AppendJsonString(entry.key, out);
      out.push_back(':');
      AppendJsonString(entry.value, out);
      break;
    }
    case JsonForm::kJsonMembers:
    case JsonForm::kOpaque:
      break;
  }
}

// Returns the members in the JSON text of an object, without the braces and the white space around them.
absl::string_view Members(absl::string_view object) {
  object = absl::StripAsciiWhitespace(object);
  return absl::StripAsciiWhitespace(object.substr(1, object.size() - 2));
}

}  // namespace

void AppendJsonMembers(const ParsedMessage& message, const FieldPlan* left_out, std::string& out) {
  bool first = true;
  auto separate = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  for (const FieldPlan& field : message.plan().fields) {
    const absl::Span<const FieldValue> values = message.Values(field);
    const bool is_list = field.field->is_repeated();
    if (&field == left_out || !field.in_json || (values.empty() && !field.written_if_unset)) continue;
    if (field.form == JsonForm::kJsonMembers) {
      const absl::string_view members = Members(values.front().text());
      if (members.empty()) continue;
      separate();
      out.append(members.data(), members.size());
      continue;
    }
    separate();
    out.append(field.json_key);
    if (!is_list) {
      if (values.empty()) {
        out.append("\"\"");
      } else {
        AppendValue(field, values.front(), out);
      }
      continue;
    }
    const bool is_map = field.form == JsonForm::kStringMap;
    out.push_back(is_map ? '{' : '[');
    for (const FieldValue& value : values) {
      if (&value != values.begin()) out.push_back(',');
      AppendValue(field, value, out);
    }
    out.push_back(is_map ? '}' : ']');
  }
}

}  // namespace stampgate
