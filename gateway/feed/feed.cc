#include "gateway/feed/feed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "base/threads/start_thread.h"
#include "gateway/feed/error.h"

namespace stampgate {
namespace {

// The size of the tail. All subscribers near the log's end read from it.
constexpr size_t kTailBytes = 16 << 20;

// If a read begins at most this many events before the log's end, it stores its events in the tail for all subscribers.
constexpr Position kNear = 1000;

const EventFilter kEverything;

}  // namespace

EventFeed::EventFeed(const EventEncoder& encoder, const LogIdentity& log)
    : encoder_(encoder), log_(log), tail_(std::make_shared<EventTail>(kTailBytes)) {}

absl::StatusOr<std::unique_ptr<EventFeed>> EventFeed::Start(EventLog& log, const EventEncoder& encoder, int threads,
                                                            FeedMetrics& metrics) {
  std::unique_ptr<EventFeed> feed(new EventFeed(encoder, log.identity()));
  for (int i = 0; i < threads; ++i) {
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<EventReader> reader, log.NewReader());
    feed->readers_.push_back(std::move(reader));
  }
  ABSL_ASSIGN_OR_RETURN(const LogExtent extent, feed->readers_.front()->Extent());
  {
    const MutexLock lock(feed->mutex_);
    feed->latest_ = extent.latest;
  }
  metrics.latest_position.Set(static_cast<double>(extent.latest));
  log.SetOnGrowth([feed = feed.get(), &metrics](Position latest) {
    feed->Grow(latest);
    metrics.latest_position.Set(static_cast<double>(latest));
  });
  for (const auto& reader : feed->readers_) {
    const bool quick_only = threads > 1 && feed->threads_.empty();
    feed->threads_.push_back(StartThread(
        "event-feed", [feed = feed.get(), reader = reader.get(), quick_only] { feed->Work(*reader, quick_only); }));
  }
  return feed;
}

EventFeed::~EventFeed() {
  Close();
  queue_.splice(queue_.end(), waiting_);
  for (Job& job : queue_) {
    const absl::Status ended = absl::AbortedError("the event feed has ended");
    if (job.on_page) {
      job.on_page(ended);
    } else {
      job.on_reader(ended);
    }
  }
}

void EventFeed::Close() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.WakeAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  readers_.clear();
}

void EventFeed::Next(ReaderId id, Request request, OnPage on_page) {
  Job job;
  job.id = id;
  job.until = Clock::now() + absl::ToChronoNanoseconds(request.patience);
  job.request = std::move(request);
  job.on_page = std::move(on_page);
  Add(std::move(job));
}

void EventFeed::Run(OnReader on_reader) {
  Job job;
  job.on_reader = std::move(on_reader);
  Add(std::move(job));
}

void EventFeed::Add(Job job) {
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(job));
  }
  changed_.WakeAll();  // wakes all threads, because the first thread does not serve every job
}

void EventFeed::Cancel(ReaderId id) {
  const auto has_id = [id](const Job& job) { return job.on_page && job.id == id; };
  OnPage on_page;
  {
    MutexLock lock(mutex_);
    for (std::list<Job>* jobs : {&waiting_, &queue_}) {
      const auto job = std::find_if(jobs->begin(), jobs->end(), has_id);
      if (job == jobs->end()) continue;
      on_page = std::move(job->on_page);
      jobs->erase(job);
      break;
    }
    // If no list contains the reader's job, a thread can be reading the page. Serve then discards the page, and ends
    // the job.
    if (!on_page) std::erase(serving_, id);
  }
  if (on_page) on_page(absl::CancelledError("the caller has left"));
}

Position EventFeed::latest() const {
  MutexLock lock(mutex_);
  return latest_;
}

void EventFeed::Drain() {
  {
    MutexLock lock(mutex_);
    draining_ = true;
    queue_.splice(queue_.end(), waiting_);
  }
  changed_.WakeAll();
}

