// The HTTP client for upstream: libcurl's multi interface on an event loop of its own.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "stamp/stamped_request.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// A GET without authentication of a fixed path: one from an operation's options or from the config.
struct DiscoveryRequest {
  std::string path;
};

// Sends requests to one base URL. Thread-safe. No POST is ever sent twice: no retry, no redirect, and libcurl's own
// repetition on a reused connection that died is made impossible once a byte may have left.
//
// `done` and `late` run on the client's thread and must not block, destroy the client or call Shutdown; they may call
// the rest. Each is called at most once, `done` always: possibly before Post or Get returns, and never later than the
// destructor. The body of an HttpAnswer has 64 bytes of capacity to spare, which the JSON reader needs.
class UpstreamClient {
 public:
  using Clock = std::chrono::steady_clock;

  // What a call is. Each lane has places of its own, so that no call waits for those of another lane. When the caller
  // leaves or its time ends, a query or the fetch of a key set is torn down at once; a submit of which body bytes have
  // left is detached: it goes on alone until it ends, at the latest after `exchange_timeout`.
  enum class Lane { kSubmit, kQuery, kKeySet };

  struct Options {
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
    std::function<void(int count, Clock::time_point oldest)> observe_detached;
    // How many calls of a lane are at upstream with their callers waiting, and how many wait for a place, whenever that
    // changes; and how long an exchange took, from its place to its end. As `observe_detached` is called.
    std::function<void(Lane lane, int in_flight, int waiting)> observe_lane;
    std::function<void(Lane lane, absl::Duration duration)> observe_exchange;
  };

  struct CallOptions {
    Lane lane = Lane::kSubmit;
    // When the caller must have its outcome. A call whose deadline has passed is not begun; one that gets no place
    // before ends with kNoPlace.
    Clock::time_point deadline = Clock::time_point::max();
    // The request's header of that name; without it if this is empty.
    std::string traceparent = "";
  };

  using Done = absl::AnyInvocable<void(UpstreamOutcome)>;
  using CallId = uint64_t;

  // Errors: kInvalidArgument for an option that cannot be used, kResourceExhausted if the system gives no descriptors,
  // kInternal for a libcurl that cannot be told to keep the promises above.
  static absl::StatusOr<std::unique_ptr<UpstreamClient>> Create(const Options& options);

  // Ends everything as Shutdown(0) does.
  virtual ~UpstreamClient() = default;

  // Starts an exchange. `done` gets what the caller is told. If that is a TransportFailure with `goes_on`, the exchange
  // is detached, and `late` gets its outcome when it ends; otherwise `late` is never called. `late` may be null. A
  // request whose path or header cannot be sent as it is ends as kBroken without having been sent.
  virtual CallId Post(StampedRequest request, const CallOptions& options, Done done, Done late) = 0;
  virtual CallId Get(DiscoveryRequest request, const CallOptions& options, Done done) = 0;

  // The caller went away. `done` is called with kCancelled unless it has been called. Unknown ids are ignored.
  virtual void Cancel(CallId id) = 0;

  // Waits until all exchanges, detached ones too, have ended or `grace` has passed, then fails what is left with
  // kShutdown. Calls that come later end with kShutdown at once. May be called again.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
