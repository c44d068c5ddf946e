// Reads the event log for all callers, on threads of its own, and wakes those who wait for it to grow.
#ifndef STAMPGATE_GATEWAY_EVENTS_FEED_H_
#define STAMPGATE_GATEWAY_EVENTS_FEED_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/events/encoder.h"
#include "gateway/events/subscriber_places.h"
#include "gateway/events/tail.h"
#include "gateway/metrics/metrics.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe; no call blocks. Callbacks run on a reader's thread and must not block.
//
// A subscriber is here only while it waits: what it has is a position, so a slow one costs nothing and is never behind
// anything but itself. Those that are near the log's end share what was read and encoded once.
class EventFeed {
 public:
  // One reader; it has one Next at a time.
  using ReaderId = uint64_t;
  using OnPage = absl::AnyInvocable<void(absl::StatusOr<EventPage>)>;

  struct Request {
    EventPlace after;
    std::shared_ptr<const EventFilter> filter;
    PageLimits limits;
    // How long to wait if there is nothing behind `after`. Zero: not at all.
    absl::Duration patience;
  };

  // Of more than one thread, the first serves only those who are near the log's end or ask for single events, so that
  // they do not wait for those who search a long log. `log` and `encoder` outlive the feed, and `metrics`, if it is not
  // null, the log, which reports its growth to both. Errors: those of EventLog::NewReader.
  static absl::StatusOr<std::unique_ptr<EventFeed>> Start(EventLog& log, const EventEncoder& encoder, int threads,
                                                          Metrics* metrics = nullptr);

  // Closes. Waiting readers get kAborted.
  ~EventFeed();

  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  // Gives the next page: of what is there, else of what comes, else an empty one when patience has ended. A page may be
  // empty before the log's end, if a stretch of the log had nothing for this filter; its `through` has then moved.
  // Errors: what ToCallerError makes of the reader's; kCancelled after Cancel; kAborted for patient requests after
  // Drain, and for all when the feed ends.
  void Next(ReaderId id, Request request, OnPage on_page);

  // Ends what was asked for `id`, if it was not given yet: at once, or when the read that is under way has ended.
  void Cancel(ReaderId id);

  // Runs `task` with a reader. Not if the feed ends first; `task` is then destroyed uncalled.
  void Run(absl::AnyInvocable<void(EventReader&)> task);

  // The newest position that readers see.
  Position latest() const;

  // Where the subscribers are, as they say themselves.
  SubscriberPlaces& places() { return places_; }

  // No patient request waits any more, now or later.
  void Drain();

  // Reads no more and gives the log its readers back; blocks until both have happened. The log may still grow.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    ReaderId id = 0;
    Request request;
    OnPage on_page;
    Clock::time_point until;                      // of a request
    absl::AnyInvocable<void(EventReader&)> task;  // or this
  };

  EventFeed(const EventEncoder& encoder, const LogIdentity& log);

  // With `quick_only`, leaves the jobs that are not quick to the other threads.
  void Work(EventReader& reader, bool quick_only);
  // Whether a job reads little: near the log's end, or single events. With the lock.
  bool IsQuick(const Job& job) const;
  void Serve(Job job, EventReader& reader);
  absl::StatusOr<EventPage> ReadPage(const Request& request, EventReader& reader);
  void Grow(Position latest);
  // Puts those whose patience has ended back into the queue. With the lock.
  void QueueExpired(Clock::time_point now);

  const EventEncoder& encoder_;
  const LogIdentity& log_;
  EventTail tail_;
  SubscriberPlaces places_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> queue_;
  std::list<Job> waiting_;
  std::vector<ReaderId> serving_;                             // those that are being read for and were not cancelled
  Clock::time_point next_expiry_ = Clock::time_point::max();  // no waiting job's patience ends before
  Position latest_ = 0;
  bool draining_ = false;
  bool stopping_ = false;

  std::vector<std::unique_ptr<EventReader>> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_FEED_H_
