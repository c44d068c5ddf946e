// An event log in memory that tests grow, trim and damage.
#ifndef STAMPGATE_GATEWAY_FEED_FAKE_LOG_H_
#define STAMPGATE_GATEWAY_FEED_FAKE_LOG_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe. The event at position n has the id "event-n", the type and the organization "even" or "odd", the body
// "{}", and the digest DigestOf(n); it was stored n seconds after 1970.
class FakeEventLog : public EventLog {
 public:
  static ChainDigest DigestOf(Position position);

  void Grow(Position latest);
  void Trim(Position earliest);
  void Damage(Position position);
  // From now on, the log reports that the disk has lost the events from `first` to `last`.
  void Lose(Position first, Position last);
  // From now on, every read fails.
  void Fail();
  // Sets the event at `position`. The position can be beyond the log's end.
  void Put(Position position, Event event);
  // Calls `on_read` once, during the next Read or Find.
  void OnRead(std::function<void()> on_read);
  // Returns how often Read was called.
  int reads() const;

  void Append(VerifiedEvent, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override;
  void SetOnGrowth(std::function<void(Position)> on_growth) override { on_growth_ = std::move(on_growth); }
  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override;
  const LogIdentity& identity() const override { return identity_; }
  absl::Duration WriteUnderWay() const override { return absl::ZeroDuration(); }
  void Close() override {}

 private:
  class Reader;

  // Returns the event at `position`.
  LoggedEvent At(Position position) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLost(Position position) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lost_.first <= position && position <= lost_.last;
  }

  mutable Mutex mutex_;
  LogExtent extent_ ABSL_GUARDED_BY(mutex_);
  LostEvents lost_ ABSL_GUARDED_BY(mutex_) = {.first = 0, .last = -1, .gone = false};
  bool fails_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<Position, Event> events_ ABSL_GUARDED_BY(mutex_);
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> on_read_ ABSL_GUARDED_BY(mutex_);
  std::function<void(Position)> on_growth_ = [](Position) {};
  const LogIdentity identity_ = {};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_FAKE_LOG_H_
