// The gateway's gRPC server: the operations, events, health and reflection, on one loopback port.
#ifndef STAMPGATE_GATEWAY_SERVER_H_
#define STAMPGATE_GATEWAY_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/access.h"
#include "gateway/config.h"

namespace stampgate {

// A running gateway. Thread-safe.
class Server {
 public:
  // Starts to serve. `on_fatal` is called once, from any thread, if the process is to end because its event log cannot
  // go on. Errors: kFailedPrecondition for protos that do not make a table, kInvalidArgument for an upstream that
  // cannot be used, kUnavailable if an address cannot be listened on, and those of the event log.
  // `access` outlives the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, const CurrentAccess& access,
                                                       std::function<void()> on_fatal);

  // Ends everything at once if Drain was not called.
  virtual ~Server() = default;

  // "127.0.0.1:7443": the configured host with the port that is listened on.
  virtual const std::string& address() const = 0;

  // Where webhook deliveries come in, "http://0.0.0.0:8080"; empty if they do not.
  virtual std::string webhook_url() const = 0;

  // Health says NOT_SERVING, deliveries are answered 503, subscriptions end with their cursor, no call is taken any
  // more, and those in flight have `grace` to end. Those that do not end get the error that fits how far they have
  // come, just before. At last the event log is closed.
  virtual void Drain(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_H_
