// The options of the HTTP client for upstream, and of its calls.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_
#define STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gateway/memory/account.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// The kind of a call. The calls of each kind have a lane with its own slots, so that no call waits for the calls of
// another lane. When the caller leaves or its deadline passes, the client ends the call's exchange immediately. There
// is one exception: if body bytes of a submit may have left, the client detaches the submit. The exchange of a detached
// submit continues without the caller until it ends, at the latest after `exchange_timeout`.
enum class UpstreamLane { kSubmit, kQuery, kKeySet };

struct UpstreamOptions {
  // "https://host[:port]", or "http://" with a loopback host. No path, no trailing slash.
  std::string base_url;
  // The path of a PEM file with the CA certificates that verify upstream's certificate. If empty, the client uses the
  // system's CA certificates.
  std::string ca_file;
  // The time limit for connecting, including TLS.
  absl::Duration connect_timeout = absl::Seconds(5);
  // The time limit of each exchange, even of a detached one. The time in which a call waits for a slot does not count.
  absl::Duration exchange_timeout = absl::Seconds(30);
  // The number of slots in the lane of submits, and also in the lane of queries. A call needs a slot, and has a
  // connection of its own then. Further calls wait in their lane, without a connection: the next one is of the caller
  // that has the fewest slots for its weight, and of the calls of one caller, or of several equal ones, the first.
  int max_connections = 64;
  // The number of slots for detached submits. While all of them are taken, a submit begins only if its caller has less
  // than its share of them, by its weight among the callers that have calls in the lane or detached submits, or none at
  // all. So more submits can be detached: those that began earlier, and those of callers that come later. With n
  // callers of equal weight, these are fewer than the sum of `max_connections`, n, and `max_detached` times 1 + 1/2 +
  // ... + 1/n.
  int max_detached = 32;
  // How long the client keeps an idle connection. This must be less than the time for which upstream keeps it.
  absl::Duration max_idle = absl::Seconds(50);
  // The maximum size of a response body. A larger body is a TransportFailure.
  int64_t max_response_bytes = 8 << 20;
  // Called on any thread before the first byte of a request may be sent. Must not block or call the client, and may be
  // empty.
  std::function<void(UpstreamLane lane)> observe_sending;
};

// Returns how large the response to a submit can be expected to be, whose request has a body of `body_bytes`: it
// repeats the intent, contains the body as a string in the vote of the submitter, and can repeat the intent in the
// result.
inline size_t SubmitResponseBytes(size_t body_bytes) { return 3 * body_bytes; }

struct UpstreamCallOptions {
  UpstreamLane lane = UpstreamLane::kSubmit;
  // The name of the caller with whose other calls the call shares slots, and the caller's weight, more than 0. Empty
  // for the gateway itself.
  std::string caller = "";
  double weight = 1;
  // When the caller must have its outcome. A call whose deadline has already passed ends with kTimeout and sends
  // nothing. A call that gets no free connection of its lane before its deadline ends with kNoSlot.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // The value of the request's traceparent header. If it is empty, the request has no such header.
  std::string traceparent = "";
  // Where the memory of a large response is reserved before it is allocated. If that fails, the call ends with
  // kNoMemory. For the response to a submit, the caller must have reserved as many bytes as the request's body has.
  // Null if nothing need be reserved.
  std::shared_ptr<MemoryHolder> holder = nullptr;
  // Called once when the call has got its slot, on the thread of its loop. May be empty. Must not block or call the
  // client.
  std::function<void()> on_slot = nullptr;
  // Called on the thread of the loop before the first byte of the request may be sent. May be empty.
  std::function<void()> on_sending = nullptr;
};

using UpstreamCallId = uint64_t;
using UpstreamDone = absl::AnyInvocable<void(UpstreamOutcome)>;

// A GET without a stamp. Its path comes from an operation's options in the protos, or from the config.
struct DiscoveryRequest {
  std::string path;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_OPTIONS_H_
