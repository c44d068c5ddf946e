// The interface of the store of shared subscriptions, which keeps what their consumers have settled.
#ifndef STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_STORE_H_
#define STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The keys of a subscription are divided into so many partitions: see partition.h. Never change the number, because
// stores have the partitions of rows.
inline constexpr size_t kPartitions = 16;

// How far a partition of a subscription has come.
struct PartitionProgress {
  // Every event of the partition up to this position that passes the subscription's filter is done, is parked, or
  // belongs to a key that lags.
  Position through = 0;
  // Events of the partition up to this position may have been sent. The gateway stores it before it sends an event
  // after it, and stores a position that is far ahead, so that most first deliveries write nothing. It can be after the
  // log's end.
  Position reserved = 0;

  friend bool operator==(const PartitionProgress&, const PartitionProgress&) = default;
};

// How far a subscription has come.
struct SubscriptionHead {
  std::array<PartitionProgress, kPartitions> partitions = {};
  // Grows when an operator moves the subscription to another point, so that earlier tokens become invalid.
  int64_t incarnation = 1;
  // The number of what orders the events, which only the user of the store understands. It never changes.
  int64_t order = 0;

  friend bool operator==(const SubscriptionHead&, const SubscriptionHead&) = default;
};

// Returns the head of a subscription of which nothing after `position` was sent.
inline SubscriptionHead HeadAt(Position position, int64_t order = 0) {
  SubscriptionHead head;
  head.partitions.fill({.through = position, .reserved = position});
  head.order = order;
  return head;
}

// What the store knows about an event of a subscription. The values are those in the store: never change them.
enum class EventMark {
  kDone = 1,       // settled, although its partition's or its key's position is before it
  kSentAgain = 2,  // not settled; assigned to consumers more than once, or once and not sent
  kParked = 3,     // set aside
  kRetried = 4,    // was parked, and must be sent again, out of order
};

// The row of an event of a subscription. An event without a row is done or not, as its partition's and its key's
// positions say.
struct SubscriptionRow {
  Position position = 0;
  size_t partition = 0;  // of the event's key
  EventMark mark = EventMark::kDone;
  int64_t deliveries = 0;   // how often the event was assigned to a consumer; not used with kDone
  int64_t uncounted = 0;    // of these, those that do not count: before it was parked, or never sent
  absl::Time time = {};     // kParked, kRetried: since when it has this mark, with a precision of microseconds
  std::string reason = {};  // kParked: why the event was parked

  friend bool operator==(const SubscriptionRow&, const SubscriptionRow&) = default;
};

// The whole state of a subscription.
struct SubscriptionState {
  SubscriptionHead head = {};
  std::vector<SubscriptionRow> rows = {};  // in the order of their positions
  // The keys that lag: every event of the key at or before this position is done or parked, and the later ones up to
  // its partition's position need not be.
  std::map<std::string, Position> lagging = {};
  // Why the store cannot return the state: a part of it is damaged on the disk. The other members are then incomplete,
  // and the subscription can only be removed. Empty if nothing is damaged.
  std::string damage = {};

  friend bool operator==(const SubscriptionState&, const SubscriptionState&) = default;
};

// The states of subscriptions, by their names.
using SubscriptionStates = std::map<std::string, SubscriptionState>;

// A change of one subscription. The store applies it as a whole, or not at all.
struct SubscriptionChange {
  std::string subscription = {};
  // The new head. The first change of a subscription has one, which creates the subscription.
  std::optional<SubscriptionHead> head = std::nullopt;
  // How far these partitions have come now.
  std::map<size_t, PartitionProgress> progress = {};
  // Rows to erase, and then rows to add or to replace. A row that does not exist can be erased.
  std::vector<Position> erase = {};
  std::vector<SubscriptionRow> put = {};
  // The same for the keys that lag.
  std::vector<std::string> erase_lagging = {};
  std::vector<std::pair<std::string, Position>> put_lagging = {};
  // Removes the subscription with all its rows, if there are any. All other members except the name are then empty.
  bool remove = false;
  // If several gateways share the store: the hold that has the partitions which the change concerns, and the answers to
  // requests that the change carries out. See subscription_holds.h.
  int64_t hold = 0;
  std::vector<std::pair<int64_t, std::string>> answers = {};

  friend bool operator==(const SubscriptionChange&, const SubscriptionChange&) = default;
};

// Stores the states of shared subscriptions. Thread-safe.
//
// The store applies changes in the order of the calls of Write. After a crash or a power cut, it has the first changes
// up to some point: every change that it has acknowledged, perhaps later ones, and each of them as a whole. Retention
// deletes events without regard to subscriptions: rows and heads can be about events that the log no longer has.
class SubscriptionStore {
 public:
  virtual ~SubscriptionStore() = default;

  // Returns the states of all subscriptions: with all changes that were acknowledged before, and perhaps with
  // later ones. Damage of one subscription hides no other one: see SubscriptionState::damage. Blocks. Errors:
  // kUnavailable if the store cannot be read; kDataLoss if it is damaged as a whole.
  virtual absl::StatusOr<SubscriptionStates> Load() = 0;

  // Applies a change. Calls `done` once: if it gets OK, the change is durable. Does not block. `done` runs on the
  // store's thread, or inside of Write if the store refuses the change without queueing it. It can call Write.
  //
  // Errors: kNotFound if there is no such subscription and the change has no head and removes nothing; kAborted if the
  // hold has ended, or does not have a partition; kFailedPrecondition if the change removes the subscription and a
  // gateway of those that share the store serves it; kResourceExhausted if the queue or the disk is full; kUnavailable
  // if the store was closed or has failed, or if a write takes longer than kWriteHangsAfter. After an error, nothing of
  // the change is applied. But if the disk failed, or if the process dies before the store has applied another change,
  // the next start can find the change applied.
  virtual void Write(SubscriptionChange change, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SUBSCRIPTION_STORE_H_
