// The options that config.proto gives a setting.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_SETTING_RULE_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_SETTING_RULE_H_

#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "stampgate/config/v1/setting.pb.h"

namespace stampgate {

inline const config::v1::SettingRule& RuleOf(const google::protobuf::FieldDescriptor& field) {
  return field.options().GetExtension(config::v1::setting);
}

// Whether the value of `field`, or each of its elements, is a message with settings of its own.
inline bool HoldsSettings(const google::protobuf::FieldDescriptor& field) {
  return field.message_type() != nullptr && field.message_type() != google::protobuf::Duration::descriptor();
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_SETTING_RULE_H_
