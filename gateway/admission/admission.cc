#include "gateway/admission/admission.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/threads/mutex.h"
#include "gateway/admission/held_places.h"
#include "gateway/admission/learned_rate.h"
#include "gateway/admission/recent_seconds.h"
#include "gateway/admission/shared_rate.h"

namespace stampgate {
namespace {

// The largest number of organizations, and of operations without rates of their own, whose rates are remembered. If
// there are more, those that have sent nothing lately are forgotten.
constexpr size_t kMaxOrganizations = 16384;
constexpr size_t kMaxOperations = 1024;

// A call waits only if its turn should come within this part of its time, because the estimate can be too early. So few
// calls wait in vain.
constexpr double kCertain = 0.875;

constexpr absl::Duration kSecond = absl::Seconds(1);

// The least part of a caller's weight that counts, because each waiting call must get its turn.
constexpr double kLeastWeightPart = 1e-3;

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// What upstream has done with a request: the indices of Admission::Scope::responses.
enum Response { kAccepted, kRefused };

}  // namespace

// The calls that share a rate, and their order.
struct Admission::Scope {
  Scope(RateScope kind, SharedRate shared, size_t max_in_flight)
      : kind(kind), max_in_flight(max_in_flight), rate(std::move(shared)) {}

  // Returns when `count` further calls have a place.
  absl::Time When(size_t count, absl::Time now) {
    absl::Time when = std::max(rate.When(static_cast<int64_t>(count), now), WhenFree(count, now));
    if (learned.has_value()) when = std::max(when, learned->When(static_cast<int64_t>(count), now));
    return when;
  }

  // Returns when `count` further calls have a place if at most `max_in_flight` calls may be in flight.
  absl::Time WhenFree(size_t count, absl::Time now) const {
    if (max_in_flight == kNoLimit || in_flight.count() + count <= max_in_flight) return now;
    const auto ends = static_cast<double>(in_flight.count() + count - max_in_flight);
    return now + in_flight.HoldTime(now) * (ends / static_cast<double>(max_in_flight));
  }

  // Whether `count` waiting calls need not wait for each other in this scope. Otherwise its order decides which is
  // next.
  bool HasPlaces(size_t count, absl::Time now) {
    const auto calls = static_cast<int64_t>(count);
    return in_flight.count() + std::min<size_t>(count, 2) <= max_in_flight && rate.HasPlaces(calls, now) &&
           (!learned.has_value() || learned->HasPlaces(calls, now));
  }

  bool HasRoom(absl::Time now) {
    if (in_flight.count() >= max_in_flight || now < closed_until) return false;
    closed_until = std::max(rate.When(1, now), learned.has_value() ? learned->When(1, now) : now);
    return closed_until <= now;
  }

  void Begin(absl::Time now, bool waited) {
    rate.Begin(now, waited);
    if (learned.has_value()) learned->Begin(now, waited);
    in_flight.Take(now);
  }

  void Sent(absl::Time now) {
    rate.Sent(now);
    if (learned.has_value()) learned->Sent(now);
  }

  // The call has ended without a request.
  void Withdraw() {
    rate.Withdraw();
    if (learned.has_value()) learned->Withdraw();
    closed_until = absl::InfinitePast();
  }

  void Count(Response response, absl::Time now) {
    responses.Add(response, now);
    if (response == kAccepted && learned.has_value()) learned->Accepted(now);
  }

  // Upstream's refusal is because of this scope's rate.
  void Slow(absl::Time now, std::optional<absl::Duration> retry_after) {
    if (learned.has_value()) return learned->Refused(now, retry_after);
    rate.Refused(now, retry_after);
  }

  // Returns the part of the requests in the last ten seconds that upstream has refused.
  double PartRefused(absl::Time now) const {
    const auto [accepted, refused] = responses.Sum(now);
    return refused == 0 ? 0 : static_cast<double>(refused) / static_cast<double>(accepted + refused);
  }

