// The state of a subscription that several consumers share: which consumer holds which event, and which events are
// settled.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SHARED_SUBSCRIPTION_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SHARED_SUBSCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/subscriptions/delivery_reason.h"
#include "gateway/subscriptions/dispatcher.h"
#include "gateway/subscriptions/unwritten_changes.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

enum class SettleOutcome { kDone, kRetry, kPark, kExtend };

enum class SettleResult {
  kSettled,
  kAlreadySettled,  // the event is done, by this settle's delivery or by another one
  kSuperseded,      // the delivery is not the current one of the event, or the event is parked
  kNotReadYet,      // the partition was added, and this event of it was not read again
  kNotHeld,         // another gateway holds the partition
  kTooManyParked,   // the event cannot be parked; the delivery stays current
};

// Decides in virtual time, without threads and without input or output: the owner reads the log, sends the deliveries
// and writes the changes. Not thread-safe.
//
// Of one key, one consumer at a time holds events, in the order of the log. An event that is sent again is sent alone:
// the next ones of its key wait until it is settled. So an event that cannot be handled is parked alone.
//
// The keys are divided into partitions. Several gateways can serve a subscription, each with some of the partitions: it
// adds those that it holds, and ignores the events of the others.
//
// The log is read once, forward, and again for a partition that was added later. The window has the events that were
// read and are not settled, and what was settled out of order; its size is limited. If the first event of a full window
// is not settled, its key begins to lag: it gets a position of its own, and the window passes it. The owner reads the
// further events of lagging keys separately.
class SharedSubscription {
 public:
  using ConsumerId = Dispatcher::ConsumerId;

  struct Options {
    absl::Duration settle_within;
    int64_t max_deliveries = 0;
    size_t max_unsettled_per_key = 0;
    size_t max_window = 10000;
    // A partition that is added can bring more lagging keys, and more parked events, than the next limits allow.
    size_t max_lagging_keys = 1000;
    // If so many events are parked, no further ones are: kPark is refused, and an event that was sent `max_deliveries`
    // times is sent again and again.
    size_t max_parked = 10000;
    // How many positions are reserved ahead for deliveries; see SubscriptionHead::reserved. Between these numbers, it
    // is what the subscription sends in about a second.
    Position min_reserve_step = 64;
    Position max_reserve_step = 4096;
  };

  // An event of the log that passes the filter.
  struct ReadEvent {
    Position position = 0;
    std::string key;                           // empty for an event without an order: it has a key of its own
    absl::Time stored = absl::InfinitePast();  // when the log stored it
  };

  // One sending of one event to one consumer. Together with the incarnation, position and number identify it.
  struct Delivery {
    ConsumerId consumer = 0;
    size_t partition = 0;  // of the event's key
    Position position = 0;
    int64_t number = 0;  // how often the event was assigned to a consumer, with this delivery
    int64_t count = 0;   // the same, without those that were not sent or that were before RetryParked
    DeliveryReason reason = DeliveryReason::kFirst;
    bool out_of_order = false;  // after it was parked
    uint64_t after_write = 0;   // must be sent after the store has this write; see UnwrittenChanges
  };

  struct Parked {
    size_t partition = 0;
    int64_t deliveries = 0;
    absl::Time time;
    std::string reason;
  };

  struct Settled {
    SettleResult result = SettleResult::kSettled;
    uint64_t after_write = 0;                  // the result must be reported after the store has this write
    absl::Time stored = absl::InfinitePast();  // of an event that this settle has made done; see ReadEvent
  };

  // About the partitions that were added.
  struct Stats {
    Position through = 0;  // every event up to here is settled, parked, or of a lagging key
    Position read = 0;     // the events up to here were read
    size_t unsettled = 0;  // known events that are not settled
    size_t held = 0;       // of these, the events that a consumer holds
    size_t parked = 0;
    size_t consumers = 0;
    size_t lagging_keys = 0;
    size_t partitions = 0;
    // Every event up to here is settled, and none of them is parked.
    Position settled_through = 0;
    // When the log stored the first event that is known and not settled; see ReadEvent. For an event that was parked:
    // when RetryParked returned it.
    std::optional<absl::Time> oldest;
  };

