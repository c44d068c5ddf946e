#include "gateway/upstream/loop_client.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gateway/memory/account.h"
#include "gateway/memory/held_bytes.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

// The maximum age of a connection. A new connection uses upstream's current address, which can have changed.
constexpr std::chrono::seconds kMaxAge(300);

// The number of idle connections that the clients of all loops keep together: about as many as there are slots.
int MaxIdle(const UpstreamOptions& options) { return 2 * options.max_connections + options.max_detached; }

TransportFailure Abandoned(Cause cause, bool body_sent) {
  switch (cause) {
    case Cause::kCancelled:
      return {cause, body_sent, "the caller has left"};
    case Cause::kNoSlot:
      return {cause, body_sent, "all connections that the call could use were in use until its deadline passed"};
    case Cause::kShutdown:
      return {cause, body_sent, "the client is shut down"};
    default:
      return {cause, body_sent, "the call's deadline passed"};
  }
}

}  // namespace

struct LoopClient::Call {
  CallId id;
  HttpExchange::Request request;
  UpstreamLane lane;
  Clock::time_point deadline;
  Done done;  // empty after the exchange was detached
  Done late;
  std::shared_ptr<MemoryHolder> holder;
  std::function<void()> on_slot;
  std::function<void()> on_sending;
  UpstreamLanes::Ticket ticket = {};
  std::optional<TimerId> timer = {};
  bool has_slot = false;
  Clock::time_point begun_at = {};      // when the call got its slot
  Clock::time_point exchange_end = {};  // when the exchange must have ended
  Clock::time_point detached_at = {};
  std::optional<Connector::AttemptId> connecting = {};
  std::shared_ptr<HttpExchange> exchange = {};  // null until a byte may be sent
};

LoopClient::LoopClient(EventLoop& loop, SharedUpstream& shared)
    : loop_(loop), shared_(shared), connector_(loop, shared.base_url, shared.options) {}

LoopClient::~LoopClient() {
  if (idle_timer_.has_value()) loop_.CancelTimer(*idle_timer_);
  idle_.clear();
}

void LoopClient::Begin(CallId id, std::optional<HttpExchange::Request> request, const UpstreamCallOptions& options,
                       Done done, Done late) {
  std::optional<TransportFailure> failure;
  if (ends_) {
    failure = Abandoned(Cause::kShutdown, false);
  } else if (options.deadline <= Clock::now()) {
    failure = Abandoned(Cause::kTimeout, false);
  } else if (!request.has_value()) {
    failure = TransportFailure{Cause::kBroken, false, "the request cannot be sent"};
  }
  if (failure.has_value()) {
    done(*std::move(failure));
    return shared_.on_call_ended();
  }
  auto call = std::make_unique<Call>(Call{id, *std::move(request), options.lane, options.deadline, std::move(done),
                                          std::move(late), options.holder, options.on_slot, options.on_sending});
  Call& raw = *call;
  calls_.emplace(id, std::move(call));
  const bool has_slot = shared_.lanes.Enter(options.lane, options.caller, options.weight, raw.ticket, [this, id] {
    loop_.Run([this, id] {
      // If the call has ended in the meantime, it has left its slot too.
      if (const auto found = calls_.find(id); found != calls_.end()) OnSlot(*found->second);
    });
  });
  if (has_slot) return OnSlot(raw);
  SetTimer(raw);
}

void LoopClient::OnSlot(Call& call) {
  call.has_slot = true;
  call.begun_at = Clock::now();
  if (call.on_slot) call.on_slot();
  call.exchange_end =
      call.begun_at + absl::ToChronoNanoseconds(std::min(shared_.options.exchange_timeout, absl::Hours(24 * 365)));
  SetTimer(call);
  if (std::shared_ptr<UpstreamConnection> idle = TakeIdle(); idle != nullptr) return Exchange(call, std::move(idle));
  call.connecting =
      connector_.Connect([this, &call](std::shared_ptr<UpstreamConnection> connection, TransportFailure failure) {
        call.connecting.reset();
        if (connection != nullptr) return Exchange(call, std::move(connection));
        OnEnded(call.id, std::move(failure), nullptr);
      });
}

void LoopClient::Exchange(Call& call, std::shared_ptr<UpstreamConnection> connection) {
  // The timer may be late, because the thread was busy.
  if (call.deadline <= Clock::now()) {
    Keep(std::move(connection));
    return Abandon(call, Cause::kTimeout);
  }
  size_t free = MemoryAccount::kSmallCallBytes;
  if (call.lane == UpstreamLane::kSubmit && call.request.body != nullptr) {
    free += SubmitResponseBytes(call.request.body->size());
  }
  call.exchange = std::make_shared<HttpExchange>(
      std::move(connection), std::move(call.request), shared_.options.max_response_bytes, HeldBytes(call.holder, free),
      [this, id = call.id](UpstreamOutcome outcome, std::shared_ptr<UpstreamConnection> kept) {
        OnEnded(id, std::move(outcome), std::move(kept));
      });
  if (call.on_sending) call.on_sending();
  if (shared_.options.observe_sending) shared_.options.observe_sending(call.lane);
  const std::shared_ptr<HttpExchange> exchange = call.exchange;  // the call can end in Start
  exchange->Start();
}

