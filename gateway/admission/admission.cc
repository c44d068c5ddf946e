#include "gateway/admission/admission.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gateway/admission/held_places.h"
#include "gateway/admission/shared_rate.h"

namespace stampgate {
namespace {

// The largest number of organizations whose rates are remembered. If there are more, those that have sent nothing
// lately are forgotten.
constexpr size_t kMaxOrganizations = 16384;

// If two organizations get a refusal within this time, the rate of upstream as a whole is exceeded.
constexpr absl::Duration kRefusedTogether = absl::Seconds(1);

// A call waits only if its turn should come within this part of its time, because the estimate can be too early. So few
// calls wait in vain.
constexpr double kCertain = 0.875;

constexpr absl::Duration kSecond = absl::Seconds(1);

// The least part of a caller's weight that counts, because each waiting call must get its turn.
constexpr double kLeastWeightPart = 1e-3;

}  // namespace

struct Admission::Organization {
  explicit Organization(SharedRate shared) : rate(std::move(shared)) {}

  // Returns when `count` further calls have a place if at most `limit` calls may be in flight.
  absl::Time WhenFree(size_t count, size_t limit, absl::Time now) const {
    if (in_flight.count() + count <= limit) return now;
    const auto ends = static_cast<double>(in_flight.count() + count - limit);
    return now + in_flight.HoldTime(now) * (ends / static_cast<double>(limit));
  }

  SharedRate rate;
  HeldPlaces in_flight;
  size_t waiting = 0;
  absl::Time closed_until = absl::InfinitePast();  // nothing fits into the rate before this time
};

struct Admission::Waiting {
  FairQueue::Flow* flow;
  Organization* organization;  // null if the request names none
  CallClass call_class;
  absl::Time since;
  absl::Time until;
  Turn turn;
};

// Ends of waits, whose turns are called after the lock is released.
using Ends = std::vector<std::pair<Admission::Turn, Admission::Verdict>>;

struct Admission::State {
  State(Admission& admission, const AdmissionOptions& options)
      : admission(admission),
        options(options),
        rate(kUpstreamRate, options.rates, options.share, options.has_quotas, /*begun=*/0) {}

  Organization* Find(absl::string_view id, absl::Time now) {
    if (id.empty()) return nullptr;
    auto found = organizations.find(id);
    if (found != organizations.end()) return &found->second;
    const auto own = options.rates_of.find(id);
    const std::vector<RateLimit>& limits = own != options.rates_of.end() ? own->second : options.organization_rates;
    if (limits.empty() && options.max_in_flight_per_organization == std::numeric_limits<size_t>::max()) return nullptr;
    if (organizations.size() >= kMaxOrganizations) ForgetOrganizations(now);
    SharedRate organization_rate(absl::StrCat(kOrganizationPrefix, id), limits, options.share, options.has_quotas,
                                 begun);
    if (shares != nullptr) organization_rate.Apply(*shares, now);
    if (quotas != nullptr) organization_rate.Apply(*quotas);
    return &organizations.try_emplace(id, std::move(organization_rate)).first->second;
  }

  // Counts the arrival of a call in the rates that it needs.
  void CountArrival(const AdmissionRequest& request, Organization* organization, absl::Time now) {
    if (shares == nullptr && !options.has_quotas) return;
    rate.Arrive(request.caller, request.weight, now);
    if (organization != nullptr) organization->rate.Arrive(request.caller, request.weight, now);
  }

  // Returns the part of the caller's weight that counts in this process. The rate that all calls need decides, if there
  // is one.
  double WeightOf(const AdmissionRequest& request, const Organization* organization) const {
    if (shares == nullptr || (organization == nullptr && !rate.is_shared())) return request.weight;
    const absl::string_view name = rate.is_shared() ? kUpstreamRate : absl::string_view(organization->rate.name());
    return request.weight * std::max(shares->WeightPart(name, request.caller), kLeastWeightPart);
  }

