// The command `stampgate check`.
#ifndef STAMPGATE_GATEWAY_COMMANDS_CHECK_H_
#define STAMPGATE_GATEWAY_COMMANDS_CHECK_H_

#include <string>

#include "absl/status/statusor.h"

namespace stampgate {

// Reads the config in the file `config` and every file that the config names, and prints the warnings about it. Returns
// a text for the operator. Errors: those of Load and CheckGrpcRelease.
absl::StatusOr<std::string> CheckConfig(const std::string& config);

// Returns what the caller `name` may do. Opens no key files, because a reviewer of a policy has only the config.
// Errors: those of LoadPolicy; kNotFound if the config has no such caller.
absl::StatusOr<std::string> CheckCaller(const std::string& config, const std::string& name);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_CHECK_H_
