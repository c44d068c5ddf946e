// Reads the event log for all callers on its own threads, and wakes waiting callers when the log grows.
#ifndef STAMPGATE_GATEWAY_FEED_FEED_H_
#define STAMPGATE_GATEWAY_FEED_FEED_H_

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/threads/mutex.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/feed/source.h"
#include "gateway/feed/tail.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe. Only Start, Close and the destructor block. The feed calls the callbacks of Next and Run on one of its
// threads. If the feed ends before it serves a request, it calls the request's callback on the thread that destroys the
// feed.
//
// The feed stores a subscriber's request only while the subscriber waits for a page. So a slow subscriber uses no
// memory of the feed, and delays no other subscriber. Subscribers near the log's end share events that were read and
// encoded once.
class EventFeed : public EventSource {
 public:
  // Starts a feed. If `threads` is more than one, the first thread serves only Run and requests near the log's end. So
  // Run and these requests do not wait for requests that search a long log. `log` and `encoder` must outlive the feed.
  // `metrics` must outlive the log, because it shows the log's growth. Errors: those of EventLog::NewReader.
  static absl::StatusOr<std::unique_ptr<EventFeed>> Start(EventLog& log, const EventEncoder& encoder, int threads,
                                                          FeedMetrics& metrics);

  // Closes the feed. Then ends every request that it has not served with kAborted.
  ~EventFeed() override;

  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  ReaderId NewReaderId() override { return next_id_.fetch_add(1); }
  void Next(ReaderId id, Request request, OnPage on_page) override;
  void Cancel(ReaderId id) override;
  void Run(OnReader on_reader) override;
  Position latest() const override;

  // From now on, every request with patience ends with kAborted, even if it already waits.
  void Drain();

  // Stops reading and destroys the log's readers. Blocks until the reads in progress have ended. The log can still grow
  // after Close.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    ReaderId id = 0;
    Request request;
    OnPage on_page;
    Clock::time_point until;  // when the request's patience ends
    OnReader on_reader;       // set only for Run, which does not use the members above
  };

  EventFeed(const EventEncoder& encoder, const LogIdentity& log);

  void Add(Job job);
  // The loop of one thread. If `quick_only` is true, the thread leaves the jobs that are not quick to the other
  // threads.
  void Work(EventReader& reader, bool quick_only);
  // Whether a job reads few events, because it is a Run or because its request is near the log's end.
  bool IsQuick(const Job& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Serve(Job job, EventReader& reader);
  absl::StatusOr<EventPage> ReadPage(const Request& request, EventReader& reader);
  void Grow(Position latest);
  // Moves the waiting jobs whose patience has ended back into the queue.
  void QueueExpired(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EventEncoder& encoder_;
  const LogIdentity& log_;
  std::atomic<ReaderId> next_id_ = 1;

  mutable Mutex mutex_;
  Condition changed_;
  std::list<Job> queue_ ABSL_GUARDED_BY(mutex_);
  std::list<Job> waiting_ ABSL_GUARDED_BY(mutex_);
  // The readers whose page is being read, except those that were cancelled.
  std::vector<ReaderId> serving_ ABSL_GUARDED_BY(mutex_);
  // No waiting job's patience ends before this time.
  Clock::time_point next_expiry_ ABSL_GUARDED_BY(mutex_) = Clock::time_point::max();
  Position latest_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<EventTail> tail_ ABSL_GUARDED_BY(mutex_);  // replaced when the log loses events
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<EventReader>> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_FEED_H_
