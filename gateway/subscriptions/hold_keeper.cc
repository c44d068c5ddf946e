#include "gateway/subscriptions/hold_keeper.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/threads/start_thread.h"
#include "gateway/feed/error.h"

namespace stampgate {
namespace {

constexpr std::chrono::seconds kRenewEach(1);
// When many holds change, each wakes all gateways.
constexpr std::chrono::milliseconds kRenewAtMostEach(50);

absl::StatusOr<std::vector<SubscriptionRow>> ToCaller(absl::StatusOr<std::vector<SubscriptionRow>> rows) {
  return rows.ok() ? std::move(rows) : LogUnavailable();
}

}  // namespace

HoldKeeper::HoldKeeper(Options options)
    : options_(std::move(options)), thread_(StartThread("hold-keeper", [this] { Run(); })) {}

HoldKeeper::~HoldKeeper() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  WakeThread();
  thread_.join();
}

void HoldKeeper::WakeThread() {
  changed_.WakeAll();
  options_.holds->Wake();
}

void HoldKeeper::Add(std::shared_ptr<ServedSubscription> subscription) {
  {
    const MutexLock lock(mutex_);
    const std::string name = subscription->name();
    served_[name] = std::move(subscription);
    has_new_ = true;
  }
  WakeThread();
}

void HoldKeeper::Remove(const std::string& name) {
  std::shared_ptr<ServedSubscription> subscription;
  {
    const MutexLock lock(mutex_);
    const auto it = served_.find(name);
    if (it == served_.end()) return;
    subscription = std::move(it->second);
    served_.erase(it);
  }
  std::promise<void> removed;
  Post([&] {
    NoteFailure(name, options_.holds->End(name, subscription->settle_within()));
    failures_.erase(name);
    incarnations_.erase(name);
    removed.set_value();
  });
  removed.get_future().wait();
}

absl::StatusOr<DeclaredSettings> HoldKeeper::Declare(const SubscriptionDeclaration& declaration) {
  std::promise<absl::StatusOr<DeclaredSettings>> declared;
  Post([&] { declared.set_value(options_.holds->Declare(declaration)); });
  return declared.get_future().get();
}

ServedSubscription::Peers HoldKeeper::PeersOf(const std::string& name) {
  ServedSubscription::Peers peers;
  peers.ask = [this, name](size_t partition, std::string request, OnAnswer done) {
    {
      const MutexLock lock(mutex_);
      questions_.push_back(
          {name, partition, std::move(request), std::move(done), Clock::now() + options_.answer_within});
    }
    WakeThread();
  };
  peers.seek = [this, name](Position position, absl::AnyInvocable<void(absl::Status)> done) {
    Post([this, name, position, done = std::move(done)]() mutable {
      if (!options_.holds->Seek(name, position).ok()) return done(LogUnavailable());
      const auto current = served();
      const auto it = current.find(name);
      const bool is_known = it == current.end() || Renew(*it->second);
      done(is_known ? absl::OkStatus() : LogUnavailable());
    });
  };
  peers.parked = [this, name](Position after, size_t most) {
    return ToCaller(options_.holds->Parked(name, after, most));
  };
  peers.parked_at = [this, name](const std::vector<Position>& positions) {
    return ToCaller(options_.holds->ParkedAt(name, positions));
  };
  return peers;
}

void HoldKeeper::Post(absl::AnyInvocable<void()> task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  WakeThread();
}

std::map<std::string, std::shared_ptr<ServedSubscription>> HoldKeeper::served() const {
  const MutexLock lock(mutex_);
  return served_;
}

void HoldKeeper::Run() {
  for (;;) {
    RunPosted();
    AskNew();
    RenewAll();
    Exchange();
    {
      const MutexLock lock(mutex_);
      // Without a subscription, the keeper does not use the store.
      while (!ends_ && served_.empty() && tasks_.empty() && questions_.empty() && asked_.empty()) changed_.Wait(mutex_);
      if (ends_) break;
    }
    if (options_.holds->Await(renew_at_)) renew_at_ = std::min(renew_at_, renewed_at_ + kRenewAtMostEach);
  }
  RunPosted();
  const MutexLock lock(mutex_);
  for (auto& [id, question] : asked_) questions_.push_back(std::move(question));
  for (Question& question : questions_) question.done(LogUnavailable());
  questions_.clear();
}

void HoldKeeper::RunPosted() {
  std::vector<absl::AnyInvocable<void()>> tasks;
  {
    const MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) task();
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
      Question& asked = asked_[*id];
      // The server has lost the earlier request with this id.
      if (asked.done != nullptr) asked.done(LogUnavailable());
      asked = std::move(question);
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
  renewed_at_ = Clock::now();
  renew_at_ = renewed_at_ + kRenewEach;
  for (const auto& [name, subscription] : served()) Renew(*subscription);
}

bool HoldKeeper::Renew(ServedSubscription& subscription) {
  absl::StatusOr<Hold> hold = options_.holds->Renew(subscription.Renew());
  if (hold.ok() && hold->state.head.order != static_cast<int64_t>(subscription.order())) {
    hold = absl::NotFoundError("the subscription was deleted, and declared again with another order_by");
  }
  NoteFailure(subscription.name(), hold.status());
  if (!hold.ok()) return false;
  subscription.OnHold(*hold);
  const int64_t incarnation = hold->state.head.incarnation;
  const auto known = incarnations_.emplace(subscription.name(), incarnation).first;
  if (std::exchange(known->second, incarnation) != incarnation) options_.on_other_incarnation(subscription.name());
  if (hold->settings.has_value()) options_.on_settings(subscription.name(), *hold->settings);
  return true;
}

void HoldKeeper::NoteFailure(const std::string& name, const absl::Status& status) {
  absl::Status& failure = failures_[name];
  if (!status.ok() && (status != failure || absl::IsNotFound(status))) options_.on_not_renewed(name, status);
  failure = status;
}

// If the store does not answer, the next call comes soon.
void HoldKeeper::Exchange() {
  if (const auto current = served(); !current.empty()) {
    if (const auto requests = options_.holds->Requests(); requests.ok()) {
      for (const HolderRequest& request : *requests) {
        const auto it = current.find(request.subscription);
        if (it != current.end()) it->second->OnRequest(request);
      }
    }
  }
  if (asked_.empty()) return;
  // Many answers must not delay the renewals.
  do {
    const auto answers = options_.holds->TakeAnswers();
    if (!answers.ok() || answers->empty()) break;
    for (const HolderAnswer& answer : *answers) {
      const auto it = asked_.find(answer.id);
      if (it == asked_.end()) continue;
      it->second.done(answer.answer);
      asked_.erase(it);
    }
  } while (Clock::now() < renew_at_);
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