  // Returns the same part of the requests that belong to `all`, but not to this scope; nothing if there are none.
  std::optional<double> PartRefusedOfOthers(const Scope& all, absl::Time now) const {
    const auto [accepted, refused] = responses.Sum(now);
    const auto [all_accepted, all_refused] = all.responses.Sum(now);
    if (all_accepted + all_refused <= accepted + refused) return std::nullopt;
    const auto others = static_cast<double>(all_accepted - accepted + all_refused - refused);
    return all_refused <= refused ? 0 : static_cast<double>(all_refused - refused) / others;
  }

  // Returns whether the calls of this scope need not be remembered.
  bool IsIdle() const { return in_flight.count() == 0 && waiting == 0; }
  bool IsEmpty(absl::Time now) {
    return IsIdle() && rate.IsEmpty(now) && (!learned.has_value() || learned->IsEmpty(now));
  }

  const RateScope kind;
  const size_t max_in_flight;
  SharedRate rate;
  std::optional<LearnedRate> learned;  // of an operation without rates of its own
  HeldPlaces in_flight;
  FairQueue queue;
  size_t waiting = 0;  // calls that wait
  RecentSeconds<2> responses;
  absl::Time closed_until = absl::InfinitePast();  // nothing fits into the rate before this time

  // For KeepFirst: the first of the lines that compete for this rate, and the number of their calls.
  const Line* first = nullptr;
  size_t competing = 0;
};

// A scope of a call, and the call's caller in the order of this scope.
struct Admission::Step {
  Scope* scope;
  FairQueue::Flow* flow;
};

// A call that waits, or asks for a place.
struct Admission::Waiting {
  Scopes scopes() const {
    Scopes all;
    for (const Step& step : steps) all.push_back(step.scope);
    return all;
  }

  Steps steps;              // upstream as a whole first
  size_t longest_step = 0;  // the index of the step whose rate delays the call longest, as estimated when it arrived
  CallClass call_class;
  absl::Time since;
  absl::Time until;
  Turn turn = nullptr;
};

// Ends of waits, whose turns are called after the lock is released.
using Ends = std::vector<std::pair<Admission::Turn, Admission::Verdict>>;

// The waiting calls with the same scopes, caller and class, in the order of their arrival.
struct Admission::Line {
  // Returns the step of a scope of this kind, or null.
  const Step* Find(RateScope kind) const {
    for (const Step& step : steps) {
      if (step.scope->kind == kind) return &step;
    }
    return nullptr;
  }

  Steps steps;
  absl::btree_set<Ticket> calls;
};

struct Admission::State {
  using LineKey = absl::InlinedVector<FairQueue::Flow*, 3>;

  // The time for which a call must wait, and the index of the step whose rate delays it longest.
  struct Delay {
    absl::Duration time;
    size_t step = 0;
  };

  State(Admission& admission, const AdmissionOptions& options)
      : admission(admission),
        options(options),
        upstream(RateScope::kUpstream, SharedRate(kUpstreamRate, options.rates, options.share, options.has_quotas, 0),
                 kNoLimit) {
    for (const OperationLimits& limits : options.operation_rates) {
      const std::string& first = *std::min_element(limits.paths.begin(), limits.paths.end());
      Scope& scope = limited_operations.emplace_back(
          RateScope::kOperation,
          SharedRate(absl::StrCat(kOperationPrefix, first), limits.rates, options.share, options.has_quotas, 0),
          kNoLimit);
      for (const std::string& path : limits.paths) operations_by_path[path] = &scope;
    }
  }

  // Calls `visit` with each scope.
  template <typename Visit>
  void ForEachScope(Visit visit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    visit(upstream);
    for (Scope& scope : limited_operations) visit(scope);
    for (auto& [id, scope] : organizations) visit(scope);
  }

  Scope* FindOrganization(absl::string_view id, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (id.empty()) return nullptr;
    if (const auto found = organizations.find(id); found != organizations.end()) return &found->second;
    const auto own = options.rates_of.find(id);
    const std::vector<RateLimit>& limits = own != options.rates_of.end() ? own->second : options.organization_rates;
    if (limits.empty() && options.max_in_flight_per_organization == kNoLimit) return nullptr;
    if (organizations.size() >= kMaxOrganizations) Forget(organizations, kMaxOrganizations, now);
    SharedRate rate(absl::StrCat(kOrganizationPrefix, id), limits, options.share, options.has_quotas, begun);
    if (shares != nullptr) rate.Apply(*shares, now);
    if (quotas != nullptr) rate.Apply(*quotas);
    return &organizations
                .try_emplace(id, RateScope::kOrganization, std::move(rate), options.max_in_flight_per_organization)
                .first->second;
  }

