// Reads the event log for all callers, on threads of its own, and wakes waiting callers when the log grows.
#ifndef STAMPGATE_GATEWAY_EVENTS_FEED_H_
#define STAMPGATE_GATEWAY_EVENTS_FEED_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "gateway/events/encoder.h"
#include "gateway/events/source.h"
#include "gateway/events/tail.h"
#include "gateway/metrics/metrics.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe; no call blocks but Start, Close and the destructor. Callbacks of Next and Run are called on a reader's
// thread; those of requests that the feed does not serve any more, on the thread that destroys the feed.
//
// The feed holds a subscriber only while the subscriber waits for a page, and then it is a position: so a slow
// subscriber costs nothing and delays nobody. Subscribers that are near the log's end share what was read and encoded
// once.
class EventFeed : public EventSource {
 public:
  // With more than one thread, the first serves only requests near the log's end and those of Run, so that they do not
  // wait for readers that search a long log. `log` and `encoder` must outlive the feed. `metrics`, if it is not null,
  // must outlive the log, which reports its growth to the feed and to them. Errors: those of EventLog::NewReader.
  static absl::StatusOr<std::unique_ptr<EventFeed>> Start(EventLog& log, const EventEncoder& encoder, int threads,
                                                          Metrics* metrics = nullptr);

  // Closes, and then ends every request that was not served with kAborted.
  ~EventFeed() override;

  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  ReaderId NewReaderId() override { return next_id_.fetch_add(1); }
  void Next(ReaderId id, Request request, OnPage on_page) override;
  void Cancel(ReaderId id) override;
  void Run(OnReader on_reader) override;
  Position latest() const override;

  // Requests with patience end with kAborted, now and later.
  void Drain();

  // Stops reading and destroys the log's readers. Blocks until the reads in progress have ended. The log may
  // still grow.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    ReaderId id = 0;
    Request request;
    OnPage on_page;
    Clock::time_point until;  // of a request
    OnReader on_reader;       // of Run, in place of the above
  };

  EventFeed(const EventEncoder& encoder, const LogIdentity& log);

  void Add(Job job);
  // The loop of one thread. With `quick_only`, it leaves the jobs that are not quick to the other threads.
  void Work(EventReader& reader, bool quick_only);
  // Whether a job reads little: near the log's end, or in Run. With the lock.
  bool IsQuick(const Job& job) const;
  void Serve(Job job, EventReader& reader);
  absl::StatusOr<EventPage> ReadPage(const Request& request, EventReader& reader);
  void Grow(Position latest);
  // Moves the jobs whose patience has passed back into the queue. With the lock.
  void QueueExpired(Clock::time_point now);

  const EventEncoder& encoder_;
  const LogIdentity& log_;
  EventTail tail_;
  std::atomic<ReaderId> next_id_ = 1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job> queue_;
  std::list<Job> waiting_;
  std::vector<ReaderId> serving_;  // readers whose page is being read, without those that were cancelled
  Clock::time_point next_expiry_ = Clock::time_point::max();  // every waiting job has patience at least until then
  Position latest_ = 0;
  bool draining_ = false;
  bool stopping_ = false;

  std::vector<std::unique_ptr<EventReader>> readers_;
  std::vector<std::thread> threads_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_FEED_H_
