// The exchanges with upstream on one event loop.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_LOOP_CLIENT_H_
#define STAMPGATE_GATEWAY_UPSTREAM_LOOP_CLIENT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "base/loop/event_loop.h"
#include "gateway/upstream/connection.h"
#include "gateway/upstream/connector.h"
#include "gateway/upstream/exchange.h"
#include "gateway/upstream/lanes.h"
#include "gateway/upstream/options.h"
#include "gateway/upstream/upstream_metrics.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// The objects that the clients of all loops share. They must outlive the clients.
struct SharedUpstream {
  const std::string base_url;
  const UpstreamOptions options;
  UpstreamMetrics& metrics;
  UpstreamLanes lanes{options, metrics};
  std::atomic<int> idle_connections = 0;
  std::function<void()> on_call_ended;  // called whenever a call has ended
};

// Must be used and destroyed on the thread of its event loop, but may be created on another thread.
class LoopClient {
 public:
  using CallId = UpstreamCallId;
  using Clock = std::chrono::steady_clock;
  using Done = UpstreamDone;

  LoopClient(EventLoop& loop, SharedUpstream& shared);
  // There must be no calls.
  ~LoopClient();
  LoopClient(const LoopClient&) = delete;
  LoopClient& operator=(const LoopClient&) = delete;

  // See UpstreamClient::Post. No two calls may have the same id. If `request` is empty, it cannot be sent.
  void Begin(CallId id, std::optional<HttpExchange::Request> request, const UpstreamCallOptions& options, Done done,
             Done late);

  // See UpstreamClient::Cancel.
  void Cancel(CallId id);

  // From now on, Begin ends its call immediately with kShutdown.
  void BeginNoMore() { ends_ = true; }

  // Ends all calls with kShutdown.
  void EndAll();

 private:
  struct Call;
  struct Idle {
    std::shared_ptr<UpstreamConnection> connection;
    Clock::time_point since;
  };

  void OnSlot(Call& call);
  void Exchange(Call& call, std::shared_ptr<UpstreamConnection> connection);
  void OnEnded(CallId id, UpstreamOutcome outcome, std::shared_ptr<UpstreamConnection> connection);
  void Abandon(Call& call, TransportFailure::Cause cause);
  void Detach(Call& call, TransportFailure::Cause cause);
  void Stop(Call& call, UpstreamOutcome outcome);
  void End(CallId id, UpstreamOutcome outcome);
  void SetTimer(Call& call);
  void OnTimer(CallId id);

  std::shared_ptr<UpstreamConnection> TakeIdle();
  void Keep(std::shared_ptr<UpstreamConnection> connection);
  void CloseExpired();
  void CloseLater();

  EventLoop& loop_;
  SharedUpstream& shared_;
  absl::flat_hash_map<CallId, std::unique_ptr<Call>> calls_;  // the calls whose `done` or `late` was not called yet
  bool ends_ = false;
  Connector connector_;
  std::deque<Idle> idle_;  // the one that is idle for the longest time first
  std::optional<TimerId> idle_timer_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_LOOP_CLIENT_H_
