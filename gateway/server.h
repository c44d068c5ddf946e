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
  // What a server works with; all of it outlives the server.
  struct Parts {
    const CurrentAccess& access;
    AuditLog* audit = nullptr;             // null: nothing is recorded
    Metrics* metrics = nullptr;            // null: nothing is counted
    const ServerTls* tls = nullptr;        // null: plaintext, which is for loopback
    EventPipeline::Observers events = {};  // of the event log
    std::function<void()> on_fatal =
        {};  // called from any thread if the call store cannot go on: the process is to end
  };

  // Starts to serve. Errors: kFailedPrecondition for protos that do not make a table, kInvalidArgument for an upstream
  // that cannot be used, kUnavailable if an address cannot be listened on, and those of the event log.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, const Parts& parts);

  // Ends everything at once if Drain was not called.
  virtual ~Server() = default;

  // "127.0.0.1:7443": the configured host with the port that is listened on.
  virtual const std::string& address() const = 0;

  // Where webhook deliveries come in, "http://0.0.0.0:8080"; empty if they do not.
  virtual std::string webhook_url() const = 0;

  // Takes over what the webhook port's certificate files hold now, and counts it; see Receiver::ReloadTls. Nothing to
  // do if that port has no TLS, or none.
  virtual absl::Status ReloadWebhookTls() = 0;

  // Ends all calls and connections, in `grace`. Health says NOT_SERVING, the port refuses connections, deliveries are
  // answered 503, subscriptions end with their cursor, and every new call ends with UNAVAILABLE (SHUTTING_DOWN). Calls
  // in flight have the grace to end; what has not ended a second before gets the error that fits how far it has come. A
  // connection is closed only when no call is in flight on it, or when the grace is over.
  virtual void Drain(absl::Duration grace) = 0;

  // After Drain: closes the call store, waits up to `grace` until the deliveries that were taken are answered, and
  // closes the event log. May hang for as long as the store's disk does.
  virtual void CloseStore(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_H_
