#include "gateway/subscriptions/served_subscription.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/feed/error.h"
#include "gateway/feed/page.h"
#include "translate/error.h"

namespace stampgate {
namespace {

// The most deliveries that a consumer is assigned at a time.
constexpr size_t kMaxAssigned = 64;

// Far before the log's end, a consumer receives so many events before the next consumer receives some, because a
// message with many events costs less for each. Near the end, consumers share the events evenly.
constexpr size_t kInARow = 32;
constexpr Position kFar = 4096;

// How long events that were read are kept if there is no space for others; see Settings::max_kept_bytes.
constexpr absl::Duration kSlowAfter = absl::Milliseconds(250);

// A subscription is near retention if its position is in this fraction of the log, the oldest one.
constexpr Position kNearRetention = 5;

// How long a read waits for new events. It then begins again.
constexpr absl::Duration kPatience = absl::Hours(1);

// How long a hold lasts after the renewal began: less than in the store. Afterwards, others can have the partitions.
constexpr std::chrono::milliseconds kHoldLasts(4500);

// When a failed read or write is tried again.
constexpr absl::Duration kRetryAfter = absl::Seconds(1);

const std::shared_ptr<const EventFilter>& EveryEvent() {
  static const auto& filter = *new std::shared_ptr<const EventFilter>(std::make_shared<EventFilter>());
  return filter;
}

absl::Status MissingError(const LostEvents& missing, bool is_trimmed) {
  const std::string range = missing.first == missing.last
                                ? absl::StrCat("event ", missing.first)
                                : absl::StrCat("events from ", missing.first, " to ", missing.last);
  const char* const what = missing.first == missing.last
                               ? " that nobody has settled; the subscription continues after it"
                               : " that nobody has settled; the subscription continues after them";
  if (is_trimmed) {
    return ToStatus(GatewayError(absl::StatusCode::kOutOfRange, v1::ERROR_REASON_EVENTS_TRIMMED,
                                 absl::StrCat("retention has deleted ", range, what)));
  }
  return ToStatus(GatewayError(
      absl::StatusCode::kDataLoss, missing.gone ? v1::ERROR_REASON_EVENTS_LOST : v1::ERROR_REASON_EVENT_DAMAGED,
      absl::StrCat("the event log ", missing.gone ? "has lost " : "cannot read ", range, what)));
}

}  // namespace

ServedSubscription::ServedSubscription(Options options)
    : options_(std::move(options)),
      reader_(options_.source->NewReaderId()),
      lagging_reader_(options_.source->NewReaderId()),
      fetcher_(options_.source->NewReaderId()),
      machine_(options_.settings.limits),
      settings_version_(options_.settings.version),
      filter_(options_.settings.filter),
      max_kept_bytes_(options_.settings.max_kept_bytes) {}

template <typename Function>
void ServedSubscription::Do(Function change) {
  Actions actions;
  {
    const MutexLock lock(mutex_);
    change(actions);
    Pump(actions);
  }
  for (auto& action : actions) action();
}

void ServedSubscription::Start() {
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { started_ = true; });
}

void ServedSubscription::Use(const Settings& settings) {
  bool has_other_filter = false;
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    machine_.SetOptions(settings.limits);
    has_other_filter =
        filter_->organization_ids != settings.filter->organization_ids || filter_->types != settings.filter->types;
    settings_version_ = settings.version;
    filter_ = settings.filter;
    max_kept_bytes_ = settings.max_kept_bytes;
  });
  // The read that waits for new events has the earlier filter.
  if (has_other_filter) options_.source->Cancel(reader_);
}

absl::Duration ServedSubscription::settle_within() const {
  const MutexLock lock(mutex_);
  return machine_.options().settle_within;
}

// --- Partitions.