  void ForgetOrganizations(absl::Time now) {
    absl::erase_if(organizations, [&](auto& entry) {
      Organization& organization = entry.second;
      return organization.in_flight.count() == 0 && organization.waiting == 0 && organization.rate.IsEmpty(now);
    });
    // If all are in use, forgets those that have nothing in progress. Upstream still enforces their rates.
    if (organizations.size() < kMaxOrganizations) return;
    absl::erase_if(organizations,
                   [](const auto& entry) { return entry.second.in_flight.count() == 0 && entry.second.waiting == 0; });
  }

  bool HasRoom(Organization* organization, absl::Time now) {
    if (organization == nullptr) return true;
    if (organization->in_flight.count() >= options.max_in_flight_per_organization || now < organization->closed_until) {
      return false;
    }
    organization->closed_until = organization->rate.When(1, now);
    return organization->closed_until <= now;
  }

  Permit Admit(Organization* organization, absl::Time now, bool waited) {
    rate.Begin(now, waited);
    in_flight.Take(now);
    if (organization != nullptr) {
      organization->rate.Begin(now, waited);
      organization->in_flight.Take(now);
    }
    ++begun;
    return Permit(admission.shared_from_this(), organization, now);
  }

  void Observe(CallClass call_class, std::optional<AdmissionRefusal> refusal, absl::Duration waited) {
    if (options.observe) options.observe(call_class, refusal, waited);
  }

  void ObserveWaiting(CallClass call_class) {
    if (options.observe_waiting) options.observe_waiting(call_class, queue.size(call_class));
  }

  // Returns how long a further call of the flow would have to wait if it waited at most `horizon`.
  absl::Duration WaitOf(const FairQueue::Flow& flow, Organization* organization, absl::Duration horizon,
                        absl::Time now) {
    absl::Time when = rate.When(queue.Ahead(flow, horizon, now) + 1, now);
    if (organization != nullptr) {
      const size_t count = organization->waiting + 1;
      when = std::max({when, organization->rate.When(static_cast<int64_t>(count), now),
                       organization->WhenFree(count, options.max_in_flight_per_organization, now)});
    }
    return when - now;
  }

  // Returns the time after which a repetition finds a place if nothing else arrives.
  absl::Duration RetryAfter(const FairQueue::Flow& flow, Organization* organization, absl::Time now) {
    absl::Duration wait = WaitOf(flow, organization, absl::ZeroDuration(), now);
    // During a short wait, the calls that overtake the repetition count too. A long wait is that of a long window.
    for (int i = 0; i < 3 && wait < 5 * kSecond; ++i) wait = std::max(wait, WaitOf(flow, organization, wait, now));
    return std::max(wait, absl::Milliseconds(1));
  }

  // Takes a call out of the list of waiting calls. The caller has already removed it from the queue.
  Waiting Extract(Ticket ticket) {
    Waiting waiting = std::move(calls.extract(ticket).mapped());
    by_end.erase({waiting.until, ticket});
    if (waiting.organization != nullptr) --waiting.organization->waiting;
    ObserveWaiting(waiting.call_class);
    return waiting;
  }

  // Refuses a call of the flow and the organization, which has waited for `waited`.
  Verdict Refuse(AdmissionRefusal why, CallClass call_class, const FairQueue::Flow& flow, Organization* organization,
                 absl::Duration waited, absl::Time now) {
    if (is_draining() && why != AdmissionRefusal::kLeft) why = AdmissionRefusal::kDraining;
    Observe(call_class, why, waited);
    const bool may_return = why == AdmissionRefusal::kNoPlace || why == AdmissionRefusal::kWaitTooLong;
    return {Permit(), Refused{why, may_return ? RetryAfter(flow, organization, now) : absl::ZeroDuration()}};
  }

  void RefuseWaiting(Ticket ticket, AdmissionRefusal why, absl::Time now, Ends& ends) {
    queue.Remove(*calls.find(ticket)->second.flow, ticket);
    Waiting waiting = Extract(ticket);
    Verdict verdict = Refuse(why, waiting.call_class, *waiting.flow, waiting.organization, now - waiting.since, now);
    ends.emplace_back(std::move(waiting.turn), std::move(verdict));
  }

