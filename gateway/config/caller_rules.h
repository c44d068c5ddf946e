// The rules of the config's callers, their grants, and the issuers of their tokens.
#ifndef STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/config/fault_report.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// An exact id of an organization: letters, digits, '.', '_', ':' and '-'.
bool IsOrganizationId(absl::string_view text);

// What keys, issuers and callers are called: a-z, 0-9 and '-'.
bool IsConfigName(absl::string_view text);

// Whether what `grant` allows is stamped: reading events is not.
bool LeadsToSignatures(const config::v1::Grant& grant);

void CheckTokenIssuers(const config::v1::Config& config, ConfigReport& report);
void CheckCallers(const config::v1::Config& config, ConfigReport& report);

// Of the file names in a config, those below take the resolved ones.

void CheckTokenIssuerFiles(const config::v1::Config& config, ConfigReport& report);

// A grant whose organizations are not known.
struct UnreadOrganizations {
  int caller = 0;  // both by their places in the config, from 0
  int grant = 0;
  std::string why;  // the error of ReadPublicFile
};

// Adds the ids of each grant's organizations_file to its organizations. A file that cannot be read is a fault, unless
// `unread` is given, which then gets the grant. A fault in a file's text always is one.
void ReadOrganizationFiles(config::v1::Config& config, std::vector<UnreadOrganizations>* unread, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_
