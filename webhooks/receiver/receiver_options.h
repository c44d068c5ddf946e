// The options of a receiver: its address, its bounds, and its callbacks.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "webhooks/receiver/refusal.h"
#include "webhooks/verification/delivery.h"

namespace stampgate {

// Sends the response: this status and an empty body; a 503 carries Retry-After. Call at most once, from any thread,
// also after the connection or the receiver has ended. If it is destroyed without a call, the sender gets 503.
using Answer = absl::AnyInvocable<void(int http_status)>;

// Receives a delivery. The receiver calls it on one of its threads; it must not block.
using TakeDelivery = std::function<void(Delivery delivery, Answer answer)>;

struct ReceiverOptions {
  std::string listen_address;  // "host:port", "[::1]:0"; with port 0 the system chooses one
  // Compared in constant time. A request for any other target gets 404, whatever its other faults.
  std::vector<std::string> paths;
  size_t max_body_bytes = 4 << 20;
  int max_connections = 256;
  // From a request's first byte to the end of its head, and to its last byte.
  absl::Duration head_timeout = absl::Seconds(5);
  absl::Duration request_timeout = absl::Seconds(15);
  // How long a connection may stay open without a request.
  absl::Duration idle_timeout = absl::Seconds(60);
  // If a new connection exceeds `max_connections`, PeerTable closes an unproven peer. If proven peers occupy places
  // that are reserved for newcomers, it closes the one that is furthest behind this rate. A peer whose delivery is
  // being stored is never behind.
  size_t min_bytes_per_second = 1024;
  int threads = 2;
  // PEM files; both or neither. Without them the receiver serves plain HTTP.
  std::string tls_certificate_file;
  std::string tls_private_key_file;
  // If set, called for every request that the receiver refuses itself, before it sends the response. Called from any of
  // its threads, also during its destruction; must not block.
  std::function<void(HttpRefusal)> on_refused;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_