void ServedSubscription::OnHold(const Hold& hold) {
  // The source can be late.
  const Position latest = std::max(options_.source->latest(), hold.latest);
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time now = options_.now();
    bool has_lost = false;
    for (const size_t partition : machine_.Held()) {
      if (hold.number == hold_ && hold.partitions.contains(partition)) continue;
      RemovePartition(partition);
      has_lost = true;
    }
    if (has_lost) EndAnswers(std::numeric_limits<uint64_t>::max(), LogUnavailable(), actions);
    hold_ = hold.number;
    others_ = hold.others;
    machine_.NoteSeek(hold.sought_from);
    std::map<size_t, absl::Time> held_until;
    for (const auto& [partition, sent_for] : hold.added) held_until[partition] = now + sent_for;
    if (!held_until.empty()) machine_.AddPartitions(held_until, hold.state, latest, now);
    if (options_.peers.has_value()) fresh_until_ = renewal_began_ + kHoldLasts;
    while (leaving_partitions_.size() > hold.excess) {
      const size_t partition = *leaving_partitions_.begin();
      leaving_partitions_.erase(partition);
      machine_.ResumeSending(partition);
    }
    for (const size_t partition : machine_.Held()) {
      if (leaving_partitions_.size() >= hold.excess) break;
      if (leaving_partitions_.insert(partition).second) machine_.StopSending(partition);
    }
  });
}

// What was assigned of the partition and not sent can become another gateway's, with the same numbers.
void ServedSubscription::RemovePartition(size_t partition) {
  machine_.RemovePartition(partition);
  leaving_partitions_.erase(partition);
  for (auto& [id, consumer] : consumers_) {
    std::erase_if(consumer.assigned, [&](const Delivery& delivery) { return delivery.partition == partition; });
    if (consumer.assigned.empty() && consumer.next != nullptr) machine_.SetReceiving(id, true);
  }
}

HoldRenewal ServedSubscription::Renew() {
  HoldRenewal renewal;
  renewal.subscription = options_.name;
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const size_t partition : std::set<size_t>(leaving_partitions_)) {
      if (machine_.changes().Has(partition) || !machine_.IsIdle(partition, options_.now())) continue;
      RemovePartition(partition);
      renewal.given[partition] = absl::ZeroDuration();
    }
    renewal_began_ = SteadyClock::now();
    renewal.hold = hold_;
    renewal.known = machine_.Held();
    renewal.settle_within = machine_.options().settle_within;
    renewal.settings_version = settings_version_;
    renewal.report = Here();
  });
  return renewal;
}

// --- Consumers.

ServedSubscription::ConsumerId ServedSubscription::Join(size_t max_unsettled, const std::vector<DeliveryId>& held,
                                                        std::vector<size_t>* superseded) {
  ConsumerId id = 0;
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    id = machine_.AddConsumer(max_unsettled);
    consumers_[id];
    for (size_t i = 0; i < held.size(); ++i) {
      // Only its holder knows a delivery, and it learns of a seek up to a second later.
      if (!machine_.Holds(held[i].partition) || held[i].incarnation > machine_.incarnation() || !IsFresh()) continue;
      const SettleResult result =
          held[i].incarnation == machine_.incarnation() ? Resume(id, held[i]) : SettleResult::kSuperseded;
      if (result == SettleResult::kNotReadYet) resumed_.emplace_back(id, held[i]);
      if (result == SettleResult::kSuperseded || result == SettleResult::kAlreadySettled) superseded->push_back(i);
    }
  });
  return id;
}

SettleResult ServedSubscription::Resume(ConsumerId id, const DeliveryId& held) {
  return machine_.Resume(id, held.partition, held.position, held.number, options_.now());
}

void ServedSubscription::Next(ConsumerId id, absl::Time until, OnBatch on_batch) {
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Consumer& consumer = consumers_.at(id);
    consumer.next = std::move(on_batch);
    consumer.until = until;
    if (consumer.assigned.empty()) machine_.SetReceiving(id, true);
    if (std::exchange(report_waits_, false)) retry_read_at_ = absl::InfinitePast();
  });
}

void ServedSubscription::CancelNext(ConsumerId id) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto consumer = consumers_.find(id);
    if (consumer == consumers_.end() || consumer->second.next == nullptr) return;
    actions.push_back([next = TakeNext(id, consumer->second)]() mutable { next(absl::CancelledError()); });
  });
}

