#include "gateway/waiting/wait_table.h"

#include <algorithm>
#include <utility>

namespace stampgate {
namespace {

using std::chrono::nanoseconds;

nanoseconds Chrono(absl::Duration duration) { return absl::ToChronoNanoseconds(duration); }

// Whether the gateway should read the activity although its status is final: an event can lack the result.
bool LacksResult(const ActivityReport& report) {
  return report.status == "ACTIVITY_STATUS_COMPLETED" && !report.has_result;
}

}  // namespace

void WaitTable::Retract() {
  if (--announced_ > 0) return;
  recent_.clear();
  recent_order_.clear();
  recent_bytes_ = 0;
}

std::optional<WaitTable::Ended> WaitTable::Begin(WaitId wait, absl::string_view caller, double weight,
                                                 const ActivityName& activity, bool urgent, Time deadline, Time now) {
  Recent recent;
  if (const auto found = recent_.find(activity); found != recent_.end()) recent = found->second;
  Retract();
  if (draining_) return Ended{wait, WaitEnd::kDrain};
  if (recent.text != nullptr && !recent.lacks_result) return Ended{wait, WaitEnd::kEvent, std::move(recent.text)};
  std::optional<Ended> displaced;
  if (waits_.size() >= options_.max_waiting) {
    const std::optional<WaitId> other = WaitToDisplace(caller, weight);
    if (!other.has_value()) return Ended{wait, WaitEnd::kFull};
    displaced = Ended{*other, WaitEnd::kFull, entries_.at(waits_.at(*other).activity)->text};
    Remove(*other);
  }
  Entry& entry = EntryOf(activity, now);
  AddWait(wait, weight, Wait{std::string(caller), activity, deadline}, entry);
  if (recent.text != nullptr) {
    entry.text = std::move(recent.text);
    entry.is_final = true;
  }
  if (urgent || entry.is_final) SetUrgent(activity, entry, now);
  return displaced;
}

std::optional<WaitTable::WaitId> WaitTable::WaitToDisplace(absl::string_view caller, double weight) const {
  const auto own = callers_.find(caller);
  const size_t wanted = (own == callers_.end() ? 0 : own->second.waits.size()) + 1;
  double most = static_cast<double>(wanted) / weight;
  std::optional<WaitId> newest;
  for (const auto& [name, other] : callers_) {
    const double slots = static_cast<double>(other.waits.size()) / other.weight;
    if (name == caller || slots <= most) continue;
    most = slots;
    newest = *other.waits.rbegin();
  }
  return newest;
}

bool WaitTable::Remove(WaitId wait) {
  const auto found = waits_.find(wait);
  if (found == waits_.end()) return false;
  const ActivityName activity = found->second.activity;
  Entry& entry = *entries_.at(activity);
  const std::optional<Time> due = TakeDue(activity, entry);
  std::erase(entry.waits, wait);
  EraseWait(wait);
  if (due.has_value()) SetDue(activity, entry, *due);
  if (entry.waits.empty()) Release(activity, entry);
  return true;
}

std::vector<WaitTable::Ended> WaitTable::OnEvent(const ActivityReport& report, Time now) {
  if (!options_.is_final(report.status)) return {};
  Remember(report);
  const auto found = entries_.find(report.activity);
  if (found == entries_.end() || found->second->waits.empty()) return {};
  Entry& entry = *found->second;
  if (!LacksResult(report)) return EndAll(report.activity, entry, WaitEnd::kEvent, report.text);
  entry.text = report.text;
  entry.is_final = true;
  SetUrgent(report.activity, entry, now);
  return {};
}

std::vector<WaitTable::Ended> WaitTable::OnPolled(const ActivityName& activity, const ActivityReport* report,
                                                  Time now) {
  --polls_in_flight_;
  Entry& entry = *entries_.at(activity);
  const auto reader = callers_.find(entry.reader);
  --reader->second.polls;
  EraseIfUnused(reader);
  entry.interval = std::min(2 * entry.interval, options_.max_poll_interval);
  SetDue(activity, entry, std::max(now, *entry.read + Chrono(entry.interval)));
  if (entry.waits.empty()) {
    Release(activity, entry);
    return {};
  }
  if (report == nullptr || report->activity != activity) return {};
  if (options_.is_final(report->status)) return EndAll(activity, entry, WaitEnd::kPoll, report->text);
  if (!entry.is_final && report->text->size() <= kMaxPendingBytes) entry.text = report->text;
  return {};
}

std::vector<WaitTable::Ended> WaitTable::EndOverdue(Time now) {
  std::vector<Ended> ended;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const WaitId wait = deadlines_.begin()->second;
    ended.push_back({wait, WaitEnd::kDeadline, entries_.at(waits_.at(wait).activity)->text});
    Remove(wait);
  }
  return ended;
}