  bool is_draining() const { return admits_until < absl::InfiniteFuture(); }

  // Admits the waiting calls whose turn has come, and refuses those that have waited too long.
  void Pump(absl::Time now, Ends& ends) {
    while (queue.size() > 0 && now < admits_until && rate.When(1, now) <= now) {
      const std::optional<Ticket> next =
          queue.TakeNext([&](Ticket ticket) { return HasRoom(calls.find(ticket)->second.organization, now); });
      if (!next.has_value()) break;
      Waiting waiting = Extract(*next);
      Observe(waiting.call_class, std::nullopt, now - waiting.since);
      ends.emplace_back(std::move(waiting.turn),
                        Verdict{Admit(waiting.organization, now, /*waited=*/true), std::nullopt});
    }
    while (!by_end.empty() && by_end.begin()->first <= now) {
      RefuseWaiting(by_end.begin()->second, AdmissionRefusal::kWaitTooLong, now, ends);
    }
    SetTimer(now);
  }

  // Returns whether Pump must run before a call of `organization` arrives, so that this call overtakes no waiting one.
  // Pump looks at each waiting call, which would be too much for each arrival. The turns that the end of a call or new
  // shares bring come without an arrival, and the timer knows of the others, except if a rate has become faster.
  bool IsDue(Organization* organization, absl::Time now) {
    if (timer <= now || (rate_delays && rate.When(1, now) <= now)) return true;
    return organization != nullptr && organization->waiting > 0 && HasRoom(organization, now);
  }

