// The HTTP client for upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_

#include <chrono>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "gateway/upstream/options.h"
#include "gateway/upstream/upstream_metrics.h"
#include "stamp/stamped_request.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Sends requests to one base URL, with HTTP/1.1. Thread-safe. Never sends a POST twice: the client makes no retries and
// follows no redirects.
//
// libcurl opens the connections; each event loop keeps its own. A call belongs to the loop on which it begins, or to
// any loop if it begins on another thread. The client calls `done` and `late` on the thread of this loop. They must not
// block, destroy the client or call Shutdown, but may call its other functions. The client calls `done` exactly once:
// perhaps before Post or Get returns, and at the latest in the destructor. It calls `late` at most once. The body of an
// HttpAnswer has 64 bytes of spare capacity, which the JSON reader needs.
class UpstreamClient {
 public:
  using Clock = std::chrono::steady_clock;

  using Lane = UpstreamLane;
  using Options = UpstreamOptions;

  using CallOptions = UpstreamCallOptions;
  using CallId = UpstreamCallId;
  using Done = UpstreamDone;

  // The loops must run until the client is destroyed, and `metrics` must outlive it. Errors: kInvalidArgument for an
  // option that cannot be used, kInternal if libcurl lacks an option that the promises above need, kResourceExhausted
  // if there is no memory.
  static absl::StatusOr<std::unique_ptr<UpstreamClient>> Create(const Options& options,
                                                                std::shared_ptr<EventLoops> loops,
                                                                UpstreamMetrics& metrics);

  // Ends all exchanges, as Shutdown with a grace of zero does. Must not be called on the thread of a loop.
  virtual ~UpstreamClient() = default;

  // Starts an exchange. `done` gets the caller's outcome. If this outcome is a TransportFailure with `goes_on`, the
  // exchange is detached, and `late` gets the exchange's outcome when it ends. Otherwise `late` is never called. `late`
  // may be null. If the path or a header of the request cannot be sent unchanged, the exchange ends with kBroken, and
  // nothing is sent.
  virtual CallId Post(StampedRequest request, const CallOptions& options, Done done, Done late) = 0;
  virtual CallId Get(DiscoveryRequest request, const CallOptions& options, Done done) = 0;

  // Reports that the caller of the exchange `id` has left. Calls `done` with kCancelled, unless `done` was already
  // called. Ignores unknown ids.
  virtual void Cancel(CallId id) = 0;

  // Waits until all exchanges, including detached ones, have ended, but not longer than `grace`. Then ends the
  // remaining exchanges with kShutdown. Exchanges that are started after this call end with kShutdown immediately. May
  // be called again. Must not be called on the thread of a loop.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
