// The interface of the event log, which stores verified events durably.
#ifndef STAMPGATE_WEBHOOKS_LOG_EVENT_LOG_H_
#define STAMPGATE_WEBHOOKS_LOG_EVENT_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// An event's number in the event log: 1, 2, 3, ... without gaps. Reading after position 0 starts at the beginning.
using Position = int64_t;

// A digest that identifies an event together with all events before it in its log.
using ChainDigest = std::array<uint8_t, 32>;

// A position, and the digest of the event at this position. The digest is all zeros at position 0, and for a damaged
// event whose digest is unknown.
struct LogPoint {
  Position position = 0;
  ChainDigest digest = {};

  friend bool operator==(const LogPoint&, const LogPoint&) = default;
};

struct LoggedEvent {
  Position position = 0;
  ChainDigest digest = {};
  absl::Time commit_time;  // never earlier than the commit time of the previous event
  Event event;
};

// The positions that a reader can read, from `earliest` to `latest`. The events at some of them can be damaged or lost.
// If `latest` is `earliest - 1`, there are no such positions. Retention increases `earliest`.
struct LogExtent {
  Position earliest = 1;
  Position latest = 0;
};

// The size and age of the event log.
struct LogUsage {
  int64_t bytes = 0;  // the used bytes of the file, which retention limits
  std::optional<absl::Time>
      oldest;  // the commit time of the earliest event that is not damaged; not set if there is none
};

// A range of events that the event log has lost or cannot read.
struct LostEvents {
  Position first = 0;
  Position last = 0;
  bool gone = false;  // true: the disk had lost the events when the log was opened; false: the events are damaged
};

// Random values that are created with the event log and stored in it.
struct LogIdentity {
  std::array<uint8_t, 16> id = {};          // never changes
  std::array<uint8_t, 32> cursor_key = {};  // secret; a new key invalidates all earlier cursors
};

// Returns kFailedPrecondition: the log does not have the event that a reader has read at `position`.
inline absl::Status OfAnotherHistory(Position position) {
  return absl::FailedPreconditionError(
      absl::StrCat("the event log was restored to an earlier state: it has another event ", position, ", or none"));
}

enum class AppendOutcome {
  kStored,
  kDuplicate,  // an event with this id, scope (IdScopeOf) and body was stored before
  kConflict,   // an event with this id and scope but another body was stored before; the log keeps that event
};

// Identifies an event by its id and, if wanted, by the scope of this id.
struct EventName {
  std::string event_id;
  // The scope of the event's id (see IdScopeOf): an organization's id, or an empty text for an event without an
  // organization. If `organization_id` is not set, events of every scope match.
  std::optional<std::string> organization_id;
};

// Reads the event log. Only one thread at a time may use a reader. Many readers can exist at the same time. The
// functions block while they read from the disk.
class EventReader {
 public:
  struct Limits {
    size_t max_events = 256;
    // Maximum total size of the bodies. The first event is returned even if it is larger.
    size_t max_bytes = 256 << 10;
    // Maximum number of examined events, whether or not they pass the filter.
    size_t max_looked_at = 1000;
  };
  struct Batch {
    std::vector<LoggedEvent> events;
    // The last examined position. The next Read should continue after this position. Equals `after` if there are no
    // later events.
    Position through = 0;
    // The digest of the event at `through`, if Read examined any event.
    ChainDigest through_digest = {};
  };

  virtual ~EventReader() = default;

  // Each function below returns kUnavailable if the event log's file cannot be read.
  virtual absl::StatusOr<LogExtent> Extent() = 0;

  virtual absl::StatusOr<LogUsage> Usage() = 0;

