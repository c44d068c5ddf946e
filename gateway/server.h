// The gateway's gRPC server: the operations, events, health and reflection, on one port.
#ifndef STAMPGATE_GATEWAY_SERVER_H_
#define STAMPGATE_GATEWAY_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/audit/log.h"
#include "gateway/callers/access.h"
#include "gateway/config/config.h"
#include "gateway/events/pipeline.h"
#include "gateway/metrics/metrics.h"
#include "gateway/tls/server_credentials.h"

namespace stampgate {

// A running gateway. Thread-safe.
class Server {
 public:
  // What a server uses; all of it must outlive the server.
  struct Parts {
    const CurrentAccess& access;
    AuditLog* audit = nullptr;             // null: nothing is recorded
    Metrics* metrics = nullptr;            // null: nothing is counted
    const ServerTls* tls = nullptr;        // null: plaintext, which is served on loopback only
    EventPipeline::Observers events = {};  // for the event log
    std::function<void()> on_fatal =
        {};  // called from any thread if the call store cannot continue; the process should end
  };

  // Starts serving. Errors: kFailedPrecondition for protos that do not make an operation table, kInvalidArgument for an
  // unusable upstream, kUnavailable if it cannot listen on an address, and those of the event log.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, const Parts& parts);

  // Ends everything at once if Drain was not called.
  virtual ~Server() = default;

  // "127.0.0.1:7443": the configured host, and the actual port.
  virtual const std::string& address() const = 0;

  // The URL for webhook deliveries, "http://0.0.0.0:8080"; empty if there is no webhook port.
  virtual std::string webhook_url() const = 0;

  // Reloads the webhook port's certificate files, and counts the reload; see Receiver::ReloadTls. Does nothing if that
  // port has no TLS, or does not exist.
  virtual absl::Status ReloadWebhookTls() = 0;

  // Ends all calls and connections within `grace`. Health reports NOT_SERVING, the port refuses connections, deliveries
  // get 503, subscriptions end with their cursor, and every new call ends with UNAVAILABLE (SHUTTING_DOWN). Calls in
  // flight may finish until one second before the end of the grace; then they get the error for the step that they have
  // reached. A connection is closed only when no call is in flight on it, or when the grace is over.
  virtual void Drain(absl::Duration grace) = 0;

  // Call it after Drain. Closes the call store, waits up to `grace` for responses to accepted deliveries, and closes
  // the event log. May hang as long as the store's disk does.
  virtual void CloseStore(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_H_
