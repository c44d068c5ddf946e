#include "gateway/config/reloaded_part.h"

#include "absl/strings/str_cat.h"
#include "gateway/config/settings/setting_rule.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Whether the settings in `field` can differ in whether a reload applies them.
bool IsSection(const FieldDescriptor& field) {
  return HoldsSettings(field) && !field.is_repeated() && !RuleOf(field).reloaded();
}

// Removes from `message` the settings that a reload applies or, if `reloaded` is false, all others. Also removes the
// messages that are then empty.
void Remove(bool reloaded, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (IsSection(*field)) {
      Message& section = *reflection.MutableMessage(&message, field);
      Remove(reloaded, section);
      if (section.ByteSizeLong() == 0) reflection.ClearField(&message, field);
    } else if (RuleOf(*field).reloaded() == reloaded) {
      reflection.ClearField(&message, field);
    }
  }
}

void CollectReloaded(const Descriptor& type, const std::string& prefix, std::vector<std::string>& paths) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    if (RuleOf(field).reloaded()) paths.push_back(path);
    if (IsSection(field)) CollectReloaded(*field.message_type(), path + ".", paths);
  }
}

}  // namespace

config::v1::Config ReloadedPart(config::v1::Config config) {
  Remove(/*reloaded=*/false, config);
  return config;
}

config::v1::Config FixedPart(config::v1::Config config) {
  Remove(/*reloaded=*/true, config);
  return config;
}

std::vector<std::string> ReloadedSettings() {
  std::vector<std::string> paths;
  CollectReloaded(*config::v1::Config::descriptor(), "", paths);
  return paths;
}

}  // namespace stampgate
