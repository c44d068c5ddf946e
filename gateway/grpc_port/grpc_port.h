// Accepts the connections of the gRPC port, and passes them to gRPC.
//
// gRPC's own listener has no bound on connections and handshakes, and decides itself which TLS sessions it resumes.
// Therefore the gateway accepts the connections, performs the TLS handshakes, and gives gRPC only connections whose
// client certificate is verified.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_H_

#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/http/current_tls.h"
#include "base/loop/event_loops.h"
#include "gateway/callers/peer.h"
#include "gateway/grpc_port/excess.h"
#include "gateway/grpc_port/frame_meter.h"
#include "gateway/grpc_port/handshake_failure.h"
#include "gateway/memory/account.h"

namespace stampgate {

// A client whose TLS handshake has failed.
struct FailedHandshake {
  std::string address = "";                                  // the client's IP address
  HandshakeFailure failure = HandshakeFailure::kUnfinished;  // how far the handshake came
  Peer peer = {};                                            // the identity of a valid certificate of no caller
  std::string names = "";  // NamesForLog of the client's certificate; empty if the client has sent none
  // The cause, and what the operator or the client can do. Empty if the client has closed the connection without
  // sending a byte, as probes do.
  std::string why = "";
};

// The port of one gRPC server. Thread-safe.
class GrpcPort {
 public:
  struct Options {
    std::string address;              // a text for ParseListenAddress; if the port is 0, the system chooses a port
    const CurrentTls* tls = nullptr;  // outlives the port; if null, the port has no TLS
    // A further connection displaces one of the identity with the most connections, or is refused: see OpenConnections.
    // A displaced one gets GOAWAY, and has half a minute to finish its calls.
    size_t max_connections = 4096;
    // A connection whose descriptor has this number or a higher one is closed at once.
    int max_descriptor = std::numeric_limits<int>::max();
    // Further handshakes displace others; see Handshakes.
    size_t max_handshakes = 256;
    absl::Duration handshake_timeout = absl::Seconds(5);
    FrameMeter::Limits frames = {};
    MemoryAccount::Limits memory = {};
    // See Connection::Bounds.
    absl::Duration max_unread_time = absl::Seconds(30);
    // Required with `tls`: whether the config in force has a caller with this identity. Other clients are refused in
    // the handshake. Must not block.
    std::function<bool(const Peer&)> is_caller = {};
    // Called when the handshake of a client has failed. Must not block.
    std::function<void(const FailedHandshake&)> on_failed_handshake = {};
    // Called when a connection is closed at once, because the process has no descriptor left, or none below
    // `max_descriptor`. Must not block.
    std::function<void()> on_no_descriptor = {};
    // Called when DismissStrangers has begun to end the connections with these numbers (see ConnectionIdOf). Must not
    // block.
    std::function<void(const std::set<uint64_t>& connections)> on_dismissed = {};
    // Called when streams of a client have ended because it has not read the responses. Must not block.
    std::function<void(const Peer&, size_t streams)> on_unread = {};
    // Called when the connection of a client is closed or displaced because it exceeds a bound. Must not block.
    std::function<void(const Peer&, Excess)> on_excess = {};
  };

  // How much of the bounds is used.
  struct Usage {
    size_t connections = 0;
    size_t handshakes = 0;
    int64_t held_bytes = 0;  // see MemoryAccount
  };

  // Binds the address, and adds the port to `builder`. The port divides its connections among `loops`. Errors:
  // kInvalidArgument, kUnavailable.
  static absl::StatusOr<std::unique_ptr<GrpcPort>> Create(const Options& options, std::shared_ptr<EventLoops> loops,
                                                          grpc::ServerBuilder& builder);

  // Destroy the port after the server, and before the loops stop. Closes all connections.
  virtual ~GrpcPort() = default;

  // Returns the configured host and the actual port, such as "127.0.0.1:7443".
  virtual const std::string& address() const = 0;

  // Begins to accept connections. Call it once, when the server has started.
  virtual void Open() = 0;

  // Checks that every thread of the port runs a task within `timeout`. Error: kUnavailable. Blocks until then.
  virtual absl::Status Check(absl::Duration timeout) = 0;

  virtual Usage usage() const = 0;

  // Ends the connections of identities that are callers no more: sends GOAWAY, so that their clients begin no new call,
  // calls Options::on_dismissed, and closes the connections four seconds later. Call it when the config has changed.
  virtual void DismissStrangers() = 0;

  // Refuses new connections, and closes those that wait in the system's queue and those in handshakes. Call it before
  // the server is shut down: when it returns, no connection is on its way to gRPC.
  virtual void StopListening() = 0;

  // Whether there is a connection whose sending side is not closed.
  virtual bool HaveConnections() const = 0;

  // Closes the sending side of all connections, except for those in `kept`: addresses of calls, as gRPC's
  // ServerContext::peer() returns them. The peers of the closed connections read what was sent before, and then the
  // end.
  virtual void CloseConnections(const std::set<std::string>& kept) = 0;

  // Waits until the peers of all connections whose sending side is closed have closed their side too, or until
  // `deadline`.
  virtual void WaitForPeers(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_H_
