// The HTTP server that receives webhook deliveries.
//
// The receiver accepts POST requests over HTTP/1.1 to the accepted paths, and passes on each body unchanged. It
// refuses requests with ambiguous framing, and limits the size and the duration of a request and the number of
// connections. It does not interpret deliveries.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "webhooks/receiver/peer_table.h"
#include "webhooks/receiver/receiver_options.h"

namespace stampgate {

// A running server. Thread-safe.
class Receiver {
 public:
  // Starts a server that passes deliveries to `take`, and whose connections are divided among `loops`. The loops must
  // run until every Answer was called or destroyed. Errors: kInvalidArgument for invalid options; kUnavailable if the
  // server cannot listen on the address; those of CurrentTls::Load if the TLS files cannot be used.
  static absl::StatusOr<std::unique_ptr<Receiver>> Start(ReceiverOptions options, std::shared_ptr<EventLoops> loops,
                                                         TakeDelivery take);

  // Closes all connections immediately. Deliveries whose Answer is still pending get no response. Must not be
  // called on the thread of a loop.
  virtual ~Receiver() = default;

  // Returns the server's URL without a path, such as "http://127.0.0.1:34567".
  virtual const std::string& url() const = 0;

  // Reads the TLS files again, as CurrentTls::Reload does. New connections use the new certificate, and open
  // connections keep the old certificate. Returns whether the certificate has changed; false without TLS. After an
  // error (see CurrentTls), the server still uses the old certificate.
  virtual absl::StatusOr<bool> ReloadTls(absl::Time now, bool asked = false) = 0;
  // See CurrentTls::wait. Zero without TLS.
  virtual std::chrono::nanoseconds tls_wait() const = 0;

  // Returns how many peers are connected now, and how many were displaced or refused.
  virtual PeerTable::Counts peers() const = 0;

  // Returns how much of ReceiverOptions::max_bytes connections and deliveries use now.
  virtual size_t held_bytes() const = 0;

  // Returns the time at which the served certificate expires, or nothing without TLS.
  virtual std::optional<absl::Time> certificate_not_after() const = 0;

  // Makes the server respond to each new request with 503 and close its connection. Deliveries that were already passed
  // to `take` still get their responses. Returns when these responses have been sent, or after `grace`.
  virtual void Drain(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_RECEIVER_H_
