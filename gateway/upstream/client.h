// The HTTP client for upstream: libcurl's multi interface on an event loop of its own.
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

// Sends requests to one base URL. Thread-safe. No POST is ever sent twice: no retry, no redirect, and libcurl's own
// repetition on a reused connection that died is made impossible once a byte may have left.
//
// `done` and `late` run on the client's thread and must not block, destroy the client or call Shutdown; they may call
// the rest. Each is called at most once, `done` always: possibly before Post or Get returns, and never later than the
// destructor. The body of an HttpAnswer has 64 bytes of capacity to spare, which the JSON reader needs.
class UpstreamClient {
 public:
  using Clock = std::chrono::steady_clock;

  using Lane = UpstreamLane;
  using Options = UpstreamOptions;

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
  // kInternal for a libcurl that cannot keep the promises above.
  static absl::StatusOr<std::unique_ptr<UpstreamClient>> Create(const Options& options);

  // Ends everything as Shutdown(0) does.
  virtual ~UpstreamClient() = default;

  // Starts an exchange. `done` gets the caller's outcome. If that is a TransportFailure with `goes_on`, the exchange
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
