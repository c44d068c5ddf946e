#include "gateway/feed/fake_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {

class FakeEventLog::Reader : public EventReader {
 public:
  explicit Reader(FakeEventLog& log) : log_(log) {}

  absl::StatusOr<LogExtent> Extent() override {
    MutexLock lock(log_.mutex_);
    if (log_.fails_) return absl::UnavailableError("the file cannot be read");
    return log_.extent_;
  }

  absl::StatusOr<LogUsage> Usage() override {
    MutexLock lock(log_.mutex_);
    const LogExtent& extent = log_.extent_;
    return LogUsage{1000 * (extent.latest - extent.earliest + 1), absl::FromUnixSeconds(extent.earliest)};
  }

  absl::StatusOr<Batch> Read(const LogPoint& point, const EventFilter& filter, const Limits& limits) override {
    const Position after = point.position;
    CallOnRead();
    MutexLock lock(log_.mutex_);
    ++log_.reads_;
    if (log_.fails_) return absl::UnavailableError("the file cannot be read");
    if (after < log_.extent_.earliest - 1) return absl::OutOfRangeError("trimmed");
    Batch batch;
    batch.through = after;
    for (size_t seen = 0; batch.through < log_.extent_.latest && seen < limits.max_looked_at; ++seen) {
      const Position position = batch.through + 1;
      if (log_.IsLost(position)) {
        if (batch.through == after) return absl::DataLossError("lost");
        break;
      }
      LoggedEvent logged = log_.At(position);
      if (Passes(logged.event, filter)) {
        if (batch.events.size() == limits.max_events) break;
        batch.events.push_back(std::move(logged));
      }
      batch.through = position;
      batch.through_digest = DigestOf(position);
    }
    return batch;
  }

  LostEvents Lost() const override {
    MutexLock lock(log_.mutex_);
    return log_.lost_;
  }

  absl::StatusOr<ChainDigest> DigestAt(Position position) override {
    MutexLock lock(log_.mutex_);
    if (log_.fails_) return absl::UnavailableError("the file cannot be read");
    if (log_.IsLost(position)) return absl::DataLossError("lost");
    return DigestOf(position);
  }

  absl::StatusOr<std::optional<LoggedEvent>> Find(const EventName& name, const EventFilter& filter) override {
    CallOnRead();
    MutexLock lock(log_.mutex_);
    if (log_.fails_) return absl::UnavailableError("the file cannot be read");
    bool lost = false;
    for (Position position = log_.extent_.earliest; position <= log_.extent_.latest; ++position) {
      LoggedEvent logged = log_.At(position);
      const bool named = logged.event.event_id == name.event_id &&
                         (!name.organization_id.has_value() || *name.organization_id == IdScopeOf(logged.event));
      if (named && log_.IsLost(position)) lost = true;
      if (named && !log_.IsLost(position) && Passes(logged.event, filter)) return logged;
    }
    if (lost) return absl::DataLossError("lost");
    return std::nullopt;
  }

  absl::StatusOr<Position> PositionBefore(absl::Time time) override {
    MutexLock lock(log_.mutex_);
    if (log_.fails_) return absl::UnavailableError("the file cannot be read");
    const Position before = absl::ToUnixSeconds(time - absl::Nanoseconds(1));
    return std::clamp(before, log_.extent_.earliest - 1, log_.extent_.latest);
  }

 private:
  static bool Passes(const Event& event, const EventFilter& filter) {
    return filter.Matches(event.organization_id, event.parent_organization_id, event.type);
  }

  void CallOnRead() {
    std::function<void()> on_read;
    {
      MutexLock lock(log_.mutex_);
      on_read.swap(log_.on_read_);
    }
    if (on_read) on_read();
  }

  FakeEventLog& log_;
};

ChainDigest FakeEventLog::DigestOf(Position position) {
  ChainDigest digest = {};
  digest[0] = static_cast<uint8_t>(position);
  return digest;
}

void FakeEventLog::Grow(Position latest) {
  {
    MutexLock lock(mutex_);
    extent_.latest = latest;
  }
  on_growth_(latest);
}

void FakeEventLog::Trim(Position earliest) {
  MutexLock lock(mutex_);
  extent_.earliest = earliest;
}

void FakeEventLog::Damage(Position position) {
  MutexLock lock(mutex_);
  lost_ = {.first = position, .last = position, .gone = false};
}

void FakeEventLog::Lose(Position first, Position last) {
  MutexLock lock(mutex_);
  lost_ = {.first = first, .last = last, .gone = true};
}

void FakeEventLog::Fail() {
  MutexLock lock(mutex_);
  fails_ = true;
}

void FakeEventLog::Put(Position position, Event event) {
  MutexLock lock(mutex_);
  events_[position] = std::move(event);
}

void FakeEventLog::OnRead(std::function<void()> on_read) {
  MutexLock lock(mutex_);
  on_read_ = std::move(on_read);
}

int FakeEventLog::reads() const {
  MutexLock lock(mutex_);
  return reads_;
}

void FakeEventLog::Append(VerifiedEvent, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) {
  done(absl::UnimplementedError("tests must call Grow"));
}

absl::StatusOr<std::unique_ptr<EventReader>> FakeEventLog::NewReader() { return std::make_unique<Reader>(*this); }

LoggedEvent FakeEventLog::At(Position position) const {
  LoggedEvent logged;
  logged.position = position;
  logged.digest = DigestOf(position);
  logged.commit_time = absl::FromUnixSeconds(position);
  if (const auto put = events_.find(position); put != events_.end()) {
    logged.event = put->second;
    return logged;
  }
  logged.event.event_id = absl::StrCat("event-", position);
  logged.event.type = position % 2 == 0 ? "even" : "odd";
  logged.event.organization_id = logged.event.type;
  logged.event.body = "{}";
  return logged;
}

}  // namespace stampgate