void ServedSubscription::Leave(ConsumerId id, bool gives_back) {
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::deque<Delivery>& unsent = consumers_.at(id).assigned;
    for (auto delivery = unsent.rbegin(); delivery != unsent.rend(); ++delivery) {
      machine_.GiveBack(delivery->position, delivery->number, options_.now());
    }
    machine_.RemoveConsumer(id, gives_back, options_.now());
    consumers_.erase(id);
    std::erase_if(resumed_, [id](const auto& entry) { return entry.first == id; });
  });
}

// Ends the consumer's Next: until the next one, it can receive nothing.
ServedSubscription::OnBatch ServedSubscription::TakeNext(ConsumerId id, Consumer& consumer) {
  machine_.SetReceiving(id, false);
  return std::exchange(consumer.next, nullptr);
}

// --- Settling.

void ServedSubscription::Settle(const std::vector<DeliveryId>& deliveries, SettleOutcome outcome, absl::Duration delay,
                                const std::string& reason, OnTaskResults done) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!machine_.HasRecovered() && end_.ok() && !report_waits_) {
      after_recovery_.push_back([=, self = shared_from_this(), done = std::move(done)]() mutable {
        self->Settle(deliveries, outcome, delay, reason, std::move(done));
      });
      return;
    }
    auto results = std::make_shared<TaskResults>(std::move(done));
    Outcome settled = Carry(SettleTask{deliveries, outcome, delay, reason});
    for (const size_t index : settled.result.refused) ProveHold(deliveries[index].partition, settled);
    if (outcome == SettleOutcome::kExtend) {
      for (const DeliveryId& id : deliveries) {
        if (machine_.Holds(id.partition)) ProveHold(id.partition, settled);
      }
    }
    std::map<size_t, std::vector<size_t>> by_partition;
    for (const size_t index : settled.elsewhere) by_partition[deliveries[index].partition].push_back(index);
    for (auto& [partition, indexes] : by_partition) {
      SettleTask task = {{}, outcome, delay, reason};
      for (const size_t index : indexes) task.deliveries.push_back(deliveries[index]);
      AskHolder(partition, task, std::move(indexes), results, actions);
    }
    Report(std::move(settled), results, actions);
  });
}

ServedSubscription::Outcome ServedSubscription::Carry(const SettleTask& task) {
  const absl::Time now = options_.now();
  Outcome outcome;
  for (size_t i = 0; i < task.deliveries.size(); ++i) {
    const DeliveryId& id = task.deliveries[i];
    if (!machine_.Holds(id.partition)) {
      outcome.elsewhere.push_back(i);
      continue;
    }
    SharedSubscription::Settled settled{SettleResult::kSuperseded};
    if (id.incarnation == machine_.incarnation()) {
      settled = machine_.Settle(id.partition, id.position, id.number, task.outcome, task.delay, task.reason, now);
    }
    if (settled.result == SettleResult::kNotReadYet) outcome.result.not_read_yet = true;
    if (settled.result == SettleResult::kTooManyParked) outcome.result.too_many_parked = true;
    if (settled.result == SettleResult::kSuperseded) outcome.result.refused.push_back(i);
    if (settled.stored > absl::InfinitePast()) options_.observers.on_done(now - settled.stored);
    outcome.after_write = std::max(outcome.after_write, settled.after_write);
  }
  return outcome;
}

ServedSubscription::Outcome ServedSubscription::Carry(const ParkedTask& task) {
  Outcome outcome;
  for (size_t i = 0; i < task.positions.size(); ++i) {
    const bool was_parked = task.change == ParkedChange::kRetry
                                ? machine_.RetryParked(task.positions[i], options_.now())
                                : machine_.SkipParked(task.positions[i]);
    if (!was_parked) outcome.result.refused.push_back(i);
  }
  outcome.after_write = machine_.changes().last();
  return outcome;
}

// A gateway that was paused can believe that it has a partition, and know only earlier deliveries. So what writes
// nothing else, a refusal or an extension, waits for a write, which the store refuses if the hold has ended.
void ServedSubscription::ProveHold(size_t partition, Outcome& outcome) {
  if (!options_.peers.has_value()) return;
  machine_.WriteProgressOf(partition);
  outcome.after_write = std::max(outcome.after_write, machine_.changes().last());
}