  // Returns events after `after` that pass `filter`, in order. Errors: kOutOfRange if retention has deleted some events
  // after `after`; kFailedPrecondition if `after` has a digest, and the log does not have the event of this digest at
  // this position, because the log was restored to an earlier state; kDataLoss if the next events are damaged, are
  // lost, or differ from the events that were stored. After kDataLoss, Lost() returns the range of these events. If
  // readable events precede lost or damaged events, Read first returns the readable events without an error.
  virtual absl::StatusOr<Batch> Read(const LogPoint& after, const EventFilter& filter, const Limits& limits) = 0;

  // Returns the range of events that caused the latest kDataLoss. To continue, read after the range's `last`.
  virtual LostEvents Lost() const = 0;

  // Returns the digest of the event at `position`. Also accepts the position before the earliest event. Returns zeros
  // at position 0. Errors: kOutOfRange if retention has deleted the event or there is no such event yet; kDataLoss if
  // the event is damaged or lost, and the next row does not contain the event's digest. After kDataLoss, Lost() returns
  // the range of the damaged or lost events.
  virtual absl::StatusOr<ChainDigest> DigestAt(Position position) = 0;

  // Returns the first event with this name that passes `filter`. Returns nothing if there is no such event or retention
  // has deleted the event. Returns kDataLoss if an event with this name is damaged or lost, and no other event with
  // this name passes `filter`.
  virtual absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) = 0;

  // Returns the position of the last readable event that was committed before `time`. If there is no such event,
  // returns the position before the earliest event.
  virtual absl::StatusOr<Position> PositionBefore(absl::Time time) = 0;

  // Makes sure that the log really lacks what the last call of a function above did not find. Call Confirm before a
  // caller hears that something is lost, unless the function has reported it: then the function has done this itself.
  // Errors: kAborted if the log has moved to another server, so that the function must be called again; kUnavailable if
  // it is not known.
  virtual absl::Status Confirm() { return absl::OkStatus(); }
};

class SubscriptionHolds;
class SubscriptionStore;

// Stores events. Thread-safe.
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Stores an event unless it is already stored. Calls `done` once. If the outcome is kStored, the disk has the event,
  // and readers see it. If the outcome is kDuplicate or kConflict, the disk has the earlier event with this id, unless
  // retention has deleted the earlier event. Does not block. `done` runs on the event log's thread, or inside of Append
  // if the log refuses the event without queueing it.
  //
  // Errors: kResourceExhausted if the queue or the disk is full; kUnavailable if the event log was closed or has
  // failed, or if a write takes longer than kWriteHangsAfter. After an error, readers do not see the event. But if the
  // disk failed, the log can contain the event after the next start.
  virtual void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) = 0;

  // Sets the function that the log calls after every commit that stored events, before it calls the `done` callbacks of
  // these events. `on_growth` gets the latest position; an earlier one than before if a shared log has lost events. It
  // runs on the event log's thread and must not block. If a shared log has changed since it was opened, it runs inside
  // of SetOnGrowth too. Call SetOnGrowth once, before the first Append.
  virtual void SetOnGrowth(std::function<void(Position latest)> on_growth) = 0;

  // Opens a new reader. Errors: kUnavailable.
  virtual absl::StatusOr<std::unique_ptr<EventReader>> NewReader() = 0;

  virtual const LogIdentity& identity() const = 0;

  // Returns the store of the shared subscriptions to this log, which lives as long as the log, or null if the log
  // cannot store any.
  virtual SubscriptionStore* subscriptions() { return nullptr; }

  // Returns that through which the gateways that share the log divide its subscriptions. It lives as long as the log.
  // Null if no other gateway can use the log.
  virtual SubscriptionHolds* holds() { return nullptr; }

  // Returns how long the current write to the disk or the server has taken so far, or zero if no write is in progress.
  virtual absl::Duration WriteUnderWay() const = 0;

  // Writes the queued events and changes of subscriptions, and completes the files, so that the next start has nothing
  // to repair. Later appends and changes fail, but readers can still read. Blocks until the disk has completed these
  // writes, perhaps forever. Can be called more than once.
  virtual void Close() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_LOG_H_
