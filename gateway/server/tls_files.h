// The TLS files of the gateway's ports.
#ifndef STAMPGATE_GATEWAY_SERVER_TLS_FILES_H_
#define STAMPGATE_GATEWAY_SERVER_TLS_FILES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/http/current_tls.h"
#include "gateway/config/config.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/server/server.h"
#include "gateway/server/server_metrics.h"

namespace stampgate {

// Loads the TLS files of the gRPC port, and shows their certificate in `metrics`. Returns null if the config has no
// TLS. Errors: those of CurrentTls::Load.
absl::StatusOr<std::unique_ptr<CurrentTls>> LoadTls(const Config& config, ServerMetrics& metrics);

// Reloads the files of the gRPC port and of the webhook port, and counts it. `tls` may be null. If one reload fails,
// the other still takes effect. See CurrentTls::Reload for `asked`. Blocks.
ReloadedMore ReloadTls(CurrentTls* tls, Server& server, bool asked, ServerMetrics& metrics);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_TLS_FILES_H_
