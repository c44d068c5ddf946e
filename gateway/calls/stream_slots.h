// Limits how many streams exist at the same time, in all and for each caller, and stores how far each has been read.
#ifndef STAMPGATE_GATEWAY_CALLS_STREAM_SLOTS_H_
#define STAMPGATE_GATEWAY_CALLS_STREAM_SLOTS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/calls/caller_quota.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

class StreamSlot;

// Thread-safe. The number of streams must be limited, because a caller can read a stream as slowly as it likes.
class StreamSlots {
 public:
  // Makes `max` slots, of which one caller can take at most `max_per_caller`. `streams`, such as "subscriptions", names
  // the streams in errors. Calls `on_change` with 1 when a slot is taken, and with -1 when a slot is free again.
  // `on_change` must not block.
  StreamSlots(size_t max, size_t max_per_caller, absl::string_view streams,
              std::function<void(int change)> on_change = nullptr);

  StreamSlots(const StreamSlots&) = delete;
  StreamSlots& operator=(const StreamSlots&) = delete;

  // Takes a slot for `caller`. The slot is free again when the result is destroyed. The result must not outlive this
  // object. Errors: RESOURCE_EXHAUSTED (TOO_MANY_SUBSCRIBERS) if all slots, or all slots of the caller, are taken.
  absl::StatusOr<std::unique_ptr<StreamSlot>> Take(absl::string_view caller);

  size_t taken() const { return quota_.taken(); }

  // Returns the position of the stream that is furthest behind, or nullopt if no stream has a position.
  std::optional<Position> Furthest() const;

 private:
  friend class StreamSlot;
  using Positions = std::list<std::optional<Position>>;

  CallerQuota quota_;
  const std::function<void(int change)> on_change_;
  mutable Mutex mutex_;
  Positions positions_ ABSL_GUARDED_BY(mutex_);  // one position for each slot that is taken
};

// A slot that a stream has taken.
class StreamSlot {
 public:
  ~StreamSlot();

  StreamSlot(const StreamSlot&) = delete;
  StreamSlot& operator=(const StreamSlot&) = delete;

  // Records that the caller has received every event up to `position` that passes the stream's filter and that the
  // caller may see.
  void SetPosition(Position position);

 private:
  friend class StreamSlots;

  StreamSlot(StreamSlots& slots, CallerShare share, StreamSlots::Positions::iterator position)
      : slots_(slots), share_(std::move(share)), position_(position) {}

  StreamSlots& slots_;
  const CallerShare share_;
  const StreamSlots::Positions::iterator position_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_STREAM_SLOTS_H_