  // Has no partition yet.
  explicit SharedSubscription(const Options& options) : options_(options) {}
  SharedSubscription(const SharedSubscription&) = delete;
  SharedSubscription& operator=(const SharedSubscription&) = delete;

  // Applies to what happens afterwards.
  void SetOptions(const Options& options) { options_ = options; }
  const Options& options() const { return options_; }

  // --- Partitions.

  // Adds partitions that it does not have. `state` is what the store has; its parts of other partitions are ignored. If
  // it has partitions, `state` must have their incarnation. `latest` is the log's latest position. Until the time of
  // its partition, an event that may have been sent before belongs to a consumer that is unknown.
  void AddPartitions(const std::map<size_t, absl::Time>& held_until, const SubscriptionState& state, Position latest,
                     absl::Time now);
  bool Holds(size_t partition) const { return partitions_.contains(partition); }
  // Returns the partitions that it has.
  std::set<size_t> Held() const;
  // Sends nothing of the partition from now on, and reserves no more of it than what was sent, so that who gets it next
  // does not wait for consumers in vain. What consumers hold of it can be settled.
  void StopSending(size_t partition);
  // Sends events of the partition again after StopSending.
  void ResumeSending(size_t partition);
  // Whether no consumer can hold an event of the partition.
  bool IsIdle(size_t partition, absl::Time now) const;
  // Writes how far the partition has come, also if the store has that already.
  void WriteProgressOf(size_t partition) { WriteProgress(partitions_.at(partition)); }
  // Forgets the partition, with the changes of it that were not written.
  void RemovePartition(size_t partition);

  // --- What the owner reads.

  // Returns how many events the owner must read after `read()`; zero if none. If the window is full, keys begin to lag.
  // The next call must follow OnRead.
  size_t WantsEvents(Position latest);
  // Returns the position up to which the events of every partition were read; zero if it has no partition. A partition
  // of which nothing more is sent is not read any more.
  Position read() const;
  // Adds the events that were read after `after`, up to `through`. Ignores those of partitions whose events between
  // `after` and what was read before are unknown.
  void OnRead(Position after, const std::vector<ReadEvent>& events, Position through, absl::Time now);

  // Returns the position after which the owner must read events of lagging keys, if any.
  std::optional<Position> WantsLagging() const;
  // Adds events of lagging keys that were read after `after`, up to `through`; ignores other events.
  void OnLaggingRead(Position after, const std::vector<ReadEvent>& events, Position through, absl::Time now);

  // The log has no events any more from `first` to `last`: passes them. Returns the positions of those that were known
  // and not settled, or parked.
  std::vector<Position> OnLost(Position first, Position last);

  // Whether all events that may have been sent before their partitions were added were read again, except those of
  // lagging keys.
  bool HasRecovered() const;

  // --- Consumers.

  // Adds a consumer that holds at most `max_unsettled` events at a time. It gets none until SetReceiving.
  ConsumerId AddConsumer(size_t max_unsettled);
  // If `gives_back`, the consumer's events are sent again at once. Otherwise, they belong to an unknown consumer until
  // their time is over.
  void RemoveConsumer(ConsumerId consumer, bool gives_back, absl::Time now);
  // Gives a consumer an event that it got before, if the delivery is current and the event's consumer is unknown. Its
  // time begins again. The other held events of the same key then belong to the consumer, too. It may not have got them
  // all: it gets no further event of the key until it has resumed or settled each, or its time is over. Returns
  // kSettled, or why the consumer does not have the event.
  SettleResult Resume(ConsumerId consumer, size_t partition, Position position, int64_t number, absl::Time now);
  // Whether the consumer can receive deliveries now. Assign resets this for each consumer that gets some.
  void SetReceiving(ConsumerId consumer, bool receives);

  // Returns new deliveries: no consumer gets more than `max_each`. The consumer with the most places gets the next
  // `in_a_row` ones; of several such consumers, the one that has waited the longest.
  std::vector<Delivery> Assign(absl::Time now, size_t max_each, size_t in_a_row = 1);

