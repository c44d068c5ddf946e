#include "gateway/config/rules/field_rules.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/time/duration.h"
#include "gateway/config/settings/setting_rule.h"
#include "gateway/config/settings/yaml_reader.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Duration DurationIn(const Message& message, const FieldDescriptor& field) {
  return ToDuration(
      static_cast<const google::protobuf::Duration&>(message.GetReflection()->GetMessage(message, &field)));
}

// Compares the number or the duration `field` of `message` with `bound`, which is in the form of the config file.
// Returns a negative number, 0 or a positive number, if it is less, equal or greater.
int Compare(const Message& message, const FieldDescriptor& field, const std::string& bound) {
  const Reflection& reflection = *message.GetReflection();
  const std::unique_ptr<Message> bounds(message.New());
  ReadYamlValue(bound, field, bounds.get());
  const auto order = [](const auto& a, const auto& b) { return a < b ? -1 : a > b ? 1 : 0; };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return order(reflection.GetUInt32(message, &field), reflection.GetUInt32(*bounds, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return order(reflection.GetUInt64(message, &field), reflection.GetUInt64(*bounds, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return order(reflection.GetDouble(message, &field), reflection.GetDouble(*bounds, &field));
    default:
      return order(DurationIn(message, field), DurationIn(*bounds, field));
  }
}

void CheckRange(const Message& message, const FieldDescriptor& field, const std::string& path, ConfigReport& report) {
  const config::v1::SettingRule& rule = RuleOf(field);
  const bool below = !rule.from().empty() && Compare(message, field, rule.from()) < 0;
  const bool above = !rule.to().empty() && Compare(message, field, rule.to()) > 0;
  if (!below && !above) return;
  if (rule.to().empty()) {
    report.Add(path, absl::StrCat("must be at least ", rule.from()));
  } else if (rule.from().empty()) {
    report.Add(path, absl::StrCat("must be at most ", rule.to()));
  } else {
    report.Add(path, absl::StrCat("must be from ", rule.from(), " to ", rule.to()));
  }
}

void CheckText(absl::string_view value, const v1::FieldRule& rule, const std::string& path, ConfigReport& report) {
  if (rule.has_max_bytes() && value.size() > rule.max_bytes()) {
    report.Add(path, absl::StrCat("must be no longer than ", rule.max_bytes(), " bytes"));
  }
}

bool IsEmptyListOrText(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field) == 0;
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && reflection.GetString(message, &field).empty();
}

void CheckMessage(const Message& message, const std::string& prefix, ConfigReport& report);

// Checks the value of `field` or, if `field` is a list, its element `n`.
void CheckValue(const Message& message, const FieldDescriptor& field, int n, const std::string& path,
                ConfigReport& report) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  if (HoldsSettings(field)) {
    CheckMessage(repeated ? reflection.GetRepeatedMessage(message, &field, n) : reflection.GetMessage(message, &field),
                 path + ".", report);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    CheckText(repeated ? reflection.GetRepeatedString(message, &field, n) : reflection.GetString(message, &field),
              field.options().GetExtension(v1::field), path, report);
  } else if (!repeated) {
    CheckRange(message, field, path, report);
  }
}

void CheckMessage(const Message& message, const std::string& prefix, ConfigReport& report) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const v1::FieldRule& rule = field.options().GetExtension(v1::field);
    const std::string path = absl::StrCat(prefix, field.name());
    const int size = field.is_repeated()                    ? reflection.FieldSize(message, &field)
                     : reflection.HasField(message, &field) ? 1
                                                            : 0;
    if (size == 0 && rule.required()) report.Add(path, "is required");
    if (IsEmptyListOrText(message, field) && !rule.may_be_empty() && report.IsGiven(path)) {
      report.Add(path, "must not be empty: omit it to use its default");
    }
    for (int n = 0; n < size; ++n) {
      CheckValue(message, field, n, field.is_repeated() ? absl::StrCat(path, "[", n, "]") : path, report);
    }
  }
}

}  // namespace

void CheckFields(const config::v1::Config& config, ConfigReport& report) { CheckMessage(config, "", report); }

}  // namespace stampgate