std::vector<WaitTable::Ended> WaitTable::Drain() {
  draining_ = true;
  std::vector<Ended> ended;
  while (!deadlines_.empty()) {
    const WaitId wait = deadlines_.begin()->second;
    ended.push_back({wait, WaitEnd::kDrain, entries_.at(waits_.at(wait).activity)->text});
    Remove(wait);
  }
  return ended;
}

std::vector<WaitTable::Poll> WaitTable::TakePolls(Time now) {
  while (!expired_.empty() && expired_.begin()->first <= now) {
    entries_.erase(expired_.begin()->second);
    expired_.erase(expired_.begin());
  }
  std::vector<Poll> polls;
  while (now >= next_poll_) {
    auto* const next = NextCaller(now);
    if (next == nullptr) break;
    auto& [name, caller] = *next;
    const ActivityName activity = caller.due.begin()->second;
    Entry& entry = *entries_.at(activity);
    TakeDue(activity, entry);
    entry.read = now;
    entry.reader = name;
    ++caller.polls;
    turn_ = std::max(turn_, caller.turn.first);
    SetTurn(caller);
    ++polls_in_flight_;
    next_poll_ = now + Chrono(absl::Seconds(1) / static_cast<int64_t>(options_.polls_per_second));
    const auto own = std::find_if(entry.waits.begin(), entry.waits.end(),
                                  [&, &owner = name](WaitId wait) { return waits_.at(wait).caller == owner; });
    polls.push_back({activity, *own});
  }
  return polls;
}

std::pair<const std::string, WaitTable::Caller>* WaitTable::NextCaller(Time now) {
  std::pair<const std::string, Caller>* next = nullptr;
  if (due_.empty() || due_.begin()->first > now) return next;
  for (auto& entry : callers_) {
    const Caller& caller = entry.second;
    if (caller.due.empty() || caller.due.begin()->first > now || !MayPoll(caller)) continue;
    if (next == nullptr || caller.turn < next->second.turn) next = &entry;
  }
  return next;
}

WaitTable::Time WaitTable::next() const {
  Time next = deadlines_.empty() ? Time::max() : deadlines_.begin()->first;
  if (!expired_.empty()) next = std::min(next, expired_.begin()->first);
  if (due_.empty()) return next;
  if (polls_in_flight_ < options_.max_polls_in_flight) {
    return std::min(next, std::max(due_.begin()->first, next_poll_));
  }
  for (const auto& [name, caller] : callers_) {
    if (caller.due.empty() || !MayPoll(caller)) continue;
    next = std::min(next, std::max(caller.due.begin()->first, next_poll_));
  }
  return next;
}

bool WaitTable::MayPoll(const Caller& caller) const {
  if (polls_in_flight_ < options_.max_polls_in_flight || caller.polls == 0) return true;
  double weights = 0;
  for (const auto& [name, each] : callers_) weights += each.weight;
  return static_cast<double>(caller.polls) <
         static_cast<double>(options_.max_polls_in_flight) * caller.weight / weights;
}

WaitTable::Entry& WaitTable::EntryOf(const ActivityName& activity, Time now) {
  std::unique_ptr<Entry>& entry = entries_[activity];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->interval = options_.poll_interval;
    SetDue(activity, *entry, now + Chrono(entry->interval));
  } else if (entry->waits.empty()) {
    // The activity was read a moment ago, for calls that no longer wait.
    entry->interval = options_.poll_interval;
    if (entry->due.has_value()) SetDue(activity, *entry, now + Chrono(entry->interval));
  }
  return *entry;
}

