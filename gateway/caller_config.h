// The rules of the config's callers, their grants, and the issuers of their tokens.
#ifndef STAMPGATE_GATEWAY_CALLER_CONFIG_H_
#define STAMPGATE_GATEWAY_CALLER_CONFIG_H_

#include "absl/strings/string_view.h"
#include "gateway/config.pb.h"
#include "gateway/config_report.h"

namespace stampgate {

// An exact id of an organization: letters, digits, '.', '_', ':' and '-'.
bool IsOrganizationId(absl::string_view text);

// What keys, issuers and callers are called: a-z, 0-9 and '-'.
bool IsConfigName(absl::string_view text);

void CheckTokenIssuers(const config::v1::Config& config, ConfigReport& report);
void CheckCallers(const config::v1::Config& config, ConfigReport& report);

// Adds the ids of each grant's organizations_file to its organizations, and checks the files of token issuers. File
// names are resolved.
void ReadCallerFiles(config::v1::Config& config, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLER_CONFIG_H_
