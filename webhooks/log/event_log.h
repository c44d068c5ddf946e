// The event log, the durable log of verified events: its interface. An implementation keeps every promise made here, or
// reports which call failed.
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
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// An event's place in the event log: 1, 2, 3, ... without gaps. Where reading starts after a position, 0 stands for the
// beginning.
using Position = int64_t;

// Identifies an event together with all events before it in its log.
using ChainDigest = std::array<uint8_t, 32>;

// States that everything up to `position` has been seen. `digest` is that of the event there; zeros at position 0, and
// if it is unknown because the event is damaged.
struct EventPlace {
  Position position = 0;
  ChainDigest digest = {};
};

struct LoggedEvent {
  Position position = 0;
  ChainDigest digest = {};
  absl::Time commit_time;  // never earlier than that of the event before
  Event event;
};

// The readable events are those from `earliest` to `latest`; there are none if `latest` is earliest - 1. Retention
// increases `earliest`.
struct LogExtent {
  Position earliest = 1;
  Position latest = 0;
};

// How much the event log holds.
struct LogUsage {
  int64_t bytes = 0;  // of the file in use, as retention counts them
  std::optional<absl::Time>
      oldest;  // the commit time of the earliest event that is not damaged; nothing if there is none
};

// Events that the event log has lost or cannot read.
struct LostEvents {
  Position first = 0;
  Position last = 0;
  bool gone = false;  // true: the disk lost them before the log was last opened; false: they are there but damaged
};

// Created with the event log and stored in it.
struct LogIdentity {
  std::array<uint8_t, 16> id = {};          // never changes
  std::array<uint8_t, 32> cursor_key = {};  // secret; changing it invalidates all cursors
};

// A write to the disk that takes longer than this counts as hanging.
inline constexpr absl::Duration kWriteHangsAfter = absl::Seconds(5);

enum class AppendOutcome {
  kStored,
  kDuplicate,  // an event of that id and scope (IdScopeOf) with the same body was stored before
  kConflict,   // an event of that id and scope with another body was stored before; that one stays
};

// Identifies an event by the terms that callers use.
struct EventName {
  std::string event_id;
  // IdScopeOf the event; empty for an event without an organization. Nothing: any scope.
  std::optional<std::string> organization_id;
};

// Reads the event log. One thread at a time per reader; any number of readers. Calls block while they read from the
// disk.
class EventReader {
 public:
  struct Limits {
    size_t max_events = 256;
    // Bound on the sum of the bodies; the first event is returned however large it is.
    size_t max_bytes = 256 << 10;
    // Bound on the events that are examined, whether or not they pass the filter.
    size_t max_looked_at = 1000;
  };
  struct Batch {
    std::vector<LoggedEvent> events;
    // Everything up to here was examined: continue reading after it. Equals `after` if there is nothing later.
    Position through = 0;
    // The digest of the event there, if any was examined.
    ChainDigest through_digest = {};
  };

  virtual ~EventReader() = default;

  // All calls can fail with kUnavailable, if the file cannot be read.
  virtual absl::StatusOr<LogExtent> Extent() = 0;

  virtual absl::StatusOr<LogUsage> Usage() = 0;

  // The events after `after` that pass `filter`, in order. Errors: kOutOfRange if retention has deleted some events
  // after `after`; kDataLoss if events are damaged, lost, or not those that were stored. Readable events before a loss
  // are returned first: kDataLoss comes only when the lost events are the next ones, and Lost() then returns them.
  virtual absl::StatusOr<Batch> Read(Position after, const EventFilter& filter, const Limits& limits) = 0;

  // The events that the last kDataLoss was about. Continue reading after them.
  virtual LostEvents Lost() const = 0;

  // The digest of the event at `position`, also of the one before the earliest; zeros at position 0. Errors:
  // kOutOfRange if retention has deleted it or it is later than the latest; kDataLoss if it is damaged or lost, and
  // Lost() returns the range.
  virtual absl::StatusOr<ChainDigest> DigestAt(Position position) = 0;

  // The first event of that name that passes `filter`. Nothing if there is none, or if retention has deleted it.
  // kDataLoss if an event of that name is damaged or lost and no other one passes.
  virtual absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) = 0;

  // The position P such that the events after P are those that were committed at or after `time`.
  virtual absl::StatusOr<Position> PlaceOf(absl::Time time) = 0;
};

// Thread-safe.
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Calls `done` once. OK means that the event is durable and visible to readers, whatever the outcome. Never blocks.
  // `done` runs on the event log's thread or, if the event is refused at once, on the caller's thread before this
  // returns.
  //
  // Errors: kResourceExhausted if the queue is full or the disk is full; kUnavailable if the event log was closed or
  // has failed, or a write hangs. After an error readers do not see the event. If the disk failed, the event may appear
  // after the next start.
  virtual void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) = 0;

  // Calls `on_growth` with the latest position after every commit that stored an event, before the `done` callbacks of
  // these events. Runs on the event log's thread; must not block. Set it once, before the first Append.
  virtual void SetOnGrowth(std::function<void(Position latest)> on_growth) = 0;

  // Errors: kUnavailable.
  virtual absl::StatusOr<std::unique_ptr<EventReader>> NewReader() = 0;

  virtual const LogIdentity& identity() const = 0;

  // How long the write to the disk that is in progress has taken so far; zero if none is.
  virtual absl::Duration WriteUnderWay() const = 0;

  // Writes the queued events, and leaves the event log in a state that the next start need not repair. Later appends
  // fail. Readers may still read. May be called again. Takes as long as the disk, perhaps forever.
  virtual void Close() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_LOG_H_
