// Sets the defaults that config.proto declares.
#ifndef STAMPGATE_GATEWAY_CONFIG_SETTINGS_DEFAULTS_H_
#define STAMPGATE_GATEWAY_CONFIG_SETTINGS_DEFAULTS_H_

#include "google/protobuf/message.h"

namespace stampgate {

// Sets each setting of `message`, and of the messages inside it, that has a default and is not set. Adds messages that
// are missing, unless they are off by default.
void SetDefaults(google::protobuf::Message& message);

// Sets each setting of `message`, but not of the messages inside it, that has a usual default and is not set.
void SetUsualDefaults(google::protobuf::Message& message);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_SETTINGS_DEFAULTS_H_