  // The delivery, which is current, is sent now: it counts, and the consumer's time begins again.
  void OnSent(Position position, absl::Time now);

  // Takes back a delivery that was not sent, as if Assign had not returned it. Later deliveries of the same key must
  // have been taken back before.
  void GiveBack(Position position, int64_t number, absl::Time now);

  // Whether the event is known and waits for a consumer.
  bool IsWaiting(Position position) const;

  // Whether a delivery is still current, so that the owner can send it.
  bool IsCurrent(Position position, int64_t number) const;

  // `delay` is used by kRetry, `reason` by kPark.
  Settled Settle(size_t partition, Position position, int64_t number, SettleOutcome outcome, absl::Duration delay,
                 absl::string_view reason, absl::Time now);

  // --- Time.

  // Returns when Tick must be called; InfiniteFuture if it need not.
  absl::Time NextTick() const;
  void Tick(absl::Time now);

  // --- Administration.

  const std::map<Position, Parked>& parked() const { return parked_; }
  // Return whether the event was parked. RetryParked sends it again, out of order and with a new count.
  bool RetryParked(Position position, absl::Time now);
  bool SkipParked(Position position);
  // Continues after `position`. Forgets all deliveries and what was settled out of order; keeps parked events.
  void Seek(Position position);

  // Events up to here that were not sent since their partitions were added can have been sent before somebody has moved
  // the subscription back.
  void NoteSeek(Position sought_from) { sought_from_ = std::max(sought_from_, sought_from); }

  // Returns the positions that were parked since the last call.
  std::vector<Position> TakeParked() { return std::exchange(newly_parked_, {}); }

  // Does StopSending for every partition.
  void Close();

  int64_t incarnation() const { return head_.incarnation; }
  Stats stats() const;
  UnwrittenChanges& changes() { return changes_; }

 private:
  struct Key;

  struct Count {
    int64_t deliveries = 0;  // how often the event was assigned to a consumer
    int64_t uncounted = 0;   // see SubscriptionRow

    int64_t counted() const { return deliveries - uncounted; }
  };

  struct Partition {
    size_t number = 0;
    Position read = 0;               // the events up to here were read
    Position sent_before_start = 0;  // events up to here may have been sent before the partition was added
    absl::Time unknown_until;        // until when the consumers that got them can settle them
    Position written_through = 0;    // the `through` of the latest change of the head
    Position safely_reserved = 0;    // the store has reserved the positions up to here
    Position last_sent = 0;
    bool sends = true;
    size_t held = 0;                              // known events that consumers hold, or may hold
    std::set<Position> blocking;                  // of unsettled_, those that its `through` waits for
    std::map<Position, Key*> done;                // Key::done of the keys that do not lag
    std::set<Position> done_unread;               // done, of a key that is not known
    std::map<Position, Count> sent_again_unread;  // of events that were not read since the start
  };

  struct Item {
    Key* key = nullptr;
    Count count;
    absl::Time stored = absl::InfinitePast();  // see ReadEvent; of a key out of order: when RetryParked returned it
    bool held = false;
    bool is_of_before = false;                       // held since before the start
    bool is_unsent = false;                          // held by a consumer to which it was not sent yet
    absl::Time until;                                // if held: the end of its time
    absl::Time not_before = absl::InfinitePast();    // because of a RETRY's delay
    DeliveryReason reason = DeliveryReason::kFirst;  // of the next delivery
  };

  // The progress of a lagging key.
  struct Lag {
    Position through = 0;     // every event of the key up to here is settled or parked
    bool is_reading = false;  // whether further events of the key, up to Partition::read, are not known
    Position read = 0;        // if is_reading: the events up to here are known
  };

