#include "gateway/subscriptions/hold_keeper.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/threads/start_thread.h"
#include "gateway/feed/error.h"

namespace stampgate {
namespace {

constexpr std::chrono::seconds kRenewEach(1);

// A gateway that is gone loses its partitions sooner.
constexpr std::chrono::seconds kAnswerWithin(15);

}  // namespace

HoldKeeper::HoldKeeper(Options options)
    : options_(std::move(options)), thread_(StartThread("hold-keeper", [this] { Run(); })) {}

HoldKeeper::~HoldKeeper() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  options_.holds->Wake();
  thread_.join();
}

void HoldKeeper::Add(std::shared_ptr<ServedSubscription> subscription) {
  {
    const MutexLock lock(mutex_);
    const std::string name = subscription->name();
    served_[name] = std::move(subscription);
    has_new_ = true;
  }
  options_.holds->Wake();
}

void HoldKeeper::Remove(const std::string& name) {
  std::promise<void> removed;
  {
    const MutexLock lock(mutex_);
    const auto it = served_.find(name);
    if (it == served_.end()) return;
    removals_.push_back({std::move(it->second), [&removed] { removed.set_value(); }});
    served_.erase(it);
  }
  options_.holds->Wake();
  removed.get_future().wait();
}

ServedSubscription::Ask HoldKeeper::AskerOf(const std::string& name) {
  return [this, name](size_t partition, std::string request, OnAnswer done) {
    {
      const MutexLock lock(mutex_);
      questions_.push_back({name, partition, std::move(request), std::move(done), Clock::now() + kAnswerWithin});
    }
    options_.holds->Wake();
  };
}

std::map<std::string, std::shared_ptr<ServedSubscription>> HoldKeeper::served() const {
  const MutexLock lock(mutex_);
  return served_;
}

void HoldKeeper::Run() {
  for (;;) {
    EndRemoved();
    AskNew();
    RenewAll();
    Exchange();
    {
      const MutexLock lock(mutex_);
      if (ends_) break;
    }
    options_.holds->Await(renew_at_);
  }
  EndRemoved();
  const MutexLock lock(mutex_);
  for (auto& [id, question] : asked_) questions_.push_back(std::move(question));
  for (Question& question : questions_) question.done(LogUnavailable());
  questions_.clear();
}

void HoldKeeper::EndRemoved() {
  std::vector<Removal> removals;
  {
    const MutexLock lock(mutex_);
    removals.swap(removals_);
  }
  for (Removal& removal : removals) {
    const absl::Status ended = options_.holds->End(removal.subscription->name(), removal.subscription->settle_within());
    if (!ended.ok()) options_.on_not_renewed(removal.subscription->name(), ended);
    removal.done();
  }
}

void HoldKeeper::AskNew() {
  std::vector<Question> questions;
  {
    const MutexLock lock(mutex_);
    questions.swap(questions_);
  }
  for (Question& question : questions) {
    const absl::StatusOr<int64_t> id = options_.holds->Ask(question.subscription, question.partition, question.request);
    if (id.ok()) {
      asked_.emplace(*id, std::move(question));
    } else {
      question.done(LogUnavailable());
    }
  }
}

void HoldKeeper::RenewAll() {
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(has_new_, false) && Clock::now() < renew_at_) return;
  }
  renew_at_ = Clock::now() + kRenewEach;
  for (const auto& [name, subscription] : served()) {
    const absl::StatusOr<Hold> hold = options_.holds->Renew(subscription->Renew());
    if (hold.ok()) {
      subscription->OnHold(*hold);
    } else {
      options_.on_not_renewed(name, hold.status());
    }
  }
}

// If the store does not answer, the next call comes soon.
void HoldKeeper::Exchange() {
  const auto current = served();
  if (const auto requests = options_.holds->Requests(); requests.ok()) {
    for (const HolderRequest& request : *requests) {
      const auto it = current.find(request.subscription);
      if (it != current.end()) it->second->OnRequest(request);
    }
  }
  if (asked_.empty()) return;
  if (const auto answers = options_.holds->TakeAnswers(); answers.ok()) {
    for (const HolderAnswer& answer : *answers) {
      const auto it = asked_.find(answer.id);
      if (it == asked_.end()) continue;
      it->second.done(answer.answer);
      asked_.erase(it);
    }
  }
  const Clock::time_point now = Clock::now();
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second.until > now) {
      ++it;
      continue;
    }
    it->second.done(LogUnavailable());
    it = asked_.erase(it);
  }
}

}  // namespace stampgate
