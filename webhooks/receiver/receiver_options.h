// What a receiver is made with: where it listens, what it bounds, and who takes what comes.
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

// Answers the sender with this status and an empty body; 503 carries Retry-After. Called once, from any thread, also
// after the connection or the receiver has gone. A delivery whose Answer is dropped uncalled is answered 503.
using Answer = absl::AnyInvocable<void(int http_status)>;

// Takes a delivery. Called on one of the receiver's threads, and must not block.
using TakeDelivery = std::function<void(Delivery delivery, Answer answer)>;

struct ReceiverOptions {
  std::string listen_address;  // "host:port", "[::1]:0"; port 0: the system chooses one
  // Compared in constant time; a request target that is none of them is 404, whatever else it is.
  std::vector<std::string> paths;
  size_t max_body_bytes = 4 << 20;
  int max_connections = 256;
  // From a request's first byte to the last of its head, and to its last.
  absl::Duration head_timeout = absl::Seconds(5);
  absl::Duration request_timeout = absl::Seconds(15);
  // Without a request.
  absl::Duration idle_timeout = absl::Seconds(60);
  // When one connection too many comes, a peer that has not shown a right path yet is closed: see PeerTable. When peers
  // that have shown one take places that newcomers need, the one that is furthest behind this rate is closed. A peer
  // whose delivery is being stored is not behind.
  size_t min_bytes_per_second = 1024;
  int threads = 2;
  // PEM files; both or none. Without them, plain HTTP.
  std::string tls_certificate_file;
  std::string tls_private_key_file;
  // If set: called for every request that the receiver answers by itself, before its sender is answered. From any of
  // its threads, also while it is destroyed; must not block.
  std::function<void(HttpRefusal)> on_refused;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_OPTIONS_H_
