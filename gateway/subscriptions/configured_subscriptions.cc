#include "gateway/subscriptions/configured_subscriptions.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/time/duration.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/config/rules/subscription_rules.h"
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
ServedSubscription::Settings SettingsOf(const SettingsInForce::Settings& in_force, size_t count) {
  const config::v1::Subscription& config = in_force.config;
  ServedSubscription::Settings settings;
  settings.version = in_force.version;
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
    if (absl::IsAborted(why)) {
      // The store works: another gateway has the partitions now, or somebody has called Seek.
      Log(Severity::kInfo, "subscription_hold_ended", {{"subscription", name}});
      return;
    }
    metrics->failed_writes.Increment();
    Log(Severity::kWarning, "subscription_not_stored",
        {{"subscription", name}, {"message", std::string(why.message())}});
  };
  return observers;
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

ConfiguredSubscriptions::ConfiguredSubscriptions(Options options)
    : options_(std::move(options)),
      not_served_(
          options_.metrics->AddGauge("stampgate_subscriptions_not_served",
                                     "Shared subscriptions that the config declares and the gateway does not serve.")) {
  if (options_.holds == nullptr) return;
  settings_.emplace([this](const SubscriptionDeclaration& declaration) { return keeper_->Declare(declaration); });
  HoldKeeper::Options of_keeper;
  of_keeper.holds = options_.holds;
  of_keeper.on_not_renewed = [this](const std::string& name, const absl::Status& why) {
    Log(Severity::kWarning, "subscription_not_held", {{"subscription", name}, {"message", std::string(why.message())}});
    if (absl::IsNotFound(why)) settings_->DeclareAgain(name);
  };
  of_keeper.on_other_incarnation = [this](const std::string& name) { settings_->DeclareAgain(name); };
  of_keeper.on_settings = [this](const std::string& name, const DeclaredSettings& settings) {
    settings_->Report(name, settings);
  };
  keeper_.emplace(std::move(of_keeper));
}

absl::StatusOr<std::unique_ptr<ConfiguredSubscriptions>> ConfiguredSubscriptions::Open(Options options) {
  std::unique_ptr<ConfiguredSubscriptions> subscriptions(new ConfiguredSubscriptions(std::move(options)));
  const absl::Status status = subscriptions->Apply();
  // A server can be away for a moment: Work tries again.
  if (!status.ok() && (subscriptions->options_.holds == nullptr || !absl::IsUnavailable(status))) return status;
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
  for (const auto& [name, entry] : entries()) End(*entry.declared->served, ShuttingDown());
  keeper_.reset();
  const MutexLock lock(mutex_);
  entries_.clear();
}

void ConfiguredSubscriptions::End(ServedSubscription& subscription, const absl::Status& why) {
  subscription.End(why);
  // When the store has answered, nothing of the subscription can change its state any more.
  std::promise<void> closed;
  subscription.Close([&] { closed.set_value(); });
  closed.get_future().wait();
  if (keeper_.has_value()) keeper_->Remove(subscription.name());
}

absl::StatusOr<SubscriptionStates> ConfiguredSubscriptions::Stored() {
  if (options_.holds == nullptr) return options_.store->Load();
  ABSL_ASSIGN_OR_RETURN(const std::set<std::string> names, options_.holds->Names());
  SubscriptionStates states;
  for (const std::string& name : names) states[name];
  return states;
}