void ServedSubscription::Report(Outcome outcome, const std::shared_ptr<TaskResults>& results, Actions& actions) {
  After(
      outcome.after_write,
      [result = std::move(outcome.result), results](const absl::Status& status) {
        results->Add(status);
        results->Add(result);
      },
      actions);
}

void ServedSubscription::AskHolder(size_t partition, const HolderTask& task, std::vector<size_t> indexes,
                                   const std::shared_ptr<TaskResults>& results, Actions& actions) {
  if (!options_.peers.has_value()) return results->Add(LogUnavailable());
  results->Expect();
  auto on_answer = [indexes = std::move(indexes), results](const absl::StatusOr<std::string>& answer) {
    results->AddAnswer(answer, indexes);
  };
  actions.push_back(
      [self = shared_from_this(), partition, request = EncodeTask(task), on_answer = std::move(on_answer)]() mutable {
        self->options_.peers->ask(partition, std::move(request), std::move(on_answer));
      });
}

void ServedSubscription::OnRequest(const HolderRequest& request) {
  const std::optional<HolderTask> task = DecodeTask(request.request, request.partition);
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!machine_.Holds(request.partition) || (!machine_.HasRecovered() && !report_waits_)) return;
    if (machine_.changes().HasAnswer(request.id)) return;
    std::string answer = NotUnderstood();
    if (task.has_value()) {
      const Outcome outcome =
          std::visit([this](const auto& each) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return Carry(each); }, *task);
      answer = EncodeResult(outcome.result);
    }
    machine_.changes().Answer(request.id, request.partition, std::move(answer));
  });
}

void ServedSubscription::ResumeSettles(Actions& actions) {
  std::move(after_recovery_.begin(), after_recovery_.end(), std::back_inserter(actions));
  after_recovery_.clear();
}

// --- Administration.

void ServedSubscription::ChangeParked(const std::vector<Position>& positions, ParkedChange change, OnTaskResults done) {
  std::map<Position, size_t> partitions;
  if (options_.peers.has_value()) {
    const absl::StatusOr<std::vector<SubscriptionRow>> rows = options_.peers->parked_at(positions);
    if (!rows.ok()) return done(rows.status());
    for (const SubscriptionRow& row : *rows) partitions[row.position] = row.partition;
  }
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto results = std::make_shared<TaskResults>(std::move(done));
    std::map<size_t, std::vector<size_t>> by_partition;
    ParkedTask here = {{}, change};
    std::vector<size_t> indexes_here;
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto partition = partitions.find(positions[i]);
      if (partition != partitions.end() && !machine_.Holds(partition->second)) {
        by_partition[partition->second].push_back(i);
      } else {
        here.positions.push_back(positions[i]);
        indexes_here.push_back(i);
      }
    }
    Outcome outcome = Carry(here);
    for (size_t& index : outcome.result.refused) {
      index = indexes_here[index];
      const auto partition = partitions.find(positions[index]);
      if (partition != partitions.end()) ProveHold(partition->second, outcome);
    }
    for (auto& [partition, indexes] : by_partition) {
      ParkedTask task = {{}, change};
      for (const size_t index : indexes) task.positions.push_back(positions[index]);
      AskHolder(partition, task, std::move(indexes), results, actions);
    }
    Report(std::move(outcome), results, actions);
  });
}

absl::StatusOr<std::vector<ServedSubscription::ParkedEvent>> ServedSubscription::Parked(Position after,
                                                                                        size_t most) const {
  std::vector<ParkedEvent> parked;
  if (options_.peers.has_value()) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<SubscriptionRow> rows, options_.peers->parked(after, most));
    for (const SubscriptionRow& row : rows) {
      parked.push_back({row.position, {row.partition, row.deliveries, row.time, row.reason}});
    }
    return parked;
  }
  const MutexLock lock(mutex_);
  for (auto it = machine_.parked().upper_bound(after); it != machine_.parked().end() && parked.size() < most; ++it) {
    parked.push_back({it->first, it->second});
  }
  return parked;
}

