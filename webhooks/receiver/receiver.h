// The HTTP server that webhook deliveries come to.
//
// HTTP/1.1, POST to one of the configured paths, the body kept byte for byte. Strict about framing, and bounded in
// size, time and connections. It knows HTTP and nothing of what a delivery means.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/receiver/peer_table.h"
#include "webhooks/receiver/receiver_options.h"

namespace stampgate {

// Thread-safe.
class Receiver {
 public:
  // Errors: kUnavailable if the address cannot be listened on, those of CurrentTls for TLS files that cannot be used.
  static absl::StatusOr<std::unique_ptr<Receiver>> Start(ReceiverOptions options, TakeDelivery take);

  // Closes everything at once. Deliveries whose Answer is not called yet get none.
  virtual ~Receiver() = default;

  // "http://127.0.0.1:34567", without a path.
  virtual const std::string& url() const = 0;

  // Reads the TLS files again: new connections get what they hold now, those that are up stay as they are. Whether that
  // was new; false without TLS. An error leaves what is served as it is: those of CurrentTls.
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

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_
