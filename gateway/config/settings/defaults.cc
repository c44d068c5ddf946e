#include "gateway/config/settings/defaults.h"

#include <string>

#include "gateway/config/settings/setting_rule.h"
#include "gateway/config/settings/yaml_reader.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void SetUnlessSet(const FieldDescriptor& field, const std::string& value, Message& message) {
  if (value.empty() || message.GetReflection()->HasField(message, &field)) return;
  ReadYamlValue(value, field, &message);
}

void SetDefaultsInside(const FieldDescriptor& field, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      SetDefaults(*reflection.MutableRepeatedMessage(&message, &field, i));
    }
  } else if (reflection.HasField(message, &field) || !RuleOf(field).off_by_default()) {
    SetDefaults(*reflection.MutableMessage(&message, &field));
  }
}

}  // namespace

void SetDefaults(Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (HoldsSettings(field)) {
      SetDefaultsInside(field, message);
    } else {
      SetUnlessSet(field, RuleOf(field).default_value(), message);
    }
  }
}

void SetUsualDefaults(Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    SetUnlessSet(field, RuleOf(field).usual_default(), message);
  }
}

}  // namespace stampgate
