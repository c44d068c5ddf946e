#include "webhooks/log/fake_subscription_store.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stampgate {

absl::Status ApplyChange(const SubscriptionChange& change, SubscriptionStates* states) {
  if (change.remove) {
    states->erase(change.subscription);
    return absl::OkStatus();
  }
  if (!change.head && !states->contains(change.subscription)) {
    return absl::NotFoundError("there is no such subscription");
  }
  SubscriptionState& state = (*states)[change.subscription];
  if (change.head) state.head = *change.head;
  for (const auto& [partition, progress] : change.progress) state.head.partitions[partition] = progress;
  std::map<Position, SubscriptionRow> rows;
  for (SubscriptionRow& row : state.rows) rows[row.position] = std::move(row);
  for (const Position position : change.erase) rows.erase(position);
  for (const SubscriptionRow& row : change.put) rows[row.position] = row;
  state.rows.clear();
  for (auto& [position, row] : rows) state.rows.push_back(std::move(row));
  for (const std::string& key : change.erase_lagging) state.lagging.erase(key);
  for (const auto& [key, position] : change.put_lagging) state.lagging[key] = position;
  return absl::OkStatus();
}

absl::StatusOr<SubscriptionStates> FakeSubscriptionStore::Load() {
  const MutexLock lock(mutex_);
  if (!load_failure_.ok()) return load_failure_;
  return states_;
}

void FakeSubscriptionStore::Write(SubscriptionChange change, absl::AnyInvocable<void(absl::Status)> done) {
  absl::Status answer;
  {
    const MutexLock lock(mutex_);
    waiting_.push_back({std::move(change), std::move(done)});
    if (holds_) return;
    answer = answer_;
  }
  Answer(answer);
}

void FakeSubscriptionStore::FailLoad(const absl::Status& status) {
  const MutexLock lock(mutex_);
  load_failure_ = status;
}

void FakeSubscriptionStore::Damage(const std::string& subscription, const std::string& damage) {
  const MutexLock lock(mutex_);
  states_[subscription].damage = damage;
}

void FakeSubscriptionStore::AnswerAtOnce(const absl::Status& status) {
  {
    const MutexLock lock(mutex_);
    holds_ = false;
    answer_ = status;
  }
  while (Answer(status)) {
  }
}

void FakeSubscriptionStore::Hold() {
  const MutexLock lock(mutex_);
  holds_ = true;
}

std::vector<SubscriptionChange> FakeSubscriptionStore::waiting() const {
  const MutexLock lock(mutex_);
  std::vector<SubscriptionChange> changes;
  for (const Waiting& waiting : waiting_) changes.push_back(waiting.change);
  return changes;
}

bool FakeSubscriptionStore::Answer(const absl::Status& status) {
  Waiting oldest;
  absl::Status outcome = status;
  {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) return false;
    oldest = std::move(waiting_.front());
    waiting_.pop_front();
    if (status.ok()) outcome = ApplyChange(oldest.change, &states_);
    if (outcome.ok()) answers_.insert(oldest.change.answers.begin(), oldest.change.answers.end());
  }
  oldest.done(outcome);
  return true;
}

void FakeSubscriptionStore::AnswerAll(const absl::Status& status) {
  for (size_t left = waiting().size(); left > 0 && Answer(status); --left) {
  }
}

void FakeSubscriptionStore::Crash(size_t applied) {
  std::deque<Waiting> lost;
  const MutexLock lock(mutex_);
  lost.swap(waiting_);
  for (size_t i = 0; i < std::min(applied, lost.size()); ++i) ApplyChange(lost[i].change, &states_).IgnoreError();
}

std::map<int64_t, std::string> FakeSubscriptionStore::answers() const {
  const MutexLock lock(mutex_);
  return answers_;
}

SubscriptionStates FakeSubscriptionStore::states() const {
  const MutexLock lock(mutex_);
  return states_;
}

}  // namespace stampgate