absl::Status ConfiguredSubscriptions::Apply() {
  const std::shared_ptr<const Access> access = options_.access->Get();
  if (settings_.has_value() && settings_->Update()) applied_ = nullptr;
  if (access == applied_) return absl::OkStatus();
  const Entries before = entries();
  Entries after;
  absl::StatusOr<SubscriptionStates> stored = Stored();
  const auto count = static_cast<size_t>(access->settings.subscriptions_size());
  absl::Status status;
  for (const config::v1::Subscription& config : access->settings.subscriptions()) {
    const auto it = before.find(config.name());
    if (it == before.end() && stored.ok() && IsDamaged(*stored, config.name())) continue;
    const absl::StatusOr<SettingsInForce::Settings> settings =
        stored.ok() ? FindSettings(config, *stored) : stored.status();
    status.Update(settings.status());
    Entry entry = it == before.end() ? Entry() : it->second;
    const bool has_other_order = settings.ok() && entry.declared != nullptr &&
                                 static_cast<int64_t>(entry.declared->served->order()) != settings->order;
    // Another gateway has deleted and declared it.
    if (has_other_order) End(*entry.declared->served, absl::NotFoundError("the subscription was deleted"));
    if (settings.ok() && (entry.declared == nullptr || has_other_order)) {
      entry = Begin(*settings, count, *stored);
    } else if (settings.ok()) {
      entry.declared->served->Use(SettingsOf(*settings, count));
      entry.declared = DeclarationOf(settings->config, entry.declared->served);
    }
    if (entry.declared == nullptr) continue;
    entry.metrics->settings_overruled.Set(settings.ok() && !settings->is_own ? 1 : 0);
    after[config.name()] = entry;
  }
  {
    const MutexLock lock(mutex_);
    entries_ = after;
  }
  for (const auto& [name, entry] : before) {
    if (after.contains(name)) continue;
    Log(Severity::kWarning, "subscription_removed", {{"subscription", name}});
    End(*entry.declared->served, absl::NotFoundError("the config does not declare this subscription any more"));
    if (settings_.has_value()) settings_->Forget(name);
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

absl::StatusOr<SettingsInForce::Settings> ConfiguredSubscriptions::FindSettings(const config::v1::Subscription& config,
                                                                                SubscriptionStates& stored) {
  SettingsInForce::Settings settings;
  if (settings_.has_value()) {
    ABSL_ASSIGN_OR_RETURN(settings, settings_->Find(config, [&] { return FindStart(config); }));
  } else {
    if (!stored.contains(config.name())) {
      ABSL_ASSIGN_OR_RETURN(stored[config.name()], Create(config));
    }
    settings.config = config;
    settings.order = stored.at(config.name()).head.order;
  }
  return settings;
}

ConfiguredSubscriptions::Entry ConfiguredSubscriptions::Begin(const SettingsInForce::Settings& settings, size_t count,
                                                              const SubscriptionStates& stored) {
  const config::v1::Subscription& config = settings.config;
  if (settings.order != config.order_by()) {
    Log(Severity::kWarning, "subscription_order_kept",
        {{"subscription", config.name()},
         {"message", "order_by of a subscription never changes; give the subscription another name"}});
  }
  Entry entry;
  entry.metrics = std::make_shared<SubscriptionMetrics>(*options_.metrics, config.name());
  ServedSubscription::Options options;
  options.name = config.name();
  options.order = static_cast<ServedSubscription::Order>(settings.order);
  options.settings = SettingsOf(settings, count);
  options.source = options_.source;
  options.store = options_.store;
  options.now = options_.now;
  if (keeper_.has_value()) options.peers = keeper_->PeersOf(config.name());
  options.observers = ObserversOf(config.name(), entry.metrics);
  entry.declared = DeclarationOf(config, std::make_shared<ServedSubscription>(std::move(options)));
  entry.declared->served->Start();
  if (keeper_.has_value()) {
    keeper_->Add(entry.declared->served);
  } else {
    entry.declared->served->OnHold(SoleHold(stored.at(config.name()), entry.declared->served->settle_within()));
  }
  return entry;
}

absl::StatusOr<SubscriptionState> ConfiguredSubscriptions::Create(const config::v1::Subscription& config) {
  ABSL_ASSIGN_OR_RETURN(const Position start, FindStart(config));
  SubscriptionChange created;
  created.subscription = config.name();
  created.head = HeadAt(start, config.order_by());
  ABSL_RETURN_IF_ERROR(Write(created));
  Log(Severity::kInfo, "subscription_created", {{"subscription", config.name()}, {"through", start}});
  SubscriptionState state;
  state.head = *created.head;
  return state;
}

absl::StatusOr<Position> ConfiguredSubscriptions::FindStart(const config::v1::Subscription& config) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<EventReader> reader, options_.log->NewReader());
  return StartOf(config, *reader);
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
  ABSL_ASSIGN_OR_RETURN(const SubscriptionStates stored, Stored());
  if (!stored.contains(name)) {
    return ToStatus(GatewayError(absl::StatusCode::kNotFound, v1::ERROR_REASON_SUBSCRIPTION_NOT_FOUND,
                                 absl::StrCat("the gateway keeps no state of a subscription ", name)));
  }
  SubscriptionChange removal;
  removal.subscription = name;
  removal.remove = true;
  const absl::Status removed = Write(std::move(removal));
  if (absl::IsFailedPrecondition(removed)) {
    return ToStatus(
        GatewayError(absl::StatusCode::kFailedPrecondition, v1::ERROR_REASON_SUBSCRIPTION_DECLARED,
                     absl::StrCat("a gateway serves the subscription ", name, ", or has done so a moment ago")));
  }
  ABSL_RETURN_IF_ERROR(removed);
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
    const HoldReport& here = state.here;
    SubscriptionMetrics& metrics = *entry.metrics;
    const absl::Duration age = here.oldest.has_value() ? options_.now() - *here.oldest : absl::ZeroDuration();
    metrics.events_behind.Set(static_cast<double>(std::max<Position>(state.latest - here.through, 0)));
    metrics.oldest_age.Set(std::max(absl::ToDoubleSeconds(age), 0.0));
    metrics.unsettled.Set(static_cast<double>(here.held));
    metrics.parked.Set(static_cast<double>(here.parked));
    metrics.consumers.Set(static_cast<double>(here.consumers));
    metrics.lagging_keys.Set(static_cast<double>(here.lagging_keys));
    metrics.partitions.Set(static_cast<double>(state.partitions));
  }
}

}  // namespace stampgate
