// The gateway's gRPC server, which serves operations, events, health and reflection on one port.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVER_H_
#define STAMPGATE_GATEWAY_SERVER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/config/config.h"
#include "gateway/config/reloaded_more.h"
#include "gateway/server/server_parts.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// A running server. Thread-safe.
class Server {
 public:
  // Starts serving. Errors: kFailedPrecondition if the options in the protos do not define valid operations;
  // kInvalidArgument if the config of upstream cannot be used; kUnavailable if the server cannot listen at an address;
  // those of the stores and the event log.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, const ServerParts& parts);

  // If Drain was not called, ends all calls and connections immediately.
  virtual ~Server() = default;

  // Checks that the threads of the gRPC port respond; see GrpcPort::Check. Must not be called after Drain has begun.
  virtual absl::Status CheckPort(absl::Duration timeout) = 0;

  // Ends the connections of identities that are callers no more; see GrpcPort::DismissStrangers. Call it when the
  // config has changed. Does nothing after Drain.
  virtual void DismissStrangers() = 0;

  // Prepares everything that must know the operations before they are called: the health service, and the decoding of
  // events. Call it before a reload puts `operations` in force. Returns kFailedPrecondition, and changes nothing, if
  // the gateway cannot decode events with these operations.
  virtual absl::Status Prepare(OperationSet::Shared operations) = 0;

  // Returns the configured host and the actual port, such as "127.0.0.1:7443".
  virtual const std::string& address() const = 0;

  // Returns the URL of the webhook port, such as "http://0.0.0.0:8080"; empty if there is no webhook port.
  virtual std::string webhook_url() const = 0;

  // Reloads the certificate files of the webhook port, and counts the reload; see Receiver::ReloadTls. Does nothing if
  // the webhook port has no TLS or does not exist.
  virtual ReloadedMore ReloadWebhookTls(bool asked) = 0;

  // Ends all calls and connections within `grace`. When Drain begins, the health service reports NOT_SERVING, the gRPC
  // port refuses connections, deliveries get 503, subscriptions end with their cursor, and every new call ends with
  // UNAVAILABLE (SHUTTING_DOWN). Calls in flight may continue until one second before the end of `grace`. Those that
  // wait for a place within upstream's rates get it only as long as they can end before; the others end with
  // UNAVAILABLE (SHUTTING_DOWN), too. After that, each call that is still in flight gets an error, which depends on the
  // step that the call has reached. A connection is closed when no call is in flight on the connection, or when `grace`
  // is over. When Drain returns, the server does not use the audit log any more.
  virtual void Drain(absl::Duration grace) = 0;

  // Gives the shares of upstream's rates back, closes the call store, waits up to `grace` for responses to accepted
  // deliveries, and closes the event log. Must be called after Drain. If the disk of the store hangs, this function
  // hangs too.
  virtual void CloseStore(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVER_H_
