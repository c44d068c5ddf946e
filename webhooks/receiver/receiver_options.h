// The options of a receiver: its address, its limits and its callbacks.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/http/address_blocks.h"
#include "base/secret/file.h"
#include "base/secret/settled_file.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/verification/delivery.h"

namespace stampgate {

// Sends a response with this status and no body; a 503 has the header Retry-After. Call an Answer at most once, from
// any thread, even after the connection was closed or the receiver was destroyed. If an Answer is destroyed without a
// call, the sender gets 503. The status 200 means that upstream has signed the delivery; it makes the sender's source
// proven (see ProvenSources). The memory of the delivery must be freed before the call, or soon after it.
using Answer = absl::AnyInvocable<void(int http_status)>;

// Processes a delivery. The receiver calls it on the loop of the connection. Must not block.
using TakeDelivery = std::function<void(Delivery delivery, Answer answer)>;

struct ReceiverOptions {
  std::string listen_address;  // "host:port", such as "[::1]:0"; for port 0, the system chooses a port
  // Returns the paths that are accepted now, which are compared in constant time. A well-formed request with another
  // target gets 404, even if the request has other faults. If a reload has removed all paths, each request gets 503, so
  // that upstream repeats its deliveries. Called on any loop, for each request. Must not block.
  std::function<std::vector<std::string>()> paths;
  size_t max_body_bytes = 4 << 20;
  int max_connections = 256;
  // The maximum times from a request's first byte: `head_timeout` to the end of the request head, and `request_timeout`
  // to the request's last byte.
  absl::Duration head_timeout = absl::Seconds(5);
  absl::Duration request_timeout = absl::Seconds(15);
  // The maximum time for which a connection may stay open without a request.
  absl::Duration idle_timeout = absl::Seconds(60);
  // The least speed of a body, at least 1; see ArrivalBound and PeerTable::Admit.
  size_t min_bytes_per_second = 16 << 10;
  // The most memory for connections and deliveries; see PlacesOf and BodyAccount. Must be at least 4 MiB, and at least
  // eight times max_body_bytes.
  size_t max_bytes = 64 << 20;
  // PEM files. Set both or neither. Without them, the receiver serves plain HTTP.
  std::string tls_certificate_file;
  std::string tls_private_key_file;
  SecretOwners secret_owners;  // who else may own the file of the private key
  // The load balancers. A connection from one of these addresses must begin with a PROXY header.
  AddressBlocks proxies;
  // A connection whose descriptor has this number or a higher one is closed at once, so that the process can still open
  // files.
  int max_descriptor = std::numeric_limits<int>::max();
  // If set, called when a connection is closed at once, because the process has no descriptor left, or none below
  // `max_descriptor`. Called on a loop. Must not block.
  std::function<void()> on_no_descriptor;
  // If set, called with the client's IP address and the text of HandshakeFault when a TLS handshake has failed, except
  // if the client has sent no byte. Called on any loop, also during its destruction. Must not block.
  std::function<void(const std::string& address, const std::string& why)> on_failed_handshake;
  // See CurrentTls::Load.
  std::function<void(const SettledFile& file)> on_shrunk_file;
  std::function<SettledFile::Time()> steady_now = std::chrono::steady_clock::now;
  // If set, called for every request that the receiver refuses, before it sends the response. Called on any loop,
  // also during its destruction. Must not block.
  std::function<void(HttpRefusal)> on_refused;
};

// The memory that a connection counts, without its delivery: its buffers, and those of TLS.
inline size_t ConnectionBytes(const ReceiverOptions& options) {
  return (options.tls_certificate_file.empty() ? 24 : 128) << 10;
}

// The number of connections that the server can have at the same time: max_connections, or as many as half of max_bytes
// has memory for.
inline size_t PlacesOf(const ReceiverOptions& options) {
  return std::min(static_cast<size_t>(options.max_connections), options.max_bytes / 2 / ConnectionBytes(options));
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_
