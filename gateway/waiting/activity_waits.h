// Lets calls wait for the ends of activities.
#ifndef STAMPGATE_GATEWAY_WAITING_ACTIVITY_WAITS_H_
#define STAMPGATE_GATEWAY_WAITING_ACTIVITY_WAITS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "base/loop/event_loop.h"
#include "base/threads/mutex.h"
#include "gateway/feed/source.h"
#include "gateway/waiting/activity_report.h"
#include "gateway/waiting/event_watch.h"
#include "gateway/waiting/wait_metrics.h"
#include "gateway/waiting/wait_table.h"

namespace stampgate {

class ActivityWait;

// The waits of all calls. Thread-safe; no function blocks. A wait learns of its activity's end from the events of the
// log, once Watch has been called, and from readings of the activity at upstream; WaitTable has the rules.
class ActivityWaits : public std::enable_shared_from_this<ActivityWaits> {
 public:
  using Time = WaitTable::Time;
  using Ended = WaitTable::Ended;

  // Reads the activity at upstream, as one call of a wait may read it, and passes to `done` the JSON text of upstream's
  // response, or nothing if there is no usable response. Calls `done` once, at the latest at the deadline. Runs on the
  // loop, and must not block.
  using Done = absl::AnyInvocable<void(std::optional<std::string> answer)>;
  using ReadActivity = std::function<void(Time deadline, Done done)>;

  // Called once, when the wait ends: before Begin returns, or later on another thread. Must not block.
  using OnEnd = absl::AnyInvocable<void(Ended ended)>;

  // `loop` runs the timer and the readings, and must outlive the last call of any function. `metrics` must outlive
  // this.
  ActivityWaits(WaitTable::Options options, EventLoop& loop, WaitMetrics& metrics,
                std::function<Time()> now = std::chrono::steady_clock::now);

  // Returns a wait that has not begun. Must be called before the submit is sent, because an event can report the end of
  // the activity before upstream's response arrives. `this` must be owned by a shared_ptr.
  std::shared_ptr<ActivityWait> Announce();

  // From now on, reads the events of `source`. `source` must outlive the next call of Drain.
  void Watch(EventSource& source);

  // Ends all waits, and each later wait as soon as it begins. Reads no event any more.
  void Drain();

 private:
  friend class ActivityWait;

  struct Waiting {
    std::shared_ptr<const ReadActivity> read;
    OnEnd on_end;
  };
  // What must be done after the lock is released.
  struct Work {
    std::vector<std::pair<OnEnd, Ended>> ends;
    std::vector<std::pair<ActivityName, std::shared_ptr<const ReadActivity>>> polls;
  };

  void Begin(WaitTable::WaitId id, absl::string_view caller, double weight, const ActivityName& activity, bool urgent,
             Time deadline, ReadActivity read, OnEnd on_end);
  void End(WaitTable::WaitId id, WaitEnd end);
  void Retract(WaitTable::WaitId id);
  void OnActivity(absl::string_view body);
  void OnPolled(const ActivityName& activity, std::optional<std::string> answer);
  void OnTimer();

  void Take(std::vector<Ended> ended, Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks for what is due now, sets the timer, and begins or ends the watch.
  void Update(Work& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(Work work) ABSL_LOCKS_EXCLUDED(mutex_);

  EventLoop& loop_;
  WaitMetrics& metrics_;
  const std::function<Time()> now_;

  Mutex mutex_;
  WaitTable table_ ABSL_GUARDED_BY(mutex_);
  WaitTable::WaitId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  // The waits that have not begun. The value is set if the wait must end as soon as it begins.
  absl::flat_hash_map<WaitTable::WaitId, std::optional<WaitEnd>> announced_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<WaitTable::WaitId, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  Time armed_ ABSL_GUARDED_BY(mutex_) = Time::max();  // when the timer runs
  TimerId timer_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<EventWatch> watch_ ABSL_GUARDED_BY(mutex_);  // null without an event log, and after Drain
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
};

// The wait of one call. Thread-safe.
class ActivityWait {
 public:
  // Use ActivityWaits::Announce.
  ActivityWait(std::shared_ptr<ActivityWaits> waits, WaitTable::WaitId id) : waits_(std::move(waits)), id_(id) {}

  // Does not end a wait that has begun.
  ~ActivityWait() { waits_->Retract(id_); }

  ActivityWait(const ActivityWait&) = delete;
  ActivityWait& operator=(const ActivityWait&) = delete;

  // Begins to wait. Must be called at most once. `caller` is the name of the caller: the callers share the slots and
  // the readings by their weights. `urgent` states that the activity must be read soon, because its status is old.
  // `on_end` may destroy this object.
  void Begin(absl::string_view caller, double weight, const ActivityName& activity, bool urgent,
             ActivityWaits::Time deadline, ActivityWaits::ReadActivity read, ActivityWaits::OnEnd on_end) {
    // The copy keeps the waits alive, because `on_end` may destroy this object.
    const std::shared_ptr<ActivityWaits> waits = waits_;
    waits->Begin(id_, caller, weight, activity, urgent, deadline, std::move(read), std::move(on_end));
  }

  // Ends the wait with `end`, which is kLeft or kDismissed, before End returns, unless it has ended. If it has not
  // begun, it ends when it begins.
  void End(WaitEnd end) {
    const std::shared_ptr<ActivityWaits> waits = waits_;
    waits->End(id_, end);
  }

 private:
  const std::shared_ptr<ActivityWaits> waits_;
  const WaitTable::WaitId id_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_WAITING_ACTIVITY_WAITS_H_
