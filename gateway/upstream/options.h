// What the HTTP client for upstream is made with.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_
#define STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace stampgate {

// What a call is. Each lane has places of its own, so that no call waits for those of another lane. When the caller
// leaves or its time ends, a query or the fetch of a key set is torn down at once; a submit of which body bytes have
// left is detached: it goes on alone until it ends, at the latest after `exchange_timeout`.
enum class UpstreamLane { kSubmit, kQuery, kKeySet };

struct UpstreamOptions {
  // "https://host[:port]", or "http://" with a loopback host. No path, no trailing slash.
  std::string base_url;
  // PEM bundle that upstream's certificate is verified with. Empty: the system's.
  std::string ca_file;
  // Connecting, TLS included, takes no longer.
  absl::Duration connect_timeout = absl::Seconds(5);
  // No exchange takes longer, not even a detached one. Waiting for a connection does not count.
  absl::Duration exchange_timeout = absl::Seconds(30);
  // Places in the lane of submits, and as many in that of queries. A place is a connection, or with HTTP/2 a hundred
  // calls at once. Further calls wait in their lane, first come first served, and connect to nothing meanwhile.
  int max_connections = 64;
  // Places of detached submits. While all are taken, no submit is begun. The submits that were begun before may be
  // detached all the same, so there may be more of these: fewer than `max_detached` and `max_connections` together.
  int max_detached = 32;
  // An idle connection is closed after this long; stays below upstream's own keep-alive.
  absl::Duration max_idle = absl::Seconds(50);
  // A larger response body is a TransportFailure.
  int64_t max_response_bytes = 8 << 20;
  // HTTP/2 over TLS instead of HTTP/1.1, if upstream agrees; a connection then carries up to 100 calls.
  bool http2 = false;
  // Called when a submit was detached and when a detached one has ended: how many there are now, and since when the
  // oldest of them is detached. On the client's thread; must not block. May be empty.
  std::function<void(int count, std::chrono::steady_clock::time_point oldest)> observe_detached;
  // How many calls of a lane are at upstream with their callers waiting, and how many wait for a place, whenever that
  // changes; and how long an exchange took, from its place to its end. As `observe_detached` is called.
  std::function<void(UpstreamLane lane, int in_flight, int waiting)> observe_lane;
  std::function<void(UpstreamLane lane, absl::Duration duration)> observe_exchange;
};

// A GET without authentication of a fixed path: one from an operation's options or from the config.
struct DiscoveryRequest {
  std::string path;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_
