// The calls that wait for the ends of activities, and the rules by which the gateway reads these activities.
#ifndef STAMPGATE_GATEWAY_WAITING_WAIT_TABLE_H_
#define STAMPGATE_GATEWAY_WAITING_WAIT_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/waiting/activity_report.h"

namespace stampgate {

// Why a wait has ended.
enum class WaitEnd {
  kEvent,      // an event reported the activity's end
  kPoll,       // a reading of the activity reported the activity's end
  kDeadline,   // the wait's deadline has passed
  kFull,       // too many calls wait
  kDrain,      // the gateway shuts down
  kLeft,       // the caller has left
  kDismissed,  // the caller's identity belongs to no caller any more
};

// Only computes: it has no thread, no clock and no timer. The caller passes the time to each function; it must never go
// back. Not thread-safe.
//
// Each activity for which calls wait is read on its own schedule: for the first time `poll_interval` after the first of
// these calls began to wait, and then after twice the previous interval, up to `max_poll_interval`. A call whose first
// look is urgent makes the reading due at once. Two readings of one activity always begin at least `poll_interval`
// apart, even if all waiting calls leave and others come. All readings together begin at most `polls_per_second` times
// a second, and at most `max_polls_in_flight` are in progress. If more are due, the callers take turns: a caller with
// the weight 2 gets twice as many as one with the weight 1, and of those whose turn is equal, the one whose last turn
// is longest ago is next, with its reading that has been due for longest. A reading for calls of several callers is due
// for each of them. A caller that begins to wait comes after those of its weight that wait already.
//
// A reading in progress can take long, for example if its caller also has many calls that wait for upstream. So while
// `max_polls_in_flight` are in progress, a caller that has less than its share of them, or none, may still begin one.
//
// At most `max_waiting` calls wait. A caller alone may use all these slots. If a further call wants one, the caller
// with the most slots for its weight gives up its newest wait, unless the call's own caller would then have at least
// as many for its weight: then the further call does not wait. So a caller whose calls use at most its share of the
// slots always waits, and no wait of it ends: its share is the part of its weight among the callers that wait or want
// to wait.
class WaitTable {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using WaitId = uint64_t;
  using Text = std::shared_ptr<const std::string>;

  struct Options {
    size_t max_waiting = 4096;
    absl::Duration poll_interval = absl::Seconds(2);
    absl::Duration max_poll_interval = absl::Seconds(30);
    uint32_t polls_per_second = 2;
    size_t max_polls_in_flight = 8;
    std::function<bool(absl::string_view status)> is_final;
  };

  // A wait that has ended. `text` is the newest JSON text {"activity":{...}} that upstream has reported since the wait
  // began; null if there is none. If `end` is kEvent or kPoll, the activity in it has a final status.
  struct Ended {
    WaitId wait = 0;
    WaitEnd end = WaitEnd::kDeadline;
    Text text = nullptr;
  };

  // A reading that must begin now, with the key of the call `wait`.
  struct Poll {
    ActivityName activity;
    WaitId wait = 0;
  };

  // The texts of at most this many ends, with this many bytes, are remembered for announced waits.
  static constexpr size_t kMaxRecentEnds = 1024;
  static constexpr size_t kMaxRecentBytes = 4 << 20;
  // A longer text about an activity that has not ended is not stored.
  static constexpr size_t kMaxPendingBytes = 256 << 10;

  explicit WaitTable(Options options) : options_(std::move(options)) {}

  // Announces a wait whose activity is not known yet, because the response to the submit has not arrived. From now on,
  // the table remembers the ends that events report, so that Begin finds an end that was reported earlier. Each
  // Announce needs one Begin or Retract.
  void Announce() { ++announced_; }
  void Retract();

  // Begins an announced wait of a call of `caller`, whose weight is more than 0 and may change with each call. `urgent`
  // states that the activity must be read soon, because its status is old. A later wait must have a larger id. Returns
  // the end of this wait if it ends at once: kEvent, kFull or kDrain; or that of another wait that has given up its
  // slot: kFull.
  std::optional<Ended> Begin(WaitId wait, absl::string_view caller, double weight, const ActivityName& activity,
                             bool urgent, Time deadline, Time now);

  // Ends a wait without a result. Returns false if the wait had ended before.
  bool Remove(WaitId wait);

  // Reports what an event says about an activity. Returns the waits that this ends.
  std::vector<Ended> OnEvent(const ActivityReport& report, Time now);

