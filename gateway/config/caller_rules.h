// Checks the callers in the config, their grants, and the issuers of their tokens.
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

// Whether `text` is an exact id of an organization: letters, digits, '.', '_', ':' and '-'.
bool IsOrganizationId(absl::string_view text);

// Whether `text` can be the name of a key, an issuer or a caller: a-z, 0-9 and '-'.
bool IsConfigName(absl::string_view text);

// Whether `grant` allows calls that are stamped. Calls that read events are not stamped.
bool LeadsToSignatures(const config::v1::Grant& grant);

void CheckTokenIssuers(const config::v1::Config& config, ConfigReport& report);
void CheckCallers(const config::v1::Config& config, ConfigReport& report);

// The functions below require a config whose file names have been resolved, and the contents of these files.

// Checks that `pem`, the content of a file, consists of CA certificates. Errors: the error of reading the file, and
// those of CheckCaCertificates.
absl::Status CheckCaFile(const absl::StatusOr<std::string>& pem);

// Returns one entry for each token issuer: the key set in its jwks_file, or nullopt if it has no such file or a fault.
// Checks the issuers' CA files too.
std::vector<std::optional<TokenKeySet>> ParseKeySets(const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report);

// A grant whose organizations_file could not be read.
struct UnreadOrganizations {
  int caller = 0;  // `caller` and `grant` are indexes in the config, from 0
  int grant = 0;
  std::string why;  // the error of ReadPublicFile
};

// Adds the ids in each grant's organizations_file to the grant's organizations. If a file could not be read, adds the
// grant to `unread`, or reports a fault if `unread` is null. Always reports a fault in the text of a file.
void AddOrganizations(const FileContents& contents, config::v1::Config& config,
                      std::vector<UnreadOrganizations>* unread, ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_CALLER_RULES_H_
