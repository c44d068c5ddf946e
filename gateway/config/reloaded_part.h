// Separates the settings that a reload applies from those that need a restart.
#ifndef STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_
#define STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_

#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Returns the keys, callers, token issuers and class_grants_as_of of `config`. Each reload also reads the files that
// these settings name: see named_files.cc.
inline config::v1::Config ReloadedPart(const config::v1::Config& config) {
  config::v1::Config part;
  *part.mutable_keys() = config.keys();
  *part.mutable_callers() = config.callers();
  *part.mutable_token_issuers() = config.token_issuers();
  part.set_class_grants_as_of(config.class_grants_as_of());
  return part;
}

// Returns all other settings of `config`.
inline config::v1::Config FixedPart(config::v1::Config config) {
  config.clear_keys();
  config.clear_callers();
  config.clear_token_issuers();
  config.clear_class_grants_as_of();
  return config;
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RELOADED_PART_H_
