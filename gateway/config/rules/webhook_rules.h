// Checks the webhook port in the config, and reads the file of its paths.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_WEBHOOK_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_WEBHOOK_RULES_H_

#include "base/secret/file_contents.h"
#include "gateway/config/rules/fault_report.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Checks the values of `webhooks`, and sets the default of `max_bytes`.
void CheckWebhooks(config::v1::Config& config, ConfigReport& report);

// Sets `paths` to those in `paths_file`, if the config has this setting. A fault names the file, the line and the rule,
// but not the path, which is a secret. Requires that the file names in the config have been resolved, and that the file
// was read.
void ReadWebhookPaths(const FileContents& contents, config::v1::Webhooks& webhooks, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_WEBHOOK_RULES_H_