void LoopClient::OnEnded(CallId id, UpstreamOutcome outcome, std::shared_ptr<UpstreamConnection> connection) {
  if (connection != nullptr) Keep(std::move(connection));
  End(id, std::move(outcome));
}

void LoopClient::Cancel(CallId id) {
  const auto found = calls_.find(id);
  if (found != calls_.end()) Abandon(*found->second, Cause::kCancelled);
}

// Called when the caller no longer waits, because its deadline has passed or because it has left.
void LoopClient::Abandon(Call& call, Cause cause) {
  if (!call.done) return;  // the exchange is already detached
  if (!call.has_slot) return Stop(call, Abandoned(cause == Cause::kTimeout ? Cause::kNoSlot : cause, false));
  if (call.exchange != nullptr && call.lane == UpstreamLane::kSubmit) return Detach(call, cause);
  Stop(call, Abandoned(cause, call.exchange != nullptr));
}

void LoopClient::Detach(Call& call, Cause cause) {
  TransportFailure failure = Abandoned(cause, true);
  failure.goes_on = true;
  call.detached_at = shared_.lanes.Detach(call.ticket);
  Done done = std::exchange(call.done, nullptr);
  SetTimer(call);
  done(std::move(failure));
}

void LoopClient::EndAll() {
  std::vector<CallId> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  for (const CallId id : ids) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) continue;
    Stop(*found->second, Abandoned(Cause::kShutdown, found->second->exchange != nullptr));
  }
}

void LoopClient::Stop(Call& call, UpstreamOutcome outcome) {
  if (call.connecting.has_value()) connector_.Cancel(*call.connecting);
  if (call.exchange != nullptr) call.exchange->Stop();
  End(call.id, std::move(outcome));
}

// Frees the slot of the call, deletes the call, and passes the outcome to its callback.
void LoopClient::End(CallId id, UpstreamOutcome outcome) {
  const std::unique_ptr<Call> call = std::move(calls_.extract(id).mapped());
  if (call->timer.has_value()) loop_.CancelTimer(*call->timer);
  if (call->has_slot) {
    const std::chrono::duration<double> duration = Clock::now() - call->begun_at;
    shared_.metrics[call->lane].duration.Observe(duration.count());
  }
  if (call->done) {
    shared_.lanes.Leave(call->ticket);
    call->done(std::move(outcome));
  } else {
    shared_.lanes.EndDetached(call->ticket, call->detached_at);
    if (call->late) call->late(std::move(outcome));
  }
  shared_.on_call_ended();
}

// Sets the timer of the call to its next limit.
void LoopClient::SetTimer(Call& call) {
  if (call.timer.has_value()) loop_.CancelTimer(*call.timer);
  call.timer.reset();
  Clock::time_point next = call.done ? call.deadline : Clock::time_point::max();
  if (call.has_slot) next = std::min(next, call.exchange_end);
  if (next == Clock::time_point::max()) return;
  call.timer = loop_.RunAfter(absl::FromChrono(next - Clock::now()), [this, id = call.id] { OnTimer(id); });
}

void LoopClient::OnTimer(CallId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Call& call = *found->second;
  call.timer.reset();
  if (!call.has_slot || call.exchange_end > Clock::now()) return Abandon(call, Cause::kTimeout);
  const bool sent = call.exchange != nullptr;
  Stop(call, TransportFailure{sent ? Cause::kTimeout : Cause::kUnreachable, sent, "the exchange took too long"});
}

std::shared_ptr<UpstreamConnection> LoopClient::TakeIdle() {
  const Clock::time_point now = Clock::now();
  const Clock::time_point oldest = now - absl::ToChronoNanoseconds(std::min(shared_.options.max_idle, absl::Hours(24)));
  while (!idle_.empty()) {
    const Idle last = std::move(idle_.back());
    idle_.pop_back();
    shared_.idle_connections.fetch_sub(1, std::memory_order_relaxed);
    if (last.since > oldest && last.connection->opened_at() > now - kMaxAge && last.connection->IsQuiet()) {
      return last.connection;
    }
  }
  return nullptr;
}

void LoopClient::Keep(std::shared_ptr<UpstreamConnection> connection) {
  const bool are_enough = shared_.idle_connections.load(std::memory_order_relaxed) >= MaxIdle(shared_.options);
  // Each loop may keep one, because it cannot use the connections of the other loops.
  if (ends_ || (are_enough && !idle_.empty())) return;
  shared_.idle_connections.fetch_add(1, std::memory_order_relaxed);
  idle_.push_back({std::move(connection), Clock::now()});
  if (!idle_timer_.has_value()) CloseLater();
}

void LoopClient::CloseLater() {
  const Clock::time_point when =
      idle_.front().since + absl::ToChronoNanoseconds(std::min(shared_.options.max_idle, absl::Hours(24)));
  idle_timer_ = loop_.RunAfter(absl::FromChrono(when - Clock::now()), [this] { CloseExpired(); });
}

void LoopClient::CloseExpired() {
  idle_timer_.reset();
  const Clock::time_point oldest =
      Clock::now() - absl::ToChronoNanoseconds(std::min(shared_.options.max_idle, absl::Hours(24)));
  while (!idle_.empty() && idle_.front().since <= oldest) {
    idle_.pop_front();
    shared_.idle_connections.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!idle_.empty()) CloseLater();
}

}  // namespace stampgate