void ServedSubscription::Seek(Position position, absl::AnyInvocable<void(absl::Status)> done) {
  if (options_.peers.has_value()) return options_.peers->seek(position, std::move(done));
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    machine_.Seek(position);
    events_.clear();
    event_bytes_ = 0;
    for (auto& [id, consumer] : consumers_) {
      consumer.assigned.clear();
      if (consumer.next != nullptr) machine_.SetReceiving(id, true);
    }
    After(machine_.changes().last(), std::move(done), actions);
    actions.push_back([self = shared_from_this()] { self->options_.source->Cancel(self->reader_); });
  });
}

ServedSubscription::State ServedSubscription::state() const {
  const Position latest = options_.source->latest();
  const MutexLock lock(mutex_);
  State state = {.here = Here(), .latest = latest, .partitions = machine_.stats().partitions};
  state.all = state.here;
  state.all.through = std::min(state.all.through, others_.through);
  if (state.all.through == HoldReport().through) state.all.through = 0;  // not known yet
  state.all.consumers += others_.consumers;
  state.all.held += others_.held;
  state.all.parked += others_.parked;
  state.all.lagging_keys += others_.lagging_keys;
  if (others_.oldest.has_value() && (!state.all.oldest.has_value() || *others_.oldest < *state.all.oldest)) {
    state.all.oldest = others_.oldest;
  }
  return state;
}

// Returns the report of the partitions that are held.
HoldReport ServedSubscription::Here() const {
  const SharedSubscription::Stats stats = machine_.stats();
  HoldReport report;
  if (stats.partitions > 0) report.through = stats.through;
  report.consumers = static_cast<int64_t>(stats.consumers);
  report.held = static_cast<int64_t>(stats.held);
  report.parked = static_cast<int64_t>(stats.parked);
  report.lagging_keys = static_cast<int64_t>(stats.lagging_keys);
  report.oldest = stats.oldest;
  return report;
}

// --- The owner.

void ServedSubscription::Tick() {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time now = options_.now();
    if (machine_.NextTick() <= now) machine_.Tick(now);
    MakeRoom();
    for (auto& [id, consumer] : consumers_) {
      if (consumer.next == nullptr || consumer.until > now) continue;
      actions.push_back([next = TakeNext(id, consumer)]() mutable { next(Batch()); });
    }
  });
}

void ServedSubscription::OnTrimmed(const LogExtent& extent) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    OnMissing({1, extent.earliest - 1, true}, /*is_trimmed=*/true, actions);
    if (machine_.Held().empty()) return;
    const Position through = machine_.stats().settled_through;
    const bool is_near = extent.earliest > 1 && through < extent.latest &&
                         through - extent.earliest < (extent.latest - extent.earliest) / kNearRetention;
    if (is_near && !is_near_retention_) options_.observers.on_near_retention();
    is_near_retention_ = is_near;
  });
}

void ServedSubscription::End(const absl::Status& why) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    end_ = why;
    ResumeSettles(actions);
  });
  for (const EventSource::ReaderId reader : {reader_, lagging_reader_, fetcher_}) options_.source->Cancel(reader);
}

void ServedSubscription::Close(absl::AnyInvocable<void()> done) {
  Do([&](Actions&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    machine_.Close();
    on_closed_ = std::move(done);
    retry_write_at_ = absl::InfinitePast();
  });
}

// --- What must happen next.

void ServedSubscription::Pump(Actions& actions) {
  if (!started_) return;
  if (machine_.HasRecovered()) {
    ResumeSettles(actions);
    for (const auto& [id, held] : std::exchange(resumed_, {})) {
      if (held.incarnation == machine_.incarnation()) Resume(id, held);
    }
  }
  // The read began after events that a partition lacks that was added later.
  if (reading_ && machine_.read() < reading_after_) {
    actions.push_back([self = shared_from_this()] { self->options_.source->Cancel(self->reader_); });
  }
  if (end_.ok()) {
    if (IsFresh()) {
      Assign();
      for (auto& [id, consumer] : consumers_) Pass(id, consumer, actions);
    }
    BeginRead(actions);
    BeginLaggingRead(actions);
    BeginFetch(actions);
  } else {
    for (auto& [id, consumer] : consumers_) {
      if (consumer.next == nullptr) continue;
      actions.push_back([next = TakeNext(id, consumer), end = end_]() mutable { next(std::move(end)); });
    }
  }
  for (const Position position : machine_.TakeParked()) {
    const auto it = machine_.parked().find(position);
    if (it == machine_.parked().end()) continue;
    options_.observers.on_park(position, it->second.deliveries, it->second.reason);
  }
  BeginWrite(actions);
  if (on_closed_ != nullptr && !writing_) actions.push_back(std::exchange(on_closed_, nullptr));
}