  // Reports how a reading of `activity` ended. `report` is null if upstream gave no readable response. Returns the
  // waits that this ends. Ignores a report about another activity.
  std::vector<Ended> OnPolled(const ActivityName& activity, const ActivityReport* report, Time now);

  // Ends the waits whose deadline has passed.
  std::vector<Ended> EndOverdue(Time now);

  // Ends all waits. From now on, Begin ends each wait.
  std::vector<Ended> Drain();

  // Returns the readings that must begin now.
  std::vector<Poll> TakePolls(Time now);

  // Returns when EndOverdue or TakePolls can have something to do; Time::max() if never.
  Time next() const;

  size_t waiting() const { return waits_.size(); }
  // Whether the events of the log can concern a wait.
  bool needs_events() const { return announced_ > 0 || !waits_.empty(); }

 private:
  // A caller whose calls wait, or with readings in progress.
  struct Caller {
    double weight = 1;
    absl::btree_set<WaitId> waits;
    size_t polls = 0;  // in progress
    // The virtual time of the next turn: each turn adds 1 / weight. Among equal ones, the smaller number is next, which
    // increases with each turn of any caller.
    std::pair<double, uint64_t> turn;
    absl::btree_set<std::pair<Time, ActivityName>> due;
  };

  struct Wait {
    std::string caller;
    ActivityName activity;
    Time deadline;
  };

  // An activity for which calls wait, or which was read less than `poll_interval` ago.
  struct Entry {
    std::vector<WaitId> waits;  // in the order in which they began
    // When the next reading is due or, if no call waits, when the entry is deleted. Not set while a reading is in
    // progress.
    std::optional<Time> due;
    std::optional<Time> read;  // when the last reading began
    std::string reader;        // the caller whose turn the last reading was
    absl::Duration interval;   // until the next reading
    Text text = nullptr;       // the newest report
    bool is_final = false;     // whether `text` has a final status, but lacks the result
  };

  // The end of an activity that an event has reported.
  struct Recent {
    Text text = nullptr;
    bool lacks_result = false;
  };

  Entry& EntryOf(const ActivityName& activity, Time now);
  void SetDue(const ActivityName& activity, Entry& entry, Time due);
  // Clears and returns `due`. Must be called before the waits of the entry change.
  std::optional<Time> TakeDue(const ActivityName& activity, Entry& entry);
  void AddWait(WaitId id, double weight, Wait wait, Entry& entry);
  void EraseWait(WaitId id);
  // Returns the wait that must give up its slot, so that a call of `caller` can wait; nothing if none must.
  std::optional<WaitId> WaitToDisplace(absl::string_view caller, double weight) const;
  void SetTurn(Caller& caller);
  // Whether a further reading of the caller may be in progress.
  bool MayPoll(const Caller& caller) const;
  // Forgets the caller if it has nothing any more.
  void EraseIfUnused(absl::flat_hash_map<std::string, Caller>::iterator caller);
  // Returns the caller whose turn it is; null if no reading is due.
  std::pair<const std::string, Caller>* NextCaller(Time now);
  void SetUrgent(const ActivityName& activity, Entry& entry, Time now);
  void Release(const ActivityName& activity, Entry& entry);
  std::vector<Ended> EndAll(const ActivityName& activity, Entry& entry, WaitEnd end, const Text& text);
  void Remember(const ActivityReport& report);

  const Options options_;
  bool draining_ = false;
  size_t announced_ = 0;
  size_t polls_in_flight_ = 0;
  Time next_poll_ = Time::min();  // no reading begins before this time
  absl::flat_hash_map<WaitId, Wait> waits_;
  absl::flat_hash_map<std::string, Caller> callers_;  // those whose calls wait, or with readings in progress
  double turn_ = 0;                                   // the virtual time of the last turn
  uint64_t last_turn_ = 0;
  absl::flat_hash_map<ActivityName, std::unique_ptr<Entry>> entries_;
  absl::btree_set<std::pair<Time, WaitId>> deadlines_;
  absl::btree_set<std::pair<Time, ActivityName>> due_;      // the entries with calls that wait
  absl::btree_set<std::pair<Time, ActivityName>> expired_;  // the others, by the time at which they are deleted
  absl::flat_hash_map<ActivityName, Recent> recent_;
  std::deque<ActivityName> recent_order_;
  size_t recent_bytes_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_WAITING_WAIT_TABLE_H_
