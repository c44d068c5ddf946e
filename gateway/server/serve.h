// The command `stampgate serve`: starts the parts of the gateway, and ends them on SIGTERM.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVE_H_
#define STAMPGATE_GATEWAY_SERVER_SERVE_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Serves with the config in this file until SIGTERM or SIGINT, and returns the exit status of the process. Must be
// called before the process has threads.
int Serve(const std::string& config_file);

// Logs the error, which prevents `serve` from starting, and returns the exit status. Each fault of the config gets its
// own line.
int FailToStart(const absl::Status& status);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVE_H_