void ServedSubscription::Assign() {
  for (const Delivery& delivery : machine_.Assign(options_.now(), kMaxAssigned, is_far_ ? kInARow : 1)) {
    consumers_.at(delivery.consumer).assigned.push_back(delivery);
  }
}

void ServedSubscription::Pass(ConsumerId id, Consumer& consumer, Actions& actions) {
  if (consumer.next == nullptr || consumer.assigned.empty()) return;
  const absl::Time now = options_.now();
  Batch batch;
  size_t bytes = 0;
  while (!consumer.assigned.empty()) {
    const Delivery& delivery = consumer.assigned.front();
    if (machine_.IsCurrent(delivery.position, delivery.number)) {
      const auto event = events_.find(delivery.position);
      if (delivery.after_write > machine_.changes().written() || event == events_.end()) break;
      const size_t size = event->second.event->field.size() + kMessageOverheadBytes;
      if (!batch.empty() && bytes + size > kMaxEventMessageBytes) break;
      bytes += size;
      machine_.OnSent(delivery.position, now);
      options_.observers.on_delivery(delivery.reason);
      batch.push_back({.event = event->second.event,
                       .id = {delivery.partition, delivery.position, delivery.number, machine_.incarnation()},
                       .count = delivery.count,
                       .reason = delivery.reason,
                       .out_of_order = delivery.out_of_order});
      event_bytes_ -= event->second.event->field.size();
      events_.erase(event);
    }
    consumer.assigned.pop_front();
  }
  if (batch.empty()) {
    // All of them were superseded in the meantime.
    if (consumer.assigned.empty()) machine_.SetReceiving(id, true);
    return;
  }
  actions.push_back([next = TakeNext(id, consumer), batch = std::move(batch)]() mutable { next(std::move(batch)); });
}

void ServedSubscription::BeginWrite(Actions& actions) {
  if (writing_ || !machine_.changes().CanTake() || options_.now() < retry_write_at_) return;
  writing_ = true;
  SubscriptionChange change = machine_.changes().Take(options_.name);
  change.hold = hold_;
  actions.push_back([self = shared_from_this(), change = std::move(change)]() mutable {
    self->options_.store->Write(std::move(change), [self](const absl::Status& status) { self->OnStored(status); });
  });
}

void ServedSubscription::OnStored(const absl::Status& status) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    UnwrittenChanges& changes = machine_.changes();
    const uint64_t write = changes.next() - 1;
    writing_ = false;
    changes.Finish(status.ok());
    if (status.ok()) return EndAnswers(write, absl::OkStatus(), actions);
    options_.observers.on_not_stored(status);
    retry_write_at_ = on_closed_ != nullptr ? absl::InfiniteFuture() : options_.now() + kRetryAfter;
    EndAnswers(write, LogUnavailable(), actions);
  });
}

void ServedSubscription::After(uint64_t write, OnWritten done, Actions& actions) {
  if (write > machine_.changes().written()) {
    answers_.emplace(write, std::move(done));
    return;
  }
  actions.push_back([done = std::move(done)]() mutable { done(absl::OkStatus()); });
}

void ServedSubscription::EndAnswers(uint64_t write, const absl::Status& status, Actions& actions) {
  while (!answers_.empty() && answers_.begin()->first <= write) {
    actions.push_back([done = std::move(answers_.begin()->second), status]() mutable { done(status); });
    answers_.erase(answers_.begin());
  }
}

