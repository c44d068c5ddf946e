// The exit statuses of the commands, and what the commands print with them.
#ifndef STAMPGATE_GATEWAY_COMMANDS_EXIT_STATUS_H_
#define STAMPGATE_GATEWAY_COMMANDS_EXIT_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stampgate {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Prints the error, and returns kExitFailure.
int Fail(const absl::Status& status);

// Prints the text and returns 0, or fails with its error.
int Print(const absl::StatusOr<std::string>& text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_EXIT_STATUS_H_
