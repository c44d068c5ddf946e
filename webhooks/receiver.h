// The HTTP server that webhook deliveries come to.
//
// HTTP/1.1, POST to one of the configured paths, the body kept byte for byte. Strict about framing, and bounded in
// size, time and connections. It knows HTTP and nothing of what a delivery means.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/delivery.h"
#include "webhooks/http_refusal.h"
#include "webhooks/peer_table.h"

namespace stampgate {

// Tells the sender how it went, with an empty body; 503 carries Retry-After. Called once, from any thread, also after
// the connection or the receiver has gone. A delivery whose Answer is dropped uncalled is answered 503.
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

// Thread-safe.
class Receiver {
 public:
  // Errors: kUnavailable if the address cannot be listened on, kInvalidArgument for TLS files that cannot be used.
  static absl::StatusOr<std::unique_ptr<Receiver>> Start(ReceiverOptions options, TakeDelivery take);

  // Closes everything at once. Deliveries whose Answer is not called yet get none.
  virtual ~Receiver() = default;

  // "http://127.0.0.1:34567", without a path.
  virtual const std::string& url() const = 0;

  // Reads the TLS files again: new connections get what they hold now, those that are up stay as they are. Whether that
  // was new; false without TLS. An error leaves what is served as it is: kInvalidArgument for files that cannot be used
  // and for a new certificate that is not valid at `now`, kAborted if they change while they are read.
  virtual absl::StatusOr<bool> ReloadTls(absl::Time now) = 0;

  // Who is connected now, and who had to go.
  virtual PeerTable::Counts peers() const = 0;

  // When the certificate that is served expires; nothing without TLS.
  virtual std::optional<absl::Time> certificate_not_after() const = 0;

  // From now on every request is answered 503 and its connection closed; those that were handed over before are still
  // answered as they end. Returns when those have been, or `grace` has passed.
  virtual void Drain(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_H_
