// The HTTP client for upstream: libcurl's multi interface on its own event loop.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/upstream/options.h"
#include "stamp/stamped_request.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Sends requests to one base URL. Thread-safe. Never sends a POST twice: the client makes no retries and follows no
// redirects. By itself, libcurl would send a request again if a reused connection breaks. The client prevents this if a
// byte of the first request may have left.
//
// The client calls `done` and `late` on its own thread. They must not block, destroy the client or call Shutdown, but
// may call its other functions. The client calls `done` exactly once: perhaps before Post or Get returns, and at the
// latest in the destructor. It calls `late` at most once. The body of an HttpAnswer has 64 bytes of spare capacity,
// which the JSON reader needs.
class UpstreamClient {
 public:
  using Clock = std::chrono::steady_clock;

  using Lane = UpstreamLane;
  using Options = UpstreamOptions;

  struct CallOptions {
    Lane lane = Lane::kSubmit;
    // When the caller must have its outcome. A call whose deadline has already passed ends with kTimeout and sends
    // nothing. A call that gets no free connection of its lane before its deadline ends with kNoPlace.
    Clock::time_point deadline = Clock::time_point::max();
    // The value of the request's traceparent header. If it is empty, the request has no such header.
    std::string traceparent = "";
  };

  using Done = absl::AnyInvocable<void(UpstreamOutcome)>;
  using CallId = uint64_t;

  // Errors: kInvalidArgument for an option that cannot be used, kResourceExhausted if the system gives no descriptors,
  // kInternal if libcurl lacks an option that the promises above need.
  static absl::StatusOr<std::unique_ptr<UpstreamClient>> Create(const Options& options);

  // Ends all exchanges, as Shutdown with a grace of zero does.
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
  // be called again.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CLIENT_H_
