// The rules of the config's callers, their grants, and the issuers of their tokens.
#ifndef STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/config/fault_report.h"
#include "gateway/tokens/key_set.h"
#include "stamp/secret/file_contents.h"
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

// The functions below take a config whose file names have been resolved, and what the files hold.

// Whether a file holds certificates of authorities. Errors: those of reading it, and of CheckCaCertificates.
absl::Status CheckCaFile(const absl::StatusOr<std::string>& pem);

// One key set for each token issuer; nothing for one without jwks_file, or with a fault. Checks the files of
// authorities too.
std::vector<std::optional<TokenKeySet>> ParseKeySets(const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report);

// A grant whose organizations are not known.
struct UnreadOrganizations {
  int caller = 0;  // both by their places in the config, from 0
  int grant = 0;
  std::string why;  // the error of ReadPublicFile
};

// Adds the ids in each grant's organizations_file to its organizations. A file that could not be read is a fault,
// unless `unread` is given, which then gets the grant. A fault in a file's text always is one.
void AddOrganizations(const FileContents& contents, config::v1::Config& config,
                      std::vector<UnreadOrganizations>* unread, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_
