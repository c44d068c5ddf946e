// A store of shared subscriptions in memory, for tests, which decide when and how it answers.
#ifndef STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_STORE_H_
#define STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/mutex.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Applies a change as a SubscriptionStore does. Errors: kNotFound, as for SubscriptionStore::Write.
absl::Status ApplyChange(const SubscriptionChange& change, SubscriptionStates* states);

// Thread-safe. Changes wait until the test answers them, unless AnswerAtOnce was called. `done` runs on the thread that
// answers, and can call the functions of the store.
class FakeSubscriptionStore : public SubscriptionStore {
 public:
  // Starts with these states.
  explicit FakeSubscriptionStore(SubscriptionStates states = {}) : states_(std::move(states)) {}

  absl::StatusOr<SubscriptionStates> Load() override;
  void Write(SubscriptionChange change, absl::AnyInvocable<void(absl::Status)> done) override;

  // Makes Load return `status`, if it is an error.
  void FailLoad(const absl::Status& status);

  // Simulates damage of a subscription's state on the disk.
  void Damage(const std::string& subscription, const std::string& damage);

  // From now on, answers each change inside of Write, with `status` as Answer does. Answers the waiting changes too.
  void AnswerAtOnce(const absl::Status& status = absl::OkStatus());

  // From now on, changes wait again.
  void Hold();

  // Returns the changes that wait, the oldest first.
  std::vector<SubscriptionChange> waiting() const;

  // Answers the oldest change: if `status` is OK, applies it before. Returns false if no change waits.
  bool Answer(const absl::Status& status = absl::OkStatus());

  // Answers the changes that wait now, but not those that their answers cause.
  void AnswerAll(const absl::Status& status = absl::OkStatus());

  // Simulates that the process dies: the oldest `applied` changes that wait are applied, and none of those that wait is
  // ever answered.
  void Crash(size_t applied = 0);

  // Returns what is durable.
  SubscriptionStates states() const;
  // Returns the answers to requests of other gateways.
  std::map<int64_t, std::string> answers() const;

 private:
  struct Waiting {
    SubscriptionChange change;
    absl::AnyInvocable<void(absl::Status)> done;
  };

  mutable Mutex mutex_;
  SubscriptionStates states_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::string> answers_ ABSL_GUARDED_BY(mutex_);
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool holds_ ABSL_GUARDED_BY(mutex_) = true;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);  // used if it does not hold changes
  absl::Status load_failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_STORE_H_
