#include "gateway/waiting/activity_waits.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace stampgate {
namespace {

// How long one reading of an activity may take.
constexpr std::chrono::seconds kReadTime(10);

}  // namespace

ActivityWaits::ActivityWaits(WaitTable::Options options, EventLoop& loop, WaitMetrics& metrics,
                             std::function<Time()> now)
    : loop_(loop), metrics_(metrics), now_(std::move(now)), table_(std::move(options)) {}

std::shared_ptr<ActivityWait> ActivityWaits::Announce() {
  Work work;
  WaitTable::WaitId id = 0;
  {
    MutexLock lock(mutex_);
    id = ++last_id_;
    announced_.emplace(id, std::nullopt);
    table_.Announce();
    Update(work);
  }
  Do(std::move(work));
  return std::make_shared<ActivityWait>(shared_from_this(), id);
}

void ActivityWaits::Watch(EventSource& source) {
  Work work;
  {
    MutexLock lock(mutex_);
    watch_ = std::make_shared<EventWatch>(source, loop_, [self = weak_from_this()](absl::string_view body) {
      if (const std::shared_ptr<ActivityWaits> waits = self.lock()) waits->OnActivity(body);
    });
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::Drain() {
  Work work;
  {
    MutexLock lock(mutex_);
    Take(table_.Drain(), work);
    if (watch_ != nullptr) watch_->End();
    watch_ = nullptr;
    watching_ = false;
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::Begin(WaitTable::WaitId id, absl::string_view caller, double weight, const ActivityName& activity,
                          bool urgent, Time deadline, ReadActivity read, OnEnd on_end) {
  Work work;
  {
    MutexLock lock(mutex_);
    const std::optional<WaitEnd> end = announced_.at(id);
    announced_.erase(id);
    std::optional<Ended> ended;
    if (end.has_value()) {
      table_.Retract();
      ended = Ended{id, *end};
    } else {
      ended = table_.Begin(id, caller, weight, activity, urgent, deadline, now_());
    }
    waiting_.emplace(id, Waiting{std::make_shared<const ReadActivity>(std::move(read)), std::move(on_end)});
    if (ended.has_value()) Take({*std::move(ended)}, work);
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::End(WaitTable::WaitId id, WaitEnd end) {
  Work work;
  {
    MutexLock lock(mutex_);
    if (const auto found = announced_.find(id); found != announced_.end()) {
      found->second = end;
      return;
    }
    if (!table_.Remove(id)) return;
    Take({{id, end}}, work);
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::Retract(WaitTable::WaitId id) {
  Work work;
  {
    MutexLock lock(mutex_);
    if (announced_.erase(id) == 0) return;
    table_.Retract();
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::OnActivity(absl::string_view body) {
  // An event that cannot be read ends no wait: a reading at upstream will.
  const absl::StatusOr<ActivityReport> report = ReadActivityEvent(body);
  if (!report.ok()) return;
  Work work;
  {
    MutexLock lock(mutex_);
    Take(table_.OnEvent(*report, now_()), work);
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::OnPolled(const ActivityName& activity, std::optional<std::string> answer) {
  absl::StatusOr<ActivityReport> report = absl::UnavailableError("no response");
  if (answer.has_value()) report = ReadActivityAnswer(*std::move(answer));
  (report.ok() ? metrics_.good_polls : metrics_.failed_polls).Increment();
  Work work;
  {
    MutexLock lock(mutex_);
    Take(table_.OnPolled(activity, report.ok() ? &*report : nullptr, now_()), work);
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::OnTimer() {
  Work work;
  {
    MutexLock lock(mutex_);
    armed_ = Time::max();
    Update(work);
  }
  Do(std::move(work));
}

void ActivityWaits::Take(std::vector<Ended> ended, Work& work) {
  for (Ended& each : ended) {
    const auto found = waiting_.find(each.wait);
    work.ends.emplace_back(std::move(found->second.on_end), std::move(each));
    waiting_.erase(found);
  }
}

void ActivityWaits::Update(Work& work) {
  const Time now = now_();
  Take(table_.EndOverdue(now), work);
  for (WaitTable::Poll& poll : table_.TakePolls(now)) {
    work.polls.emplace_back(std::move(poll.activity), waiting_.at(poll.wait).read);
  }
  if (const Time next = table_.next(); next < armed_) {
    if (armed_ != Time::max()) loop_.CancelTimer(timer_);
    armed_ = next;
    timer_ = loop_.RunAfter(absl::FromChrono(next - now), [self = weak_from_this()] {
      if (const std::shared_ptr<ActivityWaits> waits = self.lock()) waits->OnTimer();
    });
  }
  const bool watching = watch_ != nullptr && table_.needs_events();
  if (watching && !watching_) watch_->Begin();
  if (!watching && watching_) watch_->End();
  watching_ = watching;
  metrics_.waiting.Set(static_cast<double>(table_.waiting()));
}

void ActivityWaits::Do(Work work) {
  for (auto& [activity, read] : work.polls) {
    loop_.Run([self = weak_from_this(), activity = std::move(activity), read = std::move(read), now = now_] {
      (*read)(now() + kReadTime, [self, activity](std::optional<std::string> answer) {
        if (const std::shared_ptr<ActivityWaits> waits = self.lock()) waits->OnPolled(activity, std::move(answer));
      });
    });
  }
  for (auto& [on_end, ended] : work.ends) {
    metrics_.ends[ended.end].Increment();
    on_end(std::move(ended));
  }
}

}  // namespace stampgate
