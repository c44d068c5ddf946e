// Finds out how consumers have left: whether the client has cancelled the stream, or the connection was lost.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DEPARTURES_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DEPARTURES_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "base/threads/mutex.h"

namespace stampgate {

// gRPC reports to a call only that it is cancelled. If the connection has ended before that, the call ended with it. If
// the connection is open, the client has cancelled the stream, or gRPC is about to close the connection, for example
// because the peer does not respond to a ping. So Departures waits, and then looks at the connection again. A client
// that cancels its stream and later closes the connection has cancelled it. If it closes the connection at the same
// moment, the end of the connection can be seen first.
//
// Thread-safe. No function blocks.
class Departures {
 public:
  using Clock = std::chrono::steady_clock;
  // Must not block.
  using OnKnown = absl::AnyInvocable<void(bool is_cancelled)>;

  // gRPC closes a connection in much less than this time after it has cancelled the calls of the connection.
  static constexpr std::chrono::milliseconds kWait{500};

  explicit Departures(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}
  ~Departures() { Close(); }

  // Reports that a call on the connection with this number (see RegisteredPeer) was cancelled. Calls `on_known` once:
  // before Add returns, in Look, or in Close. `is_cancelled` is whether the client has cancelled the call.
  void Add(std::optional<uint64_t> connection, OnKnown on_known);

  // Decides about the calls that have waited for kWait. The owner calls it about ten times a second.
  void Look();

  // Decides that the calls that wait, and all later ones, were not cancelled by their clients: the gateway ends.
  void Close();

 private:
  struct Departure {
    uint64_t connection = 0;
    Clock::time_point at;  // when Look decides
    OnKnown on_known;
  };

  const std::function<Clock::time_point()> now_;
  Mutex mutex_;
  std::deque<Departure> waiting_ ABSL_GUARDED_BY(mutex_);  // in the order of `at`
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_DEPARTURES_H_
