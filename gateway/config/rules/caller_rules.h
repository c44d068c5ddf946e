// Checks the callers in the config, their grants, and the issuers of their tokens.
#ifndef STAMPGATE_GATEWAY_CONFIG_RULES_CALLER_RULES_H_
#define STAMPGATE_GATEWAY_CONFIG_RULES_CALLER_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret/file_contents.h"
#include "gateway/config/rules/fault_report.h"
#include "gateway/tokens/key_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_table.h"

namespace stampgate {

// Whether `text` can be the name of a key, an issuer or a caller. Such a name consists of a-z, 0-9 and '-'.
bool IsConfigName(absl::string_view text);

// Whether `grant` allows calls that are stamped. The gateway stamps no call of a local method.
bool LeadsToSignatures(const config::v1::Grant& grant, const OperationSet& operations);

void CheckTokenIssuers(const config::v1::Config& config, ConfigReport& report);
// Checks class_grants_as_of.
void CheckClassGrants(const config::v1::Config& config, const OperationSet& operations, ConfigReport& report);
void CheckCallers(const config::v1::Config& config, const OperationTable& operations, ConfigReport& report);

// The functions below require that the file names in the config have been resolved, and that these files were read.

// Checks that `pem`, the content of a file, consists of CA certificates. If `pem` is an error, returns this error.
// Other errors: those of CheckCaCertificates.
absl::Status CheckCaFile(const absl::StatusOr<std::string>& pem);

// Returns one entry for each token issuer: the key set in its jwks_file, or nullopt if the issuer has no jwks_file or
// the file has a fault. Also checks the CA files of the issuers. Reports the faults to `report`.
std::vector<std::optional<TokenKeySet>> ParseKeySets(const config::v1::Config& config, const FileContents& contents,
                                                     ConfigReport& report);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CONFIG_RULES_CALLER_RULES_H_
