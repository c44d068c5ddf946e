// Checks the rules that config.proto declares for each field of the config by itself.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_FIELD_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_FIELD_RULES_H_

#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Reports each required field that is missing, each list or text that must not be empty, each text that is too long,
// and each number and duration outside its range.
void CheckFields(const config::v1::Config& config, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_FIELD_RULES_H_
