// Checks the export of telemetry in the config.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_TELEMETRY_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_TELEMETRY_RULES_H_

#include "base/secret/file_contents.h"
#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Checks the values of `telemetry`, if the config has it.
void CheckTelemetry(const config::v1::Config& config, ConfigReport& report);

// Checks the contents of the files of `telemetry`. Requires that the file names in the config have been resolved, and
// that these files were read.
void CheckTelemetryFiles(const config::v1::Config& config, const FileContents& contents, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_TELEMETRY_RULES_H_
