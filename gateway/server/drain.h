// The drain: ends the calls and the connections of a server within a time, in an order in which callers lose nothing.
#ifndef STAMPGATE_GATEWAY_SERVER_DRAIN_H_
#define STAMPGATE_GATEWAY_SERVER_DRAIN_H_

#include <chrono>

#include "absl/time/time.h"

namespace stampgate {

// What a drain ends. The waits return earlier if what they wait for happens.
class Drainable {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Drainable() = default;

  virtual Clock::time_point Now() = 0;

  // From now on, refuses calls, deliveries and connections, and reports this by the health service. Calls that wait
  // may continue only if they can do so before `last_words`.
  virtual void Refuse(Clock::time_point last_words) = 0;

  // Waits until no admitted call is left, or until `deadline`. Returns whether no admitted call is left.
  virtual bool WaitUntilNoCall(Clock::time_point deadline) = 0;

  // Waits until no refused call is left, or until `deadline`.
  virtual void WaitUntilNoRefusal(Clock::time_point deadline) = 0;

  // Ends the calls that are still in flight, so that their callers get a status. Called once.
  virtual void EndCalls() = 0;

  // Ends the waits for a disk or a server. Called again and again after EndCalls, because calls may begin to wait.
  virtual void EndDiskWaits() = 0;

  // Whether there is a connection whose sending side is not closed.
  virtual bool HaveConnections() = 0;

  // Close the sending side of the connections without an admitted call, and of all connections.
  virtual void CloseIdleConnections() = 0;
  virtual void CloseAllConnections() = 0;

  // Waits until the peers of the closed connections have closed their side too, or until `deadline`.
  virtual void WaitForPeers(Clock::time_point deadline) = 0;

  virtual void Sleep(Clock::duration time) = 0;
};

// Refuses what is new, and lets the calls in flight continue until one second before the end of `grace`; then ends
// them. Closes each connection that has no call, so that its client connects to another replica; before that, gives the
// client time to read the health status and the refusals of its latest calls. In the last half second, closes all
// connections.
void Drain(Drainable& server, absl::Duration grace);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_DRAIN_H_