void ServedSubscription::ReadNext(EventSource::ReaderId reader, EventSource::Request request,
                                  void (ServedSubscription::*on_page)(Position after, absl::StatusOr<EventPage> page),
                                  Actions& actions) {
  actions.push_back([self = shared_from_this(), reader, request = std::move(request), on_page]() mutable {
    const Position after = request.after.position;
    self->options_.source->Next(reader, std::move(request), [self, after, on_page](absl::StatusOr<EventPage> page) {
      ((*self).*on_page)(after, std::move(page));
    });
  });
}

void ServedSubscription::BeginRead(Actions& actions) {
  if (reading_ || !HasRoom() || options_.now() < retry_read_at_) return;
  const size_t wanted = machine_.WantsEvents(std::numeric_limits<Position>::max());
  if (wanted == 0) return;
  reading_ = true;
  EventSource::Request request;
  request.after.position = reading_after_ = machine_.read();
  request.filter = filter_;
  request.limits.max_events = wanted;
  request.limits.max_bytes = MaxReadBytes();
  request.patience = kPatience;
  ReadNext(reader_, std::move(request), &ServedSubscription::OnPage, actions);
}

void ServedSubscription::BeginLaggingRead(Actions& actions) {
  if (reading_lagging_ || options_.now() < retry_read_at_) return;
  const std::optional<Position> after = machine_.WantsLagging();
  if (!after.has_value()) return;
  reading_lagging_ = true;
  EventSource::Request request;
  request.after.position = *after;
  request.filter = filter_;
  ReadNext(lagging_reader_, std::move(request), &ServedSubscription::OnLaggingPage, actions);
}

// Reads the event of the first delivery that waits for its event.
void ServedSubscription::BeginFetch(Actions& actions) {
  if (fetching_ || options_.now() < retry_read_at_) return;
  for (const auto& [id, consumer] : consumers_) {
    if (consumer.next == nullptr || consumer.assigned.empty()) continue;
    const Delivery& delivery = consumer.assigned.front();
    if (events_.contains(delivery.position) || delivery.after_write > machine_.changes().written()) continue;
    fetching_ = true;
    EventSource::Request request;
    request.after.position = delivery.position - 1;
    request.filter = EveryEvent();
    request.limits.max_events = kMaxAssigned;
    ReadNext(fetcher_, std::move(request), &ServedSubscription::OnFetched, actions);
    return;
  }
}

void ServedSubscription::OnPage(Position after, absl::StatusOr<EventPage> page) {
  const Position latest = options_.source->latest();
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    reading_ = false;
    if (!end_.ok()) return;
    if (!page.ok()) return FindMissing(after, page.status(), actions);
    machine_.OnRead(after, Read(*page), page->through.position, options_.now());
    is_far_ = latest - machine_.read() > kFar;
    Keep(*page);
  });
}

void ServedSubscription::OnLaggingPage(Position after, absl::StatusOr<EventPage> page) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    reading_lagging_ = false;
    if (!page.ok()) return FindMissing(after, page.status(), actions);
    machine_.OnLaggingRead(after, Read(*page), page->through.position, options_.now());
    Keep(*page);
  });
}

void ServedSubscription::OnFetched(Position after, absl::StatusOr<EventPage> page) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    fetching_ = false;
    if (!page.ok()) return FindMissing(after, page.status(), actions);
    Keep(*page);
    // The page can begin later only if the event is missing.
    const bool is_missing = page->events.empty() || page->events.front()->position != after + 1;
    if (is_missing && !OnMissing({after + 1, after + 1, true}, /*is_trimmed=*/false, actions)) {
      retry_read_at_ = options_.now() + kRetryAfter;
      report_waits_ = true;
    }
  });
}