  // Lets Pump run again when a turn can come or a wait must end.
  void SetTimer(absl::Time now) {
    if (queue.size() == 0) return;
    absl::Time next = rate.When(1, now);
    rate_delays = next > now;
    if (!rate_delays) {  // only the organizations delay the calls
      next = absl::InfiniteFuture();
      for (const auto& [ticket, waiting] : calls) {
        // If only the calls in flight delay this call, the end of one of them runs Pump.
        if (waiting.organization == nullptr || waiting.organization->closed_until <= now) continue;
        next = std::min(next, waiting.organization->closed_until);
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
      const std::lock_guard lock(mutex);
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
  std::mutex mutex;
  SharedRate rate;
  HeldPlaces in_flight;
  absl::Time admits_until = absl::InfiniteFuture();  // earlier if the process drains
  absl::node_hash_map<std::string, Organization> organizations;
  std::shared_ptr<const HeldShares> shares;  // null until SetShares
  std::shared_ptr<const HeldQuotas> quotas;  // null until SetQuotas
  std::function<void()> on_quota_lack;
  int64_t begun = 0;  // admitted calls
  FairQueue queue;
  Ticket last_ticket = 0;
  absl::btree_map<Ticket, Waiting> calls;  // the waiting calls, in the order of their arrival
  absl::btree_set<std::pair<absl::Time, Ticket>> by_end;
  absl::Time timer = absl::InfinitePast();  // when the next timer fires
  bool rate_delays = false;                 // whether upstream's rate delayed the waiting calls when the timer was set
  const Organization* last_refused = nullptr;
  absl::Time last_refused_at = absl::InfinitePast();
};

std::shared_ptr<Admission> Admission::Create(AdmissionOptions options) {
  return std::make_shared<Admission>(std::move(options));
}

Admission::Admission(AdmissionOptions options)
    : options_(std::move(options)),
      limits_(!options_.rates.empty() || !options_.organization_rates.empty() || !options_.rates_of.empty() ||
              options_.max_in_flight_per_organization != std::numeric_limits<size_t>::max()),
      state_(std::make_unique<State>(*this, options_)) {}

Admission::~Admission() = default;

std::optional<Admission::Verdict> Admission::Enter(const AdmissionRequest& request, Ticket& ticket, Turn turn) {
  if (!limits_) return Verdict();
  State& state = *state_;
  Ends ends;
  std::optional<Verdict> verdict = [&]() -> std::optional<Verdict> {
    const std::lock_guard lock(state.mutex);
    const absl::Time now = options_.now();
    Organization* organization = state.Find(request.organization, now);
    state.CountArrival(request, organization, now);
    const double weight = state.WeightOf(request, organization);
    FairQueue::Flow& flow = state.queue.Arrive(request.call_class, request.caller, weight, now);
    if (state.queue.size() > 0 && state.IsDue(organization, now)) state.Pump(now, ends);
    if (now < state.admits_until && state.rate.When(1, now) <= now && state.HasRoom(organization, now)) {
      state.queue.Pass(flow);
      state.Observe(request.call_class, std::nullopt, absl::ZeroDuration());
      return Verdict{state.Admit(organization, now, /*waited=*/false), std::nullopt};
    }
    const absl::Duration longest = std::min({options_.max_wait, request.time_left, state.admits_until - now});
    if (longest <= absl::ZeroDuration() || state.WaitOf(flow, organization, longest, now) > longest * kCertain) {
      return state.Refuse(AdmissionRefusal::kNoPlace, request.call_class, flow, organization, absl::ZeroDuration(),
                          now);
    }
    ticket = ++state.last_ticket;
    state.queue.Add(flow, ticket);
    state.by_end.emplace(now + longest, ticket);
    if (organization != nullptr) ++organization->waiting;
    state.calls.emplace(ticket, Waiting{&flow, organization, request.call_class, now, now + longest, std::move(turn)});
    state.ObserveWaiting(request.call_class);
    const bool lacks_quota =
        state.rate.LacksBlock(now) || (organization != nullptr && organization->rate.LacksBlock(now));
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
    const std::lock_guard lock(state_->mutex);
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
    const std::lock_guard lock(state.mutex);
    const absl::Time now = options_.now();
    // Some calls take longer than the mean.
    state.admits_until = end - 2 * state.in_flight.HoldTime(now);
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
  const std::lock_guard lock(state_->mutex);
  const absl::Time now = options_.now();
  state_->rate.Begin(now, /*waited=*/false);
  state_->rate.Sent(now);
}

void Admission::SetShares(std::shared_ptr<const HeldShares> shares, absl::Time now) {
  Ends ends;
  {
    const std::lock_guard lock(state_->mutex);
    state_->shares = std::move(shares);
    state_->rate.Apply(*state_->shares, now);
    for (auto& [id, organization] : state_->organizations) {
      organization.rate.Apply(*state_->shares, now);
      organization.closed_until = absl::InfinitePast();
    }
    state_->Pump(options_.now(), ends);
  }
  State::Call(ends);
}

void Admission::SetQuotas(std::shared_ptr<const HeldQuotas> quotas) {
  Ends ends;
  {
    const std::lock_guard lock(state_->mutex);
    state_->quotas = std::move(quotas);
    state_->rate.Apply(*state_->quotas);
    for (auto& [id, organization] : state_->organizations) {
      organization.rate.Apply(*state_->quotas);
      organization.closed_until = absl::InfinitePast();
    }
    state_->Pump(options_.now(), ends);
  }
  State::Call(ends);
}

std::vector<RateDemand> Admission::rate_demand() const {
  using Counts = absl::flat_hash_map<absl::string_view, int64_t>;
  const std::lock_guard lock(state_->mutex);
  const absl::Time now = options_.now();
  Counts waiting;
  absl::flat_hash_map<const Organization*, Counts> waiting_of;
  for (const auto& [ticket, call] : state_->calls) {
    const absl::string_view caller = FairQueue::CallerOf(*call.flow);
    ++waiting[caller];
    if (call.organization != nullptr) ++waiting_of[call.organization][caller];
  }
  std::vector<RateDemand> demand;
  if (state_->rate.is_shared()) demand.push_back(state_->rate.DemandNow(waiting, now));
  std::vector<RateDemand> unused;
  size_t organizations = 0;
  for (auto& [id, organization] : state_->organizations) {
    if (organizations == kMaxSharedRates) break;
    if (!organization.rate.is_shared() || !organization.rate.is_used(now)) continue;
    RateDemand own = organization.rate.DemandNow(waiting_of[&organization], now);
    if (!own.callers.empty()) ++organizations;
    (own.callers.empty() ? unused : demand).push_back(std::move(own));
  }
  // A rate without recent calls keeps a share for the next call.
  for (RateDemand& own : unused) {
    if (organizations++ >= kMaxSharedRates) break;
    demand.push_back(std::move(own));
  }
  return demand;
}

std::vector<QuotaDemand> Admission::quota_demand() const {
  const std::lock_guard lock(state_->mutex);
  const absl::Time now = options_.now();
  std::vector<QuotaDemand> demand;
  state_->rate.AddQuotaDemand(static_cast<int64_t>(state_->calls.size()), /*is_used=*/true, now, &demand);
  for (const auto& [id, organization] : state_->organizations) {
    organization.rate.AddQuotaDemand(static_cast<int64_t>(organization.waiting), organization.rate.is_used(now), now,
                                     &demand);
  }
  return demand;
}

void Admission::OnQuotaLack(std::function<void()> on_lack) {
  const std::lock_guard lock(state_->mutex);
  state_->on_quota_lack = std::move(on_lack);
}

double Admission::permitted_per_second() const {
  const std::lock_guard lock(state_->mutex);
  return state_->rate.PerSecond(options_.now());
}

Admission::Permit& Admission::Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  End();
  admission_ = std::move(other.admission_);
  organization_ = std::exchange(other.organization_, nullptr);
  taken_ = other.taken_;
  sent_ = other.sent_;
  return *this;
}

void Admission::Permit::Sent() {
  if (admission_ == nullptr || std::exchange(sent_, true)) return;
  State& state = admission_->state();
  const std::lock_guard lock(state.mutex);
  const absl::Time now = state.options.now();
  state.rate.Sent(now);
  if (organization_ != nullptr) organization_->rate.Sent(now);
}

void Admission::Permit::Refused(std::optional<absl::Duration> retry_after) {
  if (admission_ == nullptr) return;
  State& state = admission_->state();
  const std::lock_guard lock(state.mutex);
  const absl::Time now = state.options.now();
  // If the organization has a rate, this rate is probably the one that was exceeded, unless other organizations are
  // refused too.
  const bool has_rate = organization_ != nullptr && organization_->rate.has_windows();
  const bool together = state.last_refused != organization_ && now < state.last_refused_at + kRefusedTogether;
  if (has_rate) organization_->rate.Refused(now, retry_after);
  if (!has_rate || together) state.rate.Refused(now, retry_after);
  state.last_refused = organization_;
  state.last_refused_at = now;
}

void Admission::Permit::Remaining(int64_t limit, int64_t remaining) {
  if (admission_ == nullptr) return;
  State& state = admission_->state();
  const std::lock_guard lock(state.mutex);
  // The others are those that share the rate: their requests are not this process's share.
  if (state.shares != nullptr || state.options.share < 1) return;
  state.rate.Remaining(limit, remaining, state.options.now());
}

void Admission::Permit::End() {
  if (admission_ == nullptr) return;
  const std::shared_ptr<Admission> admission = std::exchange(admission_, nullptr);
  State& state = admission->state();
  Ends ends;
  {
    const std::lock_guard lock(state.mutex);
    const absl::Time now = state.options.now();
    state.in_flight.GiveBack(taken_, now);
    if (!sent_) state.rate.Withdraw();
    if (organization_ != nullptr) {
      if (!sent_) {
        organization_->rate.Withdraw();
        organization_->closed_until = absl::InfinitePast();
      }
      organization_->in_flight.GiveBack(taken_, now);
    }
    if (state.queue.size() > 0) state.Pump(now, ends);
  }
  State::Call(ends);
}

}  // namespace stampgate