  // If too many operations are in use, the further ones have no scope: their refusals slow a wider one.
  Scope* FindOperation(absl::string_view path, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (path.empty()) return nullptr;
    if (const auto limited = operations_by_path.find(path); limited != operations_by_path.end()) return limited->second;
    if (const auto found = operations.find(path); found != operations.end()) return &found->second;
    if (operations.size() >= kMaxOperations) Forget(operations, kMaxOperations, now);
    if (operations.size() >= kMaxOperations) return nullptr;
    Scope& scope =
        operations.try_emplace(path, RateScope::kOperation, SharedRate("", {}, 1, false, 0), kNoLimit).first->second;
    scope.learned.emplace();
    return &scope;
  }

  // Returns the call, with its scopes and its caller's flow in each of them. Counts its arrival.
  Waiting Arrive(const AdmissionRequest& request, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Waiting call{{}, 0, request.call_class, now, now};
    for (Scope* scope :
         {&upstream, FindOrganization(request.organization, now), FindOperation(request.operation, now)}) {
      if (scope == nullptr) continue;
      if (shares != nullptr || options.has_quotas) scope->rate.Arrive(request.caller, request.weight, now);
      const double weight = WeightOf(request, *scope);
      call.steps.push_back({scope, &scope->queue.Arrive(request.call_class, request.caller, weight, now)});
    }
    return call;
  }

  // Returns the part of the caller's weight that counts in this process. A scope whose rate is not shared, such as that
  // of a learned rate, has the parts of upstream's rate.
  double WeightOf(const AdmissionRequest& request, const Scope& scope) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const SharedRate& rate = scope.rate.is_shared() ? scope.rate : upstream.rate;
    if (shares == nullptr || !rate.is_shared()) return request.weight;
    return request.weight * std::max(shares->WeightPart(rate.name(), request.caller), kLeastWeightPart);
  }

  static void Forget(absl::node_hash_map<std::string, Scope>& scopes, size_t most, absl::Time now) {
    absl::erase_if(scopes, [&](auto& entry) { return entry.second.IsEmpty(now); });
    // If all are in use, forgets those that have nothing in progress. Upstream still enforces their rates.
    if (scopes.size() < most) return;
    absl::erase_if(scopes, [](const auto& entry) { return entry.second.IsIdle(); });
  }

  // Returns whether all these scopes, without upstream as a whole, have room.
  static bool HasRoom(const Steps& steps, absl::Time now) {
    return std::all_of(steps.begin() + 1, steps.end(), [&](const Step& step) { return step.scope->HasRoom(now); });
  }