void EventFeed::Grow(Position latest) {
  {
    MutexLock lock(mutex_);
    // The log has lost events, which the tail still has.
    if (latest < latest_) tail_ = std::make_shared<EventTail>(kTailBytes);
    latest_ = latest;
    queue_.splice(queue_.end(), waiting_);
  }
  changed_.WakeAll();
}

void EventFeed::QueueExpired(Clock::time_point now) {
  if (now < next_expiry_) return;
  next_expiry_ = Clock::time_point::max();
  for (auto job = waiting_.begin(); job != waiting_.end();) {
    const auto current = job++;
    if (current->until <= now) {
      queue_.splice(queue_.end(), waiting_, current);
    } else {
      next_expiry_ = std::min(next_expiry_, current->until);
    }
  }
}

bool EventFeed::IsQuick(const Job& job) const { return job.on_reader || latest_ - job.request.after.position <= kNear; }

void EventFeed::Work(EventReader& reader, bool quick_only) {
  MutexLock lock(mutex_);
  while (!stopping_) {
    QueueExpired(Clock::now());
    const auto next =
        quick_only ? std::find_if(queue_.begin(), queue_.end(),
                                  [this](const Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return IsQuick(job); })
                   : queue_.begin();
    if (next == queue_.end()) {
      if (waiting_.empty()) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitUntil(mutex_, next_expiry_);
      }
      continue;
    }
    Job job = std::move(*next);
    queue_.erase(next);
    if (job.on_page) serving_.push_back(job.id);
    lock.Unlock();
    Serve(std::move(job), reader);
    lock.Relock();
  }
}

void EventFeed::Serve(Job job, EventReader& reader) {
  if (job.on_reader) return job.on_reader(&reader);
  absl::StatusOr<EventPage> page = ReadPage(job.request, reader);
  {
    MutexLock lock(mutex_);
    const bool patient = job.request.patience > absl::ZeroDuration();
    if (std::erase(serving_, job.id) == 0) {  // the reader was cancelled during the read
      page = absl::CancelledError("the caller has left");
    } else if (patient && draining_) {
      page = absl::AbortedError("the event feed drains");
    } else if (patient && page.ok() && page->through.position == job.request.after.position) {
      if (latest_ > job.request.after.position) {  // the log has grown since the read
        queue_.push_back(std::move(job));
        return;
      }
      if (Clock::now() < job.until) {
        next_expiry_ = std::min(next_expiry_, job.until);
        waiting_.push_back(std::move(job));
        return;
      }
    }
  }
  job.on_page(std::move(page));
}

absl::StatusOr<EventPage> EventFeed::ReadPage(const Request& request, EventReader& reader) {
  const Position after = request.after.position;
  EventPage page;
  page.through = request.after;
  std::shared_ptr<EventTail> tail;
  Position latest = 0;
  {
    MutexLock lock(mutex_);
    tail = tail_;
    latest = latest_;
  }
  if (tail->Read(request.after, *request.filter, request.limits, page)) return page;
  // The request begins at a point that was in the log. If the point is after the log's end, the log has grown without a
  // report yet, or was restored to an earlier state.
  if (after == latest) return page;
  const bool near = latest - after <= kNear;
  EventReader::Limits limits;
  limits.max_events = request.limits.max_events;
  limits.max_bytes = request.limits.max_bytes;
  absl::StatusOr<EventReader::Batch> batch = reader.Read(request.after, near ? kEverything : *request.filter, limits);
  if (!batch.ok()) return ToCallerError(batch.status(), reader, log_);
  std::vector<std::shared_ptr<const EncodedEvent>> events;
  for (LoggedEvent& event : batch->events) {
    events.push_back(std::make_shared<const EncodedEvent>(encoder_.Encode(std::move(event))));
  }
  // If the log loses events meanwhile, nobody uses this tail any more.
  if (near) tail->Add(request.after, events, latest);
  size_t bytes = 0;
  for (const auto& event : events) {
    if (!AddToPage(event, *request.filter, request.limits, bytes, page)) return page;
  }
  if (batch->through > after) page.through = {batch->through, batch->through_digest};
  return page;
}

}  // namespace stampgate