void ServedSubscription::FindMissing(Position after, const absl::Status& status, Actions& actions) {
  if (absl::IsCancelled(status) || !end_.ok()) return;
  // Until it is known what is missing, or whether the read can succeed later, nothing is read.
  retry_read_at_ = options_.now() + kRetryAfter;
  if (absl::IsAborted(status)) return;
  actions.push_back([self = shared_from_this(), after] {
    self->options_.source->Run([self, after](absl::StatusOr<EventReader*> reader) {
      if (!reader.ok()) return;
      const absl::StatusOr<LogExtent> extent = (*reader)->Extent();
      if (!extent.ok()) return;
      LostEvents missing{after + 1, extent->earliest - 1, true};
      const bool is_trimmed = missing.first <= missing.last;
      if (!is_trimmed) {
        const auto read = (*reader)->Read({after, {}}, *EveryEvent(), {.max_events = 1});
        if (!absl::IsDataLoss(read.status())) return;
        missing = (*reader)->Lost();
      }
      self->OnFoundMissing(missing, is_trimmed);
    });
  });
}

void ServedSubscription::OnFoundMissing(const LostEvents& missing, bool is_trimmed) {
  Do([&](Actions& actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    report_waits_ = !OnMissing(missing, is_trimmed, actions);
    if (report_waits_) return ResumeSettles(actions);  // nobody knows when the events can be read
    retry_read_at_ = absl::InfinitePast();
  });
}

bool ServedSubscription::OnMissing(const LostEvents& missing, bool is_trimmed, Actions& actions) {
  if (machine_.Held().empty()) return true;
  const auto receiver =
      absl::c_find_if(consumers_, [](const auto& consumer) { return consumer.second.next != nullptr; });
  if (receiver == consumers_.end()) return false;
  const Position unread = std::max(missing.first, machine_.read() + 1);
  std::vector<Position> lost = machine_.OnLost(missing.first, missing.last);
  int64_t count = static_cast<int64_t>(lost.size());
  if (unread <= missing.last) {
    count += missing.last - unread + 1;
    lost.insert(lost.end(), {unread, missing.last});
  }
  if (count == 0) return true;
  const auto [first, last] = std::minmax_element(lost.begin(), lost.end());
  const LostEvents reported = {*first, *last, missing.gone};
  options_.observers.on_lost(reported, count);
  actions.push_back([next = TakeNext(receiver->first, receiver->second),
                     error = MissingError(reported, is_trimmed)]() mutable { next(std::move(error)); });
  return true;
}

std::vector<SharedSubscription::ReadEvent> ServedSubscription::Read(const EventPage& page) const {
  std::vector<SharedSubscription::ReadEvent> events;
  events.reserve(page.events.size());
  for (const auto& event : page.events) {
    SharedSubscription::ReadEvent& read = events.emplace_back();
    read.position = event->position;
    read.stored = event->commit_time;
    if (options_.order == Order::kActivity) read.key = event->activity_id;
    if (options_.order == Order::kOrganization) {
      // The events without an organization have one key, too.
      read.key = absl::StrCat("organization ",
                              event->organization_id.empty() ? event->parent_organization_id : event->organization_id);
    }
  }
  return events;
}

void ServedSubscription::Keep(const EventPage& page) {
  const std::set<Position> assigned = Assigned();
  const absl::Time now = options_.now();
  for (const auto& event : page.events) {
    if (!assigned.contains(event->position) && !machine_.IsWaiting(event->position)) continue;
    const size_t size = event->field.size();
    if (event != page.events.front() && event_bytes_ + size > max_kept_bytes_) return;
    if (events_.emplace(event->position, KeptEvent{event, now}).second) event_bytes_ += size;
  }
}

bool ServedSubscription::HasRoom() const { return event_bytes_ + MaxReadBytes() <= max_kept_bytes_; }

void ServedSubscription::MakeRoom() {
  if (HasRoom()) return;
  const std::set<Position> assigned = Assigned();
  const absl::Time now = options_.now();
  std::erase_if(events_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto& [event, read] = entry.second;
    const bool is_new = read <= now && now < read + kSlowAfter;
    if (is_new || assigned.contains(entry.first)) return false;
    event_bytes_ -= event->field.size();
    return true;
  });
}

std::set<Position> ServedSubscription::Assigned() const {
  std::set<Position> assigned;
  for (const auto& [id, consumer] : consumers_) {
    for (const Delivery& delivery : consumer.assigned) assigned.insert(delivery.position);
  }
  return assigned;
}

}  // namespace stampgate