  Permit Admit(const Waiting& call, absl::Time now, bool waited) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (const auto& [scope, flow] : call.steps) {
      scope->Begin(now, waited);
      FairQueue::Continue(*flow);
    }
    ++begun;
    return Permit(admission.shared_from_this(), call.scopes(), now);
  }

  void Observe(CallClass call_class, std::optional<AdmissionRefusal> refusal, absl::Duration waited) {
    AdmissionMetrics::OfClass& metrics = admission.metrics_[call_class];
    if (refusal.has_value()) return metrics.refused[*refusal].Increment();
    metrics.admitted.Increment();
    metrics.wait.Observe(absl::ToDoubleSeconds(waited));
  }

  void CountWaiting(const Waiting& call, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (const Step& step : call.steps) {
      step.scope->waiting += change;
      if (step.scope == &upstream) continue;
      if (step.scope->waiting == 0) crowded.erase(step.scope);
      if (step.scope->waiting == 1) crowded.insert(step.scope);
    }
    size_t& of_class = waiting_of_class[static_cast<size_t>(call.call_class)];
    of_class += change;
    admission.metrics_[call.call_class].waiting.Set(static_cast<double>(of_class));
  }

  // Returns how long a further call like `call` would have to wait if it waited at most `horizon`.
  static Delay DelayOf(const Waiting& call, absl::Duration horizon, absl::Time now) {
    Delay delay{absl::ZeroDuration()};
    for (size_t i = 0; i < call.steps.size(); ++i) {
      const auto& [scope, flow] = call.steps[i];
      const auto ahead = static_cast<size_t>(scope->queue.Ahead(*flow, horizon, now));
      const absl::Duration time = scope->When(ahead + 1, now) - now;
      if (time > delay.time) delay = {time, i};
    }
    return delay;
  }

  // Returns the time after which a repetition finds a place if nothing else arrives. While the repetition does not
  // wait, all calls that wait now go before it.
  absl::Duration RetryAfter(const Waiting& call, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    absl::Duration wait = DelayOf(call, absl::ZeroDuration(), now).time;
    for (const Step& step : call.steps) {
      if (step.scope != &upstream) wait = std::max(wait, step.scope->When(step.scope->waiting + 1, now) - now);
    }
    // During a short wait, the calls that overtake the repetition count too. A long wait is that of a long window.
    for (int i = 0; i < 3 && wait < 5 * kSecond; ++i) wait = std::max(wait, DelayOf(call, wait, now).time);
    return std::max(wait, absl::Milliseconds(1));
  }

  void Add(Ticket ticket, Waiting call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    LineKey key;
    for (size_t i = 0; i < call.steps.size(); ++i) {
      FairQueue::Add(*call.steps[i].flow, /*elsewhere=*/i != call.longest_step);
      key.push_back(call.steps[i].flow);
    }
    Line& line = lines[key];
    line.steps = call.steps;
    line.calls.insert(ticket);
    by_end.emplace(call.until, ticket);
    CountWaiting(call, 1);
    calls.emplace(ticket, std::move(call));
  }

  // Takes a call out of the list of waiting calls.
  Waiting Extract(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Waiting call = std::move(calls.extract(ticket).mapped());
    LineKey key;
    for (size_t i = 0; i < call.steps.size(); ++i) {
      FairQueue::Remove(*call.steps[i].flow, /*elsewhere=*/i != call.longest_step);
      key.push_back(call.steps[i].flow);
    }
    const auto line = lines.find(key);
    line->second.calls.erase(ticket);
    if (line->second.calls.empty()) lines.erase(line);
    by_end.erase({call.until, ticket});
    CountWaiting(call, -1);
    return call;
  }

  Verdict Refuse(AdmissionRefusal why, const Waiting& call, absl::Duration waited, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (is_draining() && why != AdmissionRefusal::kLeft) why = AdmissionRefusal::kDraining;
    Observe(call.call_class, why, waited);
    Refused refused{why, absl::ZeroDuration()};
    if (why == AdmissionRefusal::kNoPlace || why == AdmissionRefusal::kWaitTooLong) {
      refused.retry_after = RetryAfter(call, now);
      Scope& scope = *call.steps[DelayOf(call, absl::ZeroDuration(), now).step].scope;
      const size_t count = scope.waiting + 1;
      refused.scope = scope.kind;
      refused.limit = scope.rate.Narrowest(static_cast<int64_t>(count), now);
      refused.calls_in_flight = scope.WhenFree(count, now) > scope.rate.When(static_cast<int64_t>(count), now);
    }
    return {Permit(), refused};
  }

  void RefuseWaiting(Ticket ticket, AdmissionRefusal why, absl::Time now, Ends& ends)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Waiting call = Extract(ticket);
    Verdict verdict = Refuse(why, call, now - call.since, now);
    ends.emplace_back(std::move(call.turn), std::move(verdict));
  }

  bool is_draining() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return admits_until < absl::InfiniteFuture(); }

  // Returns whether the first call of `line` goes before that of `other` in the order of a scope of both.
  static bool GoesFirst(const Line& line, const Line& other, RateScope kind) {
    const FairQueue::Flow& flow = *line.Find(kind)->flow;
    const FairQueue::Flow& other_flow = *other.Find(kind)->flow;
    if (FairQueue::Precedes(flow, other_flow)) return true;
    return !FairQueue::Precedes(other_flow, flow) && *line.calls.begin() < *other.calls.begin();
  }

  // If a scope of this kind has too few places for the calls of `next`, only the line that is first in its order
  // remains.
  static void KeepFirst(RateScope kind, std::vector<const Line*>& next, absl::Time now) {
    for (const Line* line : next) {
      if (const Step* const step = line->Find(kind)) step->scope->competing = 0;
    }
    for (const Line* line : next) {
      const Step* const step = line->Find(kind);
      if (step == nullptr) continue;
      Scope& scope = *step->scope;
      if (scope.competing == 0 || GoesFirst(*line, *scope.first, kind)) scope.first = line;
      scope.competing += line->calls.size();
    }
    std::erase_if(next, [&](const Line* line) {
      const Step* const step = line->Find(kind);
      if (step == nullptr || line == step->scope->first) return false;
      return !step->scope->HasPlaces(step->scope->competing, now);
    });
  }

  // Returns the waiting call that is next. Each rate that has too few places for the calls that could go decides by its
  // own order, the narrowest rate first.
  std::optional<Ticket> Next(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::vector<const Line*> next;
    for (const auto& [key, line] : lines) {
      if (HasRoom(line.steps, now)) next.push_back(&line);
    }
    if (next.empty()) return std::nullopt;
    KeepFirst(RateScope::kOperation, next, now);
    KeepFirst(RateScope::kOrganization, next, now);
    const Line* first = next.front();
    for (const Line* line : next) {
      if (GoesFirst(*line, *first, RateScope::kUpstream)) first = line;
    }
    return *first->calls.begin();
  }

  // Admits the waiting calls whose turn has come, and refuses those that have waited too long.
  void Pump(absl::Time now, Ends& ends) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    while (!calls.empty() && now < admits_until && upstream.When(1, now) <= now) {
      const std::optional<Ticket> next = Next(now);
      if (!next.has_value()) break;
      Waiting call = Extract(*next);
      Observe(call.call_class, std::nullopt, now - call.since);
      Verdict verdict{Admit(call, now, /*waited=*/true), std::nullopt};
      ends.emplace_back(std::move(call.turn), std::move(verdict));
    }
    while (!by_end.empty() && by_end.begin()->first <= now) {
      RefuseWaiting(by_end.begin()->second, AdmissionRefusal::kWaitTooLong, now, ends);
    }
    SetTimer(now);
  }

  // Returns whether Pump must run before `call` arrives, so that this call overtakes no waiting one. Pump looks at each
  // waiting call, which would be too much for each arrival. The turns that the end of a call or new shares bring come
  // without an arrival, and the timer knows of the others, except if a rate has become faster.
  bool IsDue(const Waiting& call, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (timer <= now || (rate_delays && upstream.When(1, now) <= now)) return true;
    return std::any_of(call.steps.begin() + 1, call.steps.end(),
                       [&](const Step& step) { return step.scope->waiting > 0 && step.scope->HasRoom(now); });
  }

  // Lets Pump run again when a turn can come or a wait must end.
  void SetTimer(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (calls.empty()) return;
    absl::Time next = upstream.When(1, now);
    rate_delays = next > now;
    if (!rate_delays) {  // only narrower scopes delay the calls
      next = absl::InfiniteFuture();
      for (const Scope* scope : crowded) {
        // If only the calls in flight delay the calls of this scope, the end of one of them runs Pump.
        if (scope->closed_until > now) next = std::min(next, scope->closed_until);
      }
    }
    next = std::min(next, by_end.begin()->first);
    if (next >= timer && timer > now) return;
    timer = next;
    options.run_after(next - now, [weak = admission.weak_from_this()] {
      const std::shared_ptr<Admission> self = weak.lock();
      if (self != nullptr) self->state().OnTimer();
    });
  }

  void OnTimer() {
    Ends ends;
    {
      const MutexLock lock(mutex);
      const absl::Time now = options.now();
      if (timer <= now) timer = absl::InfinitePast();
      Pump(now, ends);
    }
    Call(ends);
  }

  static void Call(Ends& ends) {
    for (auto& [turn, verdict] : ends) turn(std::move(verdict));
  }

  Admission& admission;
  const AdmissionOptions& options;
  Mutex mutex;
  Scope upstream ABSL_GUARDED_BY(mutex);
  std::deque<Scope> limited_operations ABSL_GUARDED_BY(mutex);  // those whose rates the options state
  absl::flat_hash_map<std::string, Scope*> operations_by_path ABSL_GUARDED_BY(mutex);
  absl::node_hash_map<std::string, Scope> organizations ABSL_GUARDED_BY(mutex);
  absl::node_hash_map<std::string, Scope> operations ABSL_GUARDED_BY(mutex);  // the others, by their paths
  absl::Time admits_until ABSL_GUARDED_BY(mutex) = absl::InfiniteFuture();    // earlier if the process drains
  std::shared_ptr<const HeldShares> shares ABSL_GUARDED_BY(mutex);            // null until SetShares
  std::shared_ptr<const HeldQuotas> quotas ABSL_GUARDED_BY(mutex);            // null until SetQuotas
  std::function<void()> on_quota_lack ABSL_GUARDED_BY(mutex);
  int64_t begun ABSL_GUARDED_BY(mutex) = 0;  // admitted calls
  Ticket last_ticket ABSL_GUARDED_BY(mutex) = 0;
  absl::btree_map<Ticket, Waiting> calls ABSL_GUARDED_BY(mutex);    // the waiting calls, in the order of their arrival
  absl::flat_hash_map<LineKey, Line> lines ABSL_GUARDED_BY(mutex);  // the same calls, by the flows of their steps
  std::array<size_t, kCallClasses> waiting_of_class ABSL_GUARDED_BY(mutex) = {};
  // The scopes, without upstream as a whole, whose calls wait.
  absl::flat_hash_set<Scope*> crowded ABSL_GUARDED_BY(mutex);
  absl::btree_set<std::pair<absl::Time, Ticket>> by_end ABSL_GUARDED_BY(mutex);
  absl::Time timer ABSL_GUARDED_BY(mutex) = absl::InfinitePast();  // when the next timer fires
  // Whether upstream's rate delayed the waiting calls when the timer was set.
  bool rate_delays ABSL_GUARDED_BY(mutex) = false;
};