  // What orders events. Only keys with events that are not settled, or that are settled out of order, exist.
  struct Key {
    std::string name;
    Partition* partition = nullptr;
    std::set<Position> waiting;  // not settled and not held
    std::set<Position> held;     // all before those that wait
    std::set<Position> unsure;   // of `held`: not resumed since the start, or since the end of their stream
    std::set<Position> done;     // settled before an earlier event of the key, or of the partition
    size_t held_again = 0;       // how many of `held` were assigned more than once
    ConsumerId consumer = 0;     // of `held`; zero if it is unknown
    std::optional<Lag> lag;
    bool was_sent_again = false;  // since the start
    bool out_of_order = false;    // the key of one event that was parked
    Position ready = 0;           // the event of it that is offered to consumers; zero if none is
  };

  PartitionProgress& ProgressOf(const Partition& partition) { return head_.partitions[partition.number]; }
  const PartitionProgress& ProgressOf(const Partition& partition) const { return head_.partitions[partition.number]; }
  static bool HasRecovered(const Partition& partition) { return partition.read >= partition.sent_before_start; }
  // Whether further events of the partition must be read.
  static bool Reads(const Partition& partition) { return partition.sends || !HasRecovered(partition); }
  void Load(const std::map<size_t, absl::Time>& added, const SubscriptionState& state);
  Key& AddKey(const std::string& name, Partition& partition);
  Item& AddOutOfOrder(Partition& partition, Position position, const Count& count, absl::Time returned);
  // The size of the window.
  size_t Window() const;
  // The most events of a lagging key that are known: enough that its consumer need not wait for the log.
  size_t MaxKnown() const { return 2 * options_.max_unsettled_per_key; }
  bool HasRoom(const Key& key) const;
  bool IsKnown(Position position, Key& key);
  void Add(const ReadEvent& event, Key& key);
  void Remove(Position position);
  void Done(Position position);
  bool CanPark() const { return parked_.size() < options_.max_parked; }
  void Park(Position position, absl::string_view reason);
  void SendAgain(Key& key, Position from, DeliveryReason reason, DeliveryReason of_others);
  void Hold(Position position, Item& item, absl::Time until);
  void Release(Position position, Item& item);
  // The time of the event's consumer begins now.
  void BeginTime(Position position);
  Delivery Send(const Dispatcher::Turn& turn);
  uint64_t Reserve(Partition& partition, Position position);
  void AdaptReserveStep();
  // Writes the progress of this partition, and of those of which events are sent.
  void WriteProgress(const Partition& of);
  void StopSending(Partition& partition);
  void PutRow(Position position, const Item& item);
  void KeepDone(Partition& partition, Position position);
  void SetConsumer(Key& key, ConsumerId id);
  void Refresh(Key& key);
  void TakeOut(Key& key);
  void AfterSettle(Key& key);
  void Advance(Partition& partition, bool must_write);
  void AdvanceLag(Key& key);
  bool BeginLag();
  void EndLag(Key& key);
  void Sweep();
  Settled SettleUnknown(const Partition& partition, Position position, SettleOutcome outcome) const;

  Options options_;
  SubscriptionHead head_;  // its parts of partitions that it does not have mean nothing
  std::map<size_t, Partition> partitions_;
  UnwrittenChanges changes_;
  absl::Time now_;                                 // of the latest call with a time
  uint64_t reserve_write_ = 0;                     // the write that reserves the positions that head_ has
  Position reserve_step_ = 0;                      // of this write
  absl::Time reserved_at_ = absl::InfinitePast();  // when
  Position sought_from_ = 0;                       // where the subscription had been before the latest Seek

  std::map<Position, Parked> parked_;
  std::vector<Position> newly_parked_;

  std::unordered_map<std::string, Key> keys_;
  std::set<Key*> touched_;  // may have become superfluous
  std::set<Key*> lagging_;
  std::map<Position, Item> unsettled_;
  std::set<std::pair<absl::Time, Position>> returned_;  // of unsettled_, those out of order; see Item::stored

  Dispatcher dispatcher_;
  std::map<ConsumerId, std::set<Key*>> consumers_;  // and the keys of which each holds events

  std::set<std::pair<absl::Time, Position>> ends_;    // of held events
  std::set<std::pair<absl::Time, Position>> delays_;  // Item::not_before of events that wait
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SHARED_SUBSCRIPTION_H_
