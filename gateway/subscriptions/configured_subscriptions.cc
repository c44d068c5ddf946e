#include "gateway/subscriptions/configured_subscriptions.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/config/duration.h"
#include "gateway/config/subscription_rules.h"
#include "gateway/feed/error.h"
#include "gateway/process/log.h"
#include "gateway/process/memory_limit.h"
#include "translate/error.h"
#include "webhooks/log/event_filter.h"

namespace stampgate {
namespace {

// How exactly times are kept: those of settle_within, of delays and of heartbeats.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// How often the gauges are set, and how often it is looked for events that retention has deleted.
constexpr absl::Duration kSlowWork = absl::Seconds(2);

// Returns the part of each of `count` subscriptions if one alone has `most`. So the memory of all has a bound; see
// kSubscriptionBytes.
size_t Share(size_t most, size_t count) { return std::min(most, most * kMostFullSubscriptions / count); }

// Returns the settings of one of `count` subscriptions.
ServedSubscription::Settings SettingsOf(const config::v1::Subscription& config, size_t count) {
  ServedSubscription::Settings settings;
  settings.limits.max_window = Share(settings.limits.max_window, count);
  settings.limits.max_parked = Share(settings.limits.max_parked, count);
  settings.max_kept_bytes = Share(settings.max_kept_bytes, count);
  settings.limits.settle_within = ToDuration(config.settle_within());
  settings.limits.max_deliveries = config.max_deliveries();
  settings.limits.max_unsettled_per_key = config.max_unsettled_per_key();
  EventFilter filter;
  filter.organization_ids.insert(config.organizations().begin(), config.organizations().end());
  filter.types.insert(config.types().begin(), config.types().end());
  settings.filter = std::make_shared<const EventFilter>(std::move(filter));
  return settings;
}

std::shared_ptr<const DeclaredSubscription> DeclarationOf(const config::v1::Subscription& config,
                                                          std::shared_ptr<ServedSubscription> served) {
  auto declared = std::make_shared<DeclaredSubscription>();
  declared->served = std::move(served);
  declared->callers.insert(config.callers().begin(), config.callers().end());
  declared->organizations.insert(config.organizations().begin(), config.organizations().end());
  return declared;
}

ServedSubscription::Observers ObserversOf(const std::string& name,
                                          const std::shared_ptr<SubscriptionMetrics>& metrics) {
  ServedSubscription::Observers observers;
  observers.on_delivery = [metrics](DeliveryReason reason) { metrics->deliveries[reason].Increment(); };
  observers.on_park = [metrics, name](Position position, int64_t deliveries, const std::string& reason) {
    metrics->parks.Increment();
    Log(Severity::kWarning, "event_parked",
        {{"subscription", name}, {"position", position}, {"deliveries", deliveries}, {"message", reason}});
  };
  observers.on_done = [metrics](absl::Duration time) {
    metrics->done_seconds.Observe(std::max(absl::ToDoubleSeconds(time), 0.0));
  };
  observers.on_near_retention = [name] {
    Log(Severity::kWarning, "subscription_near_retention", {{"subscription", name}});
  };
  observers.on_lost = [metrics, name](const LostEvents& lost, int64_t count) {
    metrics->lost_events.Increment(static_cast<double>(count));
    Log(Severity::kWarning, "subscription_events_lost",
        {{"subscription", name}, {"first", lost.first}, {"last", lost.last}});
  };
  observers.on_not_stored = [metrics, name](const absl::Status& why) {
    metrics->failed_writes.Increment();
    Log(Severity::kWarning, "subscription_not_stored",
        {{"subscription", name}, {"message", std::string(why.message())}});
  };
  return observers;
}

// Returns when the store has answered, so that nothing of the subscription can change its state later.
void EndAndClose(ServedSubscription& subscription, const absl::Status& why) {
  subscription.End(why);
  std::promise<void> closed;
  subscription.Close([&] { closed.set_value(); });
  closed.get_future().wait();
}

bool Declares(const Access& access, absl::string_view name) {
  return absl::c_any_of(access.settings.subscriptions(),
                        [&](const config::v1::Subscription& subscription) { return subscription.name() == name; });
}

// Returns whether the store has damaged the state of a subscription, and logs it.
bool IsDamaged(const SubscriptionStates& stored, const std::string& name) {
  const auto it = stored.find(name);
  if (it == stored.end() || it->second.damage.empty()) return false;
  Log(Severity::kWarning, "subscription_damaged",
      {{"subscription", name},
       {"message", absl::StrCat("the gateway does not serve it, because ", it->second.damage,
                                ": remove it from the config, run stampgate subscriptions delete, and declare it again"
                                " with a time as its start")}});
  return true;
}

absl::StatusOr<Position> StartOf(const config::v1::Subscription& config, EventReader& reader) {
  const absl::Time start = ParseSubscriptionStart(config.start()).value_or(absl::InfinitePast());
  if (start != absl::InfinitePast() && start != absl::InfiniteFuture()) return reader.PositionBefore(start);
  ABSL_ASSIGN_OR_RETURN(const LogExtent extent, reader.Extent());
  return start == absl::InfiniteFuture() ? extent.latest : extent.earliest - 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConfiguredSubscriptions>> ConfiguredSubscriptions::Open(Options options) {
  std::unique_ptr<ConfiguredSubscriptions> subscriptions(new ConfiguredSubscriptions(std::move(options)));
  ABSL_RETURN_IF_ERROR(subscriptions->Apply());
  subscriptions->task_.emplace("subscriptions", kTick, [self = subscriptions.get()] { self->Work(); });
  return subscriptions;
}

ConfiguredSubscriptions::~ConfiguredSubscriptions() {
  Drain();
  Close();
}

std::shared_ptr<const DeclaredSubscription> ConfiguredSubscriptions::Find(absl::string_view name) const {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : it->second.declared;
}

std::vector<std::shared_ptr<const DeclaredSubscription>> ConfiguredSubscriptions::All() const {
  std::vector<std::shared_ptr<const DeclaredSubscription>> all;
  for (const auto& [name, entry] : entries()) all.push_back(entry.declared);
  return all;
}

std::vector<std::string> ConfiguredSubscriptions::Undeclared() const {
  const MutexLock lock(mutex_);
  return {undeclared_.begin(), undeclared_.end()};
}

void ConfiguredSubscriptions::Delete(const std::string& name, absl::AnyInvocable<void(absl::Status)> done) {
  const MutexLock lock(mutex_);
  deletions_.push_back({name, std::move(done)});
}

ConfiguredSubscriptions::Entries ConfiguredSubscriptions::entries() const {
  const MutexLock lock(mutex_);
  return entries_;
}

void ConfiguredSubscriptions::Drain() {
  for (const auto& [name, entry] : entries()) entry.declared->served->End(ShuttingDown());
}

void ConfiguredSubscriptions::Close() {
  task_.reset();
  for (const auto& [name, entry] : entries()) EndAndClose(*entry.declared->served, ShuttingDown());
  const MutexLock lock(mutex_);
  entries_.clear();
}

absl::Status ConfiguredSubscriptions::Apply() {
  const std::shared_ptr<const Access> access = options_.access->Get();
  if (access == applied_) return absl::OkStatus();
  const Entries before = entries();
  Entries after;
  const absl::StatusOr<SubscriptionStates> stored = options_.store->Load();
  const auto count = static_cast<size_t>(access->settings.subscriptions_size());
  absl::Status status;
  for (const config::v1::Subscription& config : access->settings.subscriptions()) {
    const auto it = before.find(config.name());
    if (it == before.end()) {
      if (stored.ok() && IsDamaged(*stored, config.name())) continue;
      const absl::StatusOr<Entry> begun =
          stored.ok() ? Begin(config, SettingsOf(config, count), *stored) : stored.status();
      if (begun.ok()) after[config.name()] = *begun;
      status.Update(begun.status());
      continue;
    }
    const std::shared_ptr<ServedSubscription>& served = it->second.declared->served;
    served->Use(SettingsOf(config, count));
    after[config.name()] = {DeclarationOf(config, served), it->second.metrics};
  }
  {
    const MutexLock lock(mutex_);
    entries_ = after;
  }
  for (const auto& [name, entry] : before) {
    if (after.contains(name)) continue;
    Log(Severity::kWarning, "subscription_removed", {{"subscription", name}});
    EndAndClose(*entry.declared->served, absl::NotFoundError("the config does not declare this subscription any more"));
  }
  not_served_.Set(static_cast<double>(count - after.size()));
  if (stored.ok()) KeepUndeclared(*stored, *access);
  if (status.ok()) applied_ = access;
  return status;
}

void ConfiguredSubscriptions::KeepUndeclared(const SubscriptionStates& stored, const Access& access) {
  std::set<std::string> undeclared;
  for (const auto& [name, state] : stored) {
    // Nobody could use another name, which damage has made.
    if (!Declares(access, name) && absl::c_all_of(name, absl::ascii_isgraph)) undeclared.insert(name);
  }
  const MutexLock lock(mutex_);
  for (const std::string& name : undeclared) {
    if (undeclared_.contains(name)) continue;
    Log(Severity::kWarning, "subscription_not_declared",
        {{"subscription", name},
         {"message", "the gateway keeps its position: declare it again, or run stampgate subscriptions delete"}});
  }
  undeclared_ = std::move(undeclared);
}

absl::StatusOr<ConfiguredSubscriptions::Entry> ConfiguredSubscriptions::Begin(const config::v1::Subscription& config,
                                                                              ServedSubscription::Settings settings,
                                                                              const SubscriptionStates& stored) {
  const auto known = stored.find(config.name());
  ABSL_ASSIGN_OR_RETURN(const SubscriptionState state,
                        known == stored.end() ? Create(config) : absl::StatusOr<SubscriptionState>(known->second));
  if (state.head.order != config.order_by()) {
    Log(Severity::kWarning, "subscription_order_kept",
        {{"subscription", config.name()},
         {"message", "order_by of a subscription never changes; give the subscription another name"}});
  }
  Entry entry;
  entry.metrics = std::make_shared<SubscriptionMetrics>(*options_.metrics, config.name());
  ServedSubscription::Options options;
  options.name = config.name();
  options.order = static_cast<ServedSubscription::Order>(state.head.order);
  options.settings = std::move(settings);
  options.source = options_.source;
  options.store = options_.store;
  options.now = options_.now;
  options.observers = ObserversOf(config.name(), entry.metrics);
  entry.declared = DeclarationOf(config, std::make_shared<ServedSubscription>(std::move(options)));
  entry.declared->served->Start();
  entry.declared->served->OnHold(SoleHold(state, entry.declared->served->settle_within()));
  return entry;
}

absl::StatusOr<SubscriptionState> ConfiguredSubscriptions::Create(const config::v1::Subscription& config) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<EventReader> reader, options_.log->NewReader());
  ABSL_ASSIGN_OR_RETURN(const Position start, StartOf(config, *reader));
  SubscriptionChange created;
  created.subscription = config.name();
  created.head = HeadAt(start, config.order_by());
  ABSL_RETURN_IF_ERROR(Write(created));
  Log(Severity::kInfo, "subscription_created", {{"subscription", config.name()}, {"through", start}});
  SubscriptionState state;
  state.head = *created.head;
  return state;
}

absl::Status ConfiguredSubscriptions::Write(SubscriptionChange change) {
  std::promise<absl::Status> written;
  options_.store->Write(std::move(change), [&](absl::Status status) { written.set_value(std::move(status)); });
  return written.get_future().get();
}

absl::Status ConfiguredSubscriptions::DeleteState(const std::string& name) {
  if (entries().contains(name) || Declares(*options_.access->Get(), name)) {
    return ToStatus(GatewayError(absl::StatusCode::kFailedPrecondition, v1::ERROR_REASON_SUBSCRIPTION_DECLARED,
                                 absl::StrCat("the gateway's config declares the subscription ", name)));
  }
  ABSL_ASSIGN_OR_RETURN(const SubscriptionStates stored, options_.store->Load());
  if (!stored.contains(name)) {
    return ToStatus(GatewayError(absl::StatusCode::kNotFound, v1::ERROR_REASON_SUBSCRIPTION_NOT_FOUND,
                                 absl::StrCat("the gateway keeps no state of a subscription ", name)));
  }
  SubscriptionChange removal;
  removal.subscription = name;
  removal.remove = true;
  ABSL_RETURN_IF_ERROR(Write(std::move(removal)));
  Log(Severity::kWarning, "subscription_deleted", {{"subscription", name}});
  const MutexLock lock(mutex_);
  undeclared_.erase(name);
  return absl::OkStatus();
}

void ConfiguredSubscriptions::Work() {
  for (const auto& [name, entry] : entries()) entry.declared->served->Tick();
  const absl::Time now = options_.now();
  const bool is_due = now >= slow_work_at_ || slow_work_at_ - now > kSlowWork;
  if (is_due || failure_.ok()) {
    const absl::Status status = Apply();
    if (!status.ok() && status != failure_) {
      Log(Severity::kWarning, "subscriptions_not_applied", {{"message", std::string(status.message())}});
    }
    failure_ = status;
  }
  std::vector<Deletion> deletions;
  {
    const MutexLock lock(mutex_);
    deletions.swap(deletions_);
  }
  for (Deletion& deletion : deletions) {
    absl::Status status = DeleteState(deletion.name);
    if (!status.ok() && !IsGatewayError(status)) {
      Log(Severity::kWarning, "subscription_not_deleted",
          {{"subscription", deletion.name}, {"message", std::string(status.message())}});
      status = LogUnavailable();
    }
    deletion.done(std::move(status));
  }
  if (!is_due) return;
  slow_work_at_ = now + kSlowWork;
  const Entries current = entries();
  Show(current);
  LookForTrimmed(current);
}

void ConfiguredSubscriptions::LookForTrimmed(const Entries& entries) {
  if (entries.empty()) return;
  std::vector<std::shared_ptr<ServedSubscription>> all;
  for (const auto& [name, entry] : entries) all.push_back(entry.declared->served);
  options_.source->Run([all = std::move(all)](absl::StatusOr<EventReader*> reader) {
    if (!reader.ok()) return;
    const absl::StatusOr<LogExtent> extent = (*reader)->Extent();
    if (!extent.ok()) return;
    for (const auto& subscription : all) subscription->OnTrimmed(*extent);
  });
}

void ConfiguredSubscriptions::Show(const Entries& entries) {
  for (const auto& [name, entry] : entries) {
    const ServedSubscription::State state = entry.declared->served->state();
    const SharedSubscription::Stats& stats = state.stats;
    SubscriptionMetrics& metrics = *entry.metrics;
    const absl::Duration age = stats.oldest.has_value() ? options_.now() - *stats.oldest : absl::ZeroDuration();
    metrics.events_behind.Set(static_cast<double>(std::max<Position>(state.latest - stats.through, 0)));
    metrics.oldest_age.Set(std::max(absl::ToDoubleSeconds(age), 0.0));
    metrics.unsettled.Set(static_cast<double>(stats.held));
    metrics.parked.Set(static_cast<double>(stats.parked));
    metrics.consumers.Set(static_cast<double>(stats.consumers));
    metrics.lagging_keys.Set(static_cast<double>(stats.lagging_keys));
  }
}

}  // namespace stampgate
