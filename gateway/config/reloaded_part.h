// Separates the settings that a reload applies from those that need a restart.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_

#include <string>
#include <vector>

#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Returns the settings of `config` that a reload applies: those with the option `reloaded` in config.proto. Each reload
// also reads the files that these settings name: see named_files.h.
config::v1::Config ReloadedPart(config::v1::Config config);

// Returns all other settings of `config`.
config::v1::Config FixedPart(config::v1::Config config);

// Returns the paths of the settings that a reload applies, such as "keys", in the order of config.proto.
std::vector<std::string> ReloadedSettings();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_
