// Reads the new events of the event log that report changes of activities.
#ifndef STAMPGATE_GATEWAY_WAITING_EVENT_WATCH_H_
#define STAMPGATE_GATEWAY_WAITING_EVENT_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/loop/event_loop.h"
#include "base/threads/mutex.h"
#include "gateway/feed/source.h"

namespace stampgate {

// Thread-safe. Reads only between Begin and End, so that a gateway without waiting calls does nothing here. If events
// cannot be read, leaves them out, and reads on after a second at the log's end.
class EventWatch : public std::enable_shared_from_this<EventWatch> {
 public:
  // Receives the body of an event of type ACTIVITY_UPDATES, exactly as upstream has signed it. Runs on a thread of the
  // source, and must not block.
  using OnActivity = std::function<void(absl::string_view body)>;

  // `source` must outlive the last End. `loop` must outlive this.
  EventWatch(EventSource& source, EventLoop& loop, OnActivity on_activity);

  // Begins to read, with the first event that the log stores after this call. Does nothing if it already reads.
  void Begin();

  // Ends reading. `on_activity` can still run once.
  void End();

 private:
  void Read(uint64_t run, const LogPoint& point);
  void OnPage(uint64_t run, absl::StatusOr<EventPage> page);
  void Restart(uint64_t run);

  EventSource& source_;
  EventLoop& loop_;
  const OnActivity on_activity_;
  const std::shared_ptr<const EventFilter> filter_;

  Mutex mutex_;
  // The number of the current run, which is the id of its reader; 0 if nothing is read.
  uint64_t run_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_WAITING_EVENT_WATCH_H_