std::shared_ptr<Admission> Admission::Create(AdmissionOptions options, AdmissionMetrics& metrics) {
  return std::make_shared<Admission>(std::move(options), metrics);
}

Admission::Admission(AdmissionOptions options, AdmissionMetrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      limits_(!options_.rates.empty() || !options_.organization_rates.empty() || !options_.rates_of.empty() ||
              !options_.operation_rates.empty() || options_.max_in_flight_per_organization != kNoLimit),
      state_(std::make_unique<State>(*this, options_)) {}

Admission::~Admission() = default;

std::optional<Admission::Verdict> Admission::Enter(const AdmissionRequest& request, Ticket& ticket, Turn turn) {
  if (!limits_) return Verdict();
  State& state = *state_;
  Ends ends;
  std::optional<Verdict> verdict = [&]() -> std::optional<Verdict> {
    const MutexLock lock(state.mutex);
    const absl::Time now = options_.now();
    Waiting call = state.Arrive(request, now);
    if (!state.calls.empty() && state.IsDue(call, now)) state.Pump(now, ends);
    if (now < state.admits_until && state.upstream.When(1, now) <= now && State::HasRoom(call.steps, now)) {
      state.Observe(request.call_class, std::nullopt, absl::ZeroDuration());
      return Verdict{state.Admit(call, now, /*waited=*/false), std::nullopt};
    }
    const absl::Duration longest = std::min({options_.max_wait, request.time_left, state.admits_until - now});
    const State::Delay delay = State::DelayOf(call, longest, now);
    if (longest <= absl::ZeroDuration() || delay.time > longest * kCertain) {
      return state.Refuse(AdmissionRefusal::kNoPlace, call, absl::ZeroDuration(), now);
    }
    const bool lacks_quota = std::any_of(call.steps.begin(), call.steps.end(),
                                         [&](const Step& step) { return step.scope->rate.LacksBlock(now); });
    call.longest_step = delay.step;
    call.until = now + longest;
    call.turn = std::move(turn);
    ticket = ++state.last_ticket;
    state.Add(ticket, std::move(call));
    if (lacks_quota && state.on_quota_lack) state.on_quota_lack();
    state.SetTimer(now);
    return std::nullopt;
  }();
  State::Call(ends);
  return verdict;
}

void Admission::Leave(Ticket ticket) {
  Ends ends;
  {
    const MutexLock lock(state_->mutex);
    if (!state_->calls.contains(ticket)) return;
    state_->RefuseWaiting(ticket, AdmissionRefusal::kLeft, options_.now(), ends);
  }
  State::Call(ends);
}

void Admission::Drain(absl::Time end) {
  if (!limits_) return;
  State& state = *state_;
  Ends ends;
  {
    const MutexLock lock(state.mutex);
    const absl::Time now = options_.now();
    // Some calls take longer than the mean.
    state.admits_until = end - 2 * state.upstream.in_flight.HoldTime(now);
    state.by_end.clear();
    for (auto& [ticket, waiting] : state.calls) {
      waiting.until = std::min(waiting.until, state.admits_until);
      state.by_end.emplace(waiting.until, ticket);
    }
    state.Pump(now, ends);
  }
  State::Call(ends);
}

void Admission::Charge() {
  if (!limits_) return;
  const MutexLock lock(state_->mutex);
  const absl::Time now = options_.now();
  state_->upstream.rate.Begin(now, /*waited=*/false);
  state_->upstream.rate.Sent(now);
}

void Admission::SetShares(std::shared_ptr<const HeldShares> shares, absl::Time now) {
  Ends ends;
  {
    const MutexLock lock(state_->mutex);
    state_->shares = std::move(shares);
    const HeldShares& held = *state_->shares;
    state_->ForEachScope([&](Scope& scope) {
      scope.rate.Apply(held, now);
      scope.closed_until = absl::InfinitePast();
    });
    state_->Pump(options_.now(), ends);
  }
  State::Call(ends);
}

void Admission::SetQuotas(std::shared_ptr<const HeldQuotas> quotas) {
  Ends ends;
  {
    const MutexLock lock(state_->mutex);
    state_->quotas = std::move(quotas);
    const HeldQuotas& held = *state_->quotas;
    state_->ForEachScope([&](Scope& scope) {
      scope.rate.Apply(held);
      scope.closed_until = absl::InfinitePast();
    });
    state_->Pump(options_.now(), ends);
  }
  State::Call(ends);
}

std::vector<RateDemand> Admission::rate_demand() const {
  using Counts = absl::flat_hash_map<absl::string_view, int64_t>;
  const MutexLock lock(state_->mutex);
  const absl::Time now = options_.now();
  absl::flat_hash_map<const Scope*, Counts> waiting;
  for (const auto& [ticket, call] : state_->calls) {
    for (const auto& [scope, flow] : call.steps) ++waiting[scope][FairQueue::CallerOf(*flow)];
  }
  std::vector<RateDemand> demand;
  std::vector<RateDemand> unused;
  size_t organizations = 0;
  state_->ForEachScope([&](Scope& scope) {
    if (!scope.rate.is_shared()) return;
    if (scope.kind != RateScope::kOrganization) {
      demand.push_back(scope.rate.DemandNow(waiting[&scope], now));
      return;
    }
    if (organizations == kMaxSharedRates || !scope.rate.is_used(now)) return;
    RateDemand own = scope.rate.DemandNow(waiting[&scope], now);
    if (!own.callers.empty()) ++organizations;
    (own.callers.empty() ? unused : demand).push_back(std::move(own));
  });
  // A rate without recent calls keeps a share for the next call.
  for (RateDemand& own : unused) {
    if (organizations++ >= kMaxSharedRates) break;
    demand.push_back(std::move(own));
  }
  return demand;
}

std::vector<QuotaDemand> Admission::quota_demand() const {
  const MutexLock lock(state_->mutex);
  const absl::Time now = options_.now();
  std::vector<QuotaDemand> demand;
  state_->ForEachScope([&](Scope& scope) {
    const bool is_used = scope.kind != RateScope::kOrganization || scope.rate.is_used(now);
    scope.rate.AddQuotaDemand(static_cast<int64_t>(scope.waiting), is_used, now, &demand);
  });
  return demand;
}

void Admission::OnQuotaLack(std::function<void()> on_lack) {
  const MutexLock lock(state_->mutex);
  state_->on_quota_lack = std::move(on_lack);
}

double Admission::permitted_per_second() const {
  const MutexLock lock(state_->mutex);
  return state_->upstream.rate.PerSecond(options_.now());
}

size_t Admission::slowed_operations() const {
  const MutexLock lock(state_->mutex);
  const absl::Time now = options_.now();
  size_t slowed = 0;
  for (Scope& scope : state_->limited_operations) slowed += scope.rate.is_slowed(now) ? 1 : 0;
  for (auto& [path, scope] : state_->operations) slowed += scope.learned->PerSecond(now).has_value() ? 1 : 0;
  return slowed;
}

void Admission::ShowRates() const {
  if (const double rate = permitted_per_second(); std::isfinite(rate)) metrics_.upstream_rate.Set(rate);
  if (limits_) metrics_.slowed_operations.Set(static_cast<double>(slowed_operations()));
}

Admission::Permit& Admission::Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  End();
  admission_ = std::move(other.admission_);
  scopes_ = std::move(other.scopes_);
  taken_ = other.taken_;
  sent_ = other.sent_;
  refused_ = other.refused_;
  return *this;
}

