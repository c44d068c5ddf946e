// The durable log of verified events: the interface. An implementation keeps every promise here, or says which call
// failed.
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

// Place of an event in the log: 1, 2, 3, ... without gaps. As a place to read on from, 0 is before the first
// event.
using Position = int64_t;

// Stands for an event and all that are before it in its log.
using ChainDigest = std::array<uint8_t, 32>;

// Everything up to `position` has been seen, and this is the digest of the event there: zeros before the first event,
// and where it is not known because that event is damaged.
struct EventPlace {
  Position position = 0;
  ChainDigest digest = {};
};

struct LoggedEvent {
  Position position = 0;
  ChainDigest digest = {};
  absl::Time commit_time;  // never less than that of the event before
  Event event;
};

// The events that can be read are those from `earliest` to `latest`; there is none if `latest` is earliest - 1.
// Retention moves `earliest`.
struct LogExtent {
  Position earliest = 1;
  Position latest = 0;
};

// What the log takes.
struct LogUsage {
  int64_t bytes = 0;                 // of its file, as retention counts them
  std::optional<absl::Time> oldest;  // when the earliest event was stored that is not damaged; nothing if there is none
};

// Events that the log does not have any more, or cannot read.
struct LostEvents {
  Position first = 0;
  Position last = 0;
  bool gone = false;  // the disk lost them before the log was last opened; else there is something, and it is damaged
};

// Made with the log, and kept with it.
struct LogIdentity {
  std::array<uint8_t, 16> id = {};          // of the rows, for ever
  std::array<uint8_t, 32> cursor_key = {};  // secret; another one makes all cursors another log's
};

// A write to the log's disk that has been under way for longer than this is taken to hang.
inline constexpr absl::Duration kWriteHangsAfter = absl::Seconds(5);

enum class AppendOutcome {
  kStored,
  kDuplicate,  // the log has, or had, an event of that id and scope (IdScopeOf) with the same body
  kConflict,   // the log has, or had, an event of that id and scope with another body: the first one stays
};

// An event as callers name it.
struct EventName {
  std::string event_id;
  // IdScopeOf the event; empty for an event without an organization. Nothing: whichever.
  std::optional<std::string> organization_id;
};

// Reads the log. One thread at a time; as many readers as there are threads. Calls block for as long as a read takes.
class EventReader {
 public:
  struct Limits {
    size_t max_events = 256;
    // Sum of the bodies; one event is read however large it is.
    size_t max_bytes = 256 << 10;
    // Events that are looked at, whether or not they pass the filter.
    size_t max_looked_at = 1000;
  };
  struct Batch {
    std::vector<LoggedEvent> events;
    // Everything up to here was looked at: read on after it. Equals `after` if the log has nothing behind that.
    Position through = 0;
    // Of the event there, if any was looked at.
    ChainDigest through_digest = {};
  };

  virtual ~EventReader() = default;

  // Errors of all calls: kUnavailable if the file cannot be read.
  virtual absl::StatusOr<LogExtent> Extent() = 0;

  virtual absl::StatusOr<LogUsage> Usage() = 0;

  // The events behind `after` that pass `filter`, in order. Errors: kOutOfRange if retention has taken some of what is
  // behind `after`; kDataLoss if events are damaged or gone, or are not those that the log was given. This error comes
  // only when nothing is read before them, and Lost() says which they are.
  virtual absl::StatusOr<Batch> Read(Position after, const EventFilter& filter, const Limits& limits) = 0;

  // What the last kDataLoss was about: read on behind it.
  virtual LostEvents Lost() const = 0;

  // Of the event at `position`, also of the one before the earliest; zeros before the first. Errors: kOutOfRange if
  // retention has taken it, or it is behind the latest; kDataLoss if it is damaged or gone, where Lost() says more.
  virtual absl::StatusOr<ChainDigest> DigestAt(Position position) = 0;

  // The first event of that name that passes `filter`. Nothing if the log has none, or not any more. kDataLoss if one
  // of that name is damaged or gone, and no other one passes.
  virtual absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) = 0;

  // The place behind which lies everything that was committed at or after `time`, and nothing before it.
  virtual absl::StatusOr<Position> PlaceOf(absl::Time time) = 0;
};

// Thread-safe.
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Calls `done` once, from the log's own thread: with OK when the event is durable and readers see it, whichever
  // outcome it was. An event that is refused at once gets its outcome on the caller's thread, before this returns.
  // Never blocks. Errors: kResourceExhausted if too much waits to be written, or the disk is full; kUnavailable if the
  // log was closed or has failed, or if a write hangs. After an error readers do not see the event; only if the disk
  // failed may it turn up at the next start.
  virtual void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) = 0;

  // Calls `on_growth` with the latest position after every commit that stored something, before those whose events
  // these are hear of it. On the log's thread; it must not block. Set it once, before the first Append.
  virtual void SetOnGrowth(std::function<void(Position latest)> on_growth) = 0;

  // Errors: kUnavailable.
  virtual absl::StatusOr<std::unique_ptr<EventReader>> NewReader() = 0;

  virtual const LogIdentity& identity() const = 0;

  // For how long the write to the disk that is under way now has been so; zero if none is.
  virtual absl::Duration WriteUnderWay() const = 0;

  // Writes what waits, and leaves the log so that the next start need not repair it. Later appends fail. Readers may
  // still read. May be called again. Takes as long as the disk does, which may be for ever.
  virtual void Close() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_EVENT_LOG_H_