void WaitTable::SetDue(const ActivityName& activity, Entry& entry, Time due) {
  TakeDue(activity, entry);
  entry.due = due;
  (entry.waits.empty() ? expired_ : due_).emplace(due, activity);
  for (const WaitId wait : entry.waits) callers_.at(waits_.at(wait).caller).due.emplace(due, activity);
}

std::optional<WaitTable::Time> WaitTable::TakeDue(const ActivityName& activity, Entry& entry) {
  const std::optional<Time> due = std::exchange(entry.due, std::nullopt);
  if (!due.has_value()) return due;
  (entry.waits.empty() ? expired_ : due_).erase({*due, activity});
  for (const WaitId wait : entry.waits) callers_.at(waits_.at(wait).caller).due.erase({*due, activity});
  return due;
}

void WaitTable::AddWait(WaitId id, double weight, Wait wait, Entry& entry) {
  const ActivityName activity = wait.activity;
  const std::optional<Time> due = TakeDue(activity, entry);
  entry.waits.push_back(id);
  deadlines_.emplace(wait.deadline, id);
  Caller& caller = callers_[wait.caller];
  caller.weight = weight;
  if (caller.waits.empty()) SetTurn(caller);
  caller.waits.insert(id);
  waits_.emplace(id, std::move(wait));
  if (due.has_value()) SetDue(activity, entry, *due);
}

void WaitTable::EraseWait(WaitId id) {
  const auto found = waits_.find(id);
  deadlines_.erase({found->second.deadline, id});
  const auto caller = callers_.find(found->second.caller);
  caller->second.waits.erase(id);
  EraseIfUnused(caller);
  waits_.erase(found);
}

void WaitTable::EraseIfUnused(absl::flat_hash_map<std::string, Caller>::iterator caller) {
  if (caller->second.waits.empty() && caller->second.polls == 0) callers_.erase(caller);
}

void WaitTable::SetTurn(Caller& caller) { caller.turn = {turn_ + 1 / caller.weight, ++last_turn_}; }

// Makes the next reading due as early as the rules allow.
void WaitTable::SetUrgent(const ActivityName& activity, Entry& entry, Time now) {
  if (!entry.due.has_value()) return;  // a reading is in progress
  const Time earliest = entry.read.has_value() ? std::max(now, *entry.read + Chrono(options_.poll_interval)) : now;
  if (earliest < *entry.due) SetDue(activity, entry, earliest);
}

// No call waits for the activity any more. The entry stays until the activity may be read again.
void WaitTable::Release(const ActivityName& activity, Entry& entry) {
  entry.text = nullptr;
  entry.is_final = false;
  if (!entry.due.has_value()) return;  // OnPolled will release the entry
  if (entry.read.has_value()) return SetDue(activity, entry, *entry.read + Chrono(options_.poll_interval));
  TakeDue(activity, entry);
  entries_.erase(activity);
}

std::vector<WaitTable::Ended> WaitTable::EndAll(const ActivityName& activity, Entry& entry, WaitEnd end,
                                                const Text& text) {
  std::vector<Ended> ended;
  const std::optional<Time> due = TakeDue(activity, entry);
  for (const WaitId wait : std::exchange(entry.waits, {})) {
    EraseWait(wait);
    ended.push_back({wait, end, text});
  }
  if (due.has_value()) SetDue(activity, entry, *due);
  Release(activity, entry);
  return ended;
}

void WaitTable::Remember(const ActivityReport& report) {
  if (announced_ == 0 || report.text->size() > kMaxRecentBytes) return;
  Recent& recent = recent_[report.activity];
  if (recent.text != nullptr) return;
  recent = {report.text, LacksResult(report)};
  recent_order_.push_back(report.activity);
  recent_bytes_ += report.text->size();
  while (recent_order_.size() > kMaxRecentEnds || recent_bytes_ > kMaxRecentBytes) {
    const auto oldest = recent_.find(recent_order_.front());
    recent_bytes_ -= oldest->second.text->size();
    recent_.erase(oldest);
    recent_order_.pop_front();
  }
}

}  // namespace stampgate
