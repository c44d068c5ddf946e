#include "gateway/waiting/event_watch.h"

#include <utility>

#include "absl/time/time.h"

namespace stampgate {
namespace {

constexpr char kActivityUpdates[] = "ACTIVITY_UPDATES";

// How long one read waits for new events.
constexpr absl::Duration kPatience = absl::Seconds(30);

constexpr absl::Duration kPauseAfterError = absl::Seconds(1);

std::shared_ptr<const EventFilter> ActivityUpdates() {
  auto filter = std::make_shared<EventFilter>();
  filter->types.insert(kActivityUpdates);
  return filter;
}

}  // namespace

EventWatch::EventWatch(EventSource& source, EventLoop& loop, OnActivity on_activity)
    : source_(source), loop_(loop), on_activity_(std::move(on_activity)), filter_(ActivityUpdates()) {}

void EventWatch::Begin() {
  uint64_t run = 0;
  {
    MutexLock lock(mutex_);
    if (run_ != 0) return;
    run = run_ = source_.NewReaderId();
  }
  Read(run, {source_.latest()});
}

void EventWatch::End() {
  uint64_t run = 0;
  {
    MutexLock lock(mutex_);
    run = std::exchange(run_, 0);
  }
  if (run != 0) source_.Cancel(run);
}

void EventWatch::Read(uint64_t run, const LogPoint& point) {
  EventSource::Request request;
  request.after = point;
  request.filter = filter_;
  request.patience = kPatience;
  source_.Next(run, std::move(request), [self = shared_from_this(), run](absl::StatusOr<EventPage> page) {
    self->OnPage(run, std::move(page));
  });
  // If End ran before Next, it had no Next to cancel.
  {
    MutexLock lock(mutex_);
    if (run_ == run) return;
  }
  source_.Cancel(run);
}

void EventWatch::OnPage(uint64_t run, absl::StatusOr<EventPage> page) {
  {
    MutexLock lock(mutex_);
    if (run_ != run) return;
    if (absl::IsAborted(page.status())) run_ = 0;  // the source ends
  }
  if (absl::IsAborted(page.status())) return;
  if (!page.ok()) {
    loop_.RunAfter(kPauseAfterError, [self = shared_from_this(), run] { self->Restart(run); });
    return;
  }
  for (const auto& event : page->events) {
    // A body that was too large for the encoded event is omitted.
    if (event->body_size > 0) on_activity_(event->body());
  }
  Read(run, page->through);
}

void EventWatch::Restart(uint64_t run) {
  {
    MutexLock lock(mutex_);
    if (run_ != run) return;
  }
  Read(run, {source_.latest()});
}

}  // namespace stampgate
