// The HTTP server that receives webhook deliveries.
//
// Accepts POST over HTTP/1.1 to the configured paths and keeps the body byte for byte. Strict about framing; bounded in
// size, time and number of connections. It does not interpret a delivery.
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
  // Errors: kUnavailable if it cannot listen on the address; the errors of CurrentTls for unusable TLS files.
  static absl::StatusOr<std::unique_ptr<Receiver>> Start(ReceiverOptions options, TakeDelivery take);

  // Closes all connections at once. Deliveries whose Answer is still pending get no response.
  virtual ~Receiver() = default;

  // For example "http://127.0.0.1:34567"; it has no path.
  virtual const std::string& url() const = 0;

  // Reads the TLS files again. New connections use the new certificate; open ones keep the old. Returns whether the
  // certificate changed; false without TLS. On an error (see CurrentTls) the served certificate stays.
  virtual absl::StatusOr<bool> ReloadTls(absl::Time now) = 0;

  // The peers that are connected now, and how many were displaced.
  virtual PeerTable::Counts peers() const = 0;

  // When the served certificate expires; nothing without TLS.
  virtual std::optional<absl::Time> certificate_not_after() const = 0;

  // From now on answers every new request 503 and closes its connection. Deliveries that were handed over before still
  // get their responses. Returns when those are sent, or after `grace`.
  virtual void Drain(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_