void Admission::Permit::Sent() {
  if (admission_ == nullptr || std::exchange(sent_, true)) return;
  State& state = admission_->state();
  const MutexLock lock(state.mutex);
  const absl::Time now = state.options.now();
  for (Scope* scope : scopes_) scope->Sent(now);
}

void Admission::Permit::Refused(std::optional<absl::Duration> retry_after) {
  if (admission_ == nullptr) return;
  State& state = admission_->state();
  const MutexLock lock(state.mutex);
  const absl::Time now = state.options.now();
  refused_ = true;
  for (Scope* scope : scopes_) scope->Count(kRefused, now);
  // The narrowest scope that explains the refusal is the one of whose requests upstream has refused the largest part.
  Scope* narrowest = &state.upstream;
  double largest = 0;
  for (Scope* scope : scopes_) {
    // While no other operation is called, nothing shows that upstream limits this one apart.
    const std::optional<double> of_others = scope->PartRefusedOfOthers(state.upstream, now);
    const bool may_have_own = scope->learned.has_value() && of_others.has_value();
    if (scope == &state.upstream || !(scope->rate.has_windows() || may_have_own)) continue;
    const double part = scope->PartRefused(now);
    if (part <= 2 * of_others.value_or(0) || part < largest) continue;
    narrowest = scope;
    largest = part;
  }
  narrowest->Slow(now, retry_after);
}

void Admission::Permit::Remaining(int64_t limit, int64_t remaining) {
  if (admission_ == nullptr) return;
  State& state = admission_->state();
  const MutexLock lock(state.mutex);
  // The others are those that share the rate: their requests are not this process's share.
  if (state.shares != nullptr || state.options.share < 1) return;
  state.upstream.rate.Remaining(limit, remaining, state.options.now());
}

void Admission::Permit::End() {
  if (admission_ == nullptr) return;
  const std::shared_ptr<Admission> admission = std::exchange(admission_, nullptr);
  State& state = admission->state();
  Ends ends;
  {
    const MutexLock lock(state.mutex);
    const absl::Time now = state.options.now();
    for (Scope* scope : scopes_) {
      scope->in_flight.GiveBack(taken_, now);
      if (!sent_) {
        scope->Withdraw();
      } else if (!refused_) {
        scope->Count(kAccepted, now);
      }
    }
    if (!state.calls.empty()) state.Pump(now, ends);
  }
  State::Call(ends);
}

}  // namespace stampgate
