// Tests the event log after power cuts. The log must have every acknowledged event, whatever happened to unsynced
// writes.
#include "base/disk/power_cut.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/disk/test_disk.h"
#include "base/threads/mutex.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

constexpr char kPath[] = "/events";
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
constexpr absl::Duration kRetentionAge = absl::Seconds(25);

std::string IdOf(Position position) { return absl::StrCat("event-", position); }

std::string BodyOf(Position position) {
  std::mt19937_64 random(static_cast<uint64_t>(position));
  const size_t size = random() % 20 == 0 ? 20'000 : random() % 1500;
  std::string text(size, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
  return absl::StrCat(R"({"organizationId":"org","text":")", text, R"("})");
}

SqliteEventLogOptions OptionsFor(TestDisk& disk, std::function<absl::Time()> now) {
  SqliteEventLogOptions options;
  options.path = kPath;
  options.disk = &disk;
  options.retention_age = kRetentionAge;
  options.deduplication_age = 2 * kRetentionAge;
  options.retention_interval = absl::Hours(1);
  options.checkpoint_pages = 50;
  options.now = std::move(now);
  return options;
}

// The last acknowledged position and the current time, at one step of the disk's history.
struct Promise {
  size_t step;      // index in the disk's history
  Position latest;  // the last acknowledged position
  absl::Time now;
};

// Runs an event log on a disk. Every run is identical: the callback of the last acknowledgement of a batch appends the
// next batch, on the event log's own thread. Therefore one transaction stores a whole batch.
class Workload {
 public:
  Workload(TestDisk& disk, bool synchronous_full) : disk_(disk) {
    promises_.push_back({0, 0, kStart});
    options_ = OptionsFor(disk, [this] { return now_; });
    options_.safeguards.synchronous_full = synchronous_full;
    options_.safeguards.high_water_mark = synchronous_full;
  }

  void Run(int sessions, int batches) {
    for (int session = 0; session < sessions; ++session) {
      absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
      ASSERT_TRUE(log.ok()) << log.status();
      log_ = log->get();
      MutexLock lock(mutex_);
      batches_left_ = batches;
      Issue(1);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (batches_left_ != 0 && !ended_.WaitUntil(mutex_, deadline)) {
      }
      ASSERT_EQ(batches_left_, 0);
      lock.Unlock();
      (*log)->Close();
    }
  }

  const std::vector<Promise>& promises() const { return promises_; }

  // Returns the commit time that the event at this position has in the run without a power cut.
  absl::Time TimeOf(Position position) const {
    const auto at = static_cast<size_t>(position);
    return at < times_.size() ? times_[at] : absl::InfiniteFuture();
  }

 private:
  void Issue(int count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int i = 1; i <= count; ++i) {
      times_.push_back(now_);
      const auto position = static_cast<Position>(times_.size() - 1);
      // Appends some events twice.
      if (random_() % 8 == 0) log_->Append(MakeVerifiedEvent(IdOf(position), BodyOf(position)), [](const auto&) {});
      log_->Append(MakeVerifiedEvent(IdOf(position), BodyOf(position)),
                   [this, position, last = i == count](const absl::StatusOr<AppendOutcome>& outcome) {
                     ASSERT_TRUE(outcome.ok()) << outcome.status();
                     const MutexLock lock(mutex_);
                     promises_.push_back({disk_.steps(), position, now_});
                     if (last) EndBatch();
                   });
    }
  }

  void EndBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    now_ += absl::Seconds(1);
    if (--batches_left_ > 0) {
      Issue(static_cast<int>(1 + random_() % 6));
    } else {
      ended_.WakeOne();
    }
  }

  TestDisk& disk_;
  SqliteEventLogOptions options_;
  EventLog* log_ = nullptr;
  std::mt19937_64 random_{20260401};
  Mutex mutex_;
  Condition ended_;
  int batches_left_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time now_ = kStart;  // changed only on the event log's thread
  std::vector<absl::Time> times_ = {absl::InfinitePast()};
  std::vector<Promise> promises_;
};

// Opens an event log after a power cut, checks it and appends an event. Returns a text about the first problem, or an
// empty text.
class Inspector {
 public:
  explicit Inspector(const Workload& workload) : workload_(workload) {}

  // If `again` is not null, simulates a second power cut while the log is used after the first power cut.
  std::string ProblemWith(const DiskImage& image, Position acknowledged, absl::Time now, std::mt19937_64* again) {
    TestDisk disk(image);
    size_t step = 0;
    Position promised = acknowledged;
    std::string problem = GoOn(disk, now, &promised, &step);
    if (!problem.empty() || again == nullptr) return problem;
    PowerCut cut(image, disk.history());
    const size_t at = (*again)() % (disk.steps() + 1);
    cut.MoveTo(at);
    problem = ProblemWith(cut.Cut(*again), at < step ? acknowledged : promised, now, nullptr);
    return problem.empty() ? "" : absl::StrCat("after the second power cut, at step ", at, ": ", problem);
  }

  // Returns how many problems were lost events.
  int losses() const { return losses_; }

 private:
  // `promised` is the last acknowledged position. After the log has acknowledged another event, sets `promised` to the
  // new event's position, and `step` to the number of the disk's steps so far.
  std::string GoOn(TestDisk& disk, absl::Time now, Position* promised, size_t* step) {
    std::string lost;
    SqliteEventLogOptions options = OptionsFor(disk, [now] { return now; });
    options.on_loss = [&lost](const LostEvents& range) {
      lost = absl::StrCat("the log reports the loss of ", range.first, " to ", range.last);
    };
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options);
    if (!lost.empty()) return lost;
    if (!log.ok()) return absl::StrCat("the log does not open: ", log.status().ToString());
    TrimNow(**log);
    absl::StatusOr<std::unique_ptr<EventReader>> reader = (*log)->NewReader();
    if (!reader.ok()) return absl::StrCat("no reader: ", reader.status().ToString());
    absl::StatusOr<LogExtent> extent = (*reader)->Extent();
    if (!extent.ok()) return absl::StrCat("no extent: ", extent.status().ToString());
    if (extent->latest < *promised) {
      ++losses_;
      return absl::StrCat("lost ", extent->latest + 1, " to ", *promised);
    }
    if (const std::string problem = ProblemWithEvents(**reader, *extent, now); !problem.empty()) return problem;

    const Position next = extent->latest + 1;
    if (extent->latest >= extent->earliest) {
      auto repeated = AppendAndWait(**log, MakeVerifiedEvent(IdOf(extent->latest), BodyOf(extent->latest)));
      if (!repeated.ok() || *repeated != AppendOutcome::kDuplicate)
        return "the log does not recognize its latest event";
    }
    auto stored = AppendAndWait(**log, MakeVerifiedEvent(IdOf(next), BodyOf(next)));
    if (!stored.ok()) return absl::StrCat("the log accepts no more events: ", stored.status().ToString());
    if (*stored != AppendOutcome::kStored) return "the log recognizes an event that it does not have";
    *promised = next;
    *step = disk.steps();
    absl::StatusOr<std::vector<LoggedEvent>> added = ReadAllAfter(**reader, extent->latest);
    if (!added.ok()) return absl::StrCat("the new event cannot be read: ", added.status().ToString());
    if (added->size() != 1 || !IsRight(added->front(), next)) return "the log returns another event than the new one";
    return "";
  }

  std::string ProblemWithEvents(EventReader& reader, LogExtent extent, absl::Time now) const {
    Position oldest = 1;
    while (oldest <= extent.latest && workload_.TimeOf(oldest) < now - kRetentionAge) ++oldest;
    if (extent.earliest != oldest) return absl::StrCat("the log begins at ", extent.earliest, " instead of ", oldest);
    absl::StatusOr<std::vector<LoggedEvent>> events = ReadAll(reader);
    if (!events.ok()) return absl::StrCat("the log cannot be read: ", events.status().ToString());
    Position expected = extent.earliest;
    absl::Time before = absl::InfinitePast();
    for (const LoggedEvent& event : *events) {
      if (!IsRight(event, expected)) return absl::StrCat("the log has another event at ", expected);
      if (event.commit_time < before) return absl::StrCat("the commit time decreases at ", expected);
      before = event.commit_time;
      ++expected;
    }
    return expected == extent.latest + 1 ? "" : absl::StrCat("the log ends before ", expected);
  }

  static bool IsRight(const LoggedEvent& event, Position position) {
    return event.position == position && event.event.event_id == IdOf(position) && event.event.body == BodyOf(position);
  }

  const Workload& workload_;
  int losses_ = 0;
};

struct Result {
  int cuts = 0;
  int checkpoints = 0;
  int losses = 0;
  std::vector<std::string> problems;
};

// Runs the workload once, and simulates a power cut at every `stride`th step.
Result CutEverywhere(bool synchronous_full, size_t stride) {
  TestDisk disk;
  Workload workload(disk, synchronous_full);
  workload.Run(/*sessions=*/3, /*batches=*/35);
  Inspector inspector(workload);
  PowerCut cut({}, disk.history());
  std::mt19937_64 random(7);
  Result result;
  for (const DiskChange& change : disk.history()) {
    if (change.kind == DiskChange::Kind::kSync && change.file == kPath) ++result.checkpoints;
  }
  size_t next_promise = 0;
  Promise kept{0, 0, kStart};
  for (size_t step = 0; step <= disk.history().size(); step += stride) {
    const std::vector<Promise>& promises = workload.promises();
    while (next_promise < promises.size() && promises[next_promise].step <= step) kept = promises[next_promise++];
    cut.MoveTo(step);
    // The workload might already have begun the next batch, whose time is one second later.
    const absl::Time now = kept.now + absl::Seconds(1);
    const std::string problem =
        inspector.ProblemWith(cut.Cut(random), kept.latest, now, ++result.cuts % 4 == 0 ? &random : nullptr);
    if (!problem.empty()) result.problems.push_back(absl::StrCat("cut at ", step, ": ", problem));
  }
  result.losses = inspector.losses();
  return result;
}

#ifdef STAMPGATE_SANITIZED
constexpr int kStride = 10;
constexpr int kControlStride = 20;
#else
constexpr int kStride = 2;
constexpr int kControlStride = 7;
#endif

TEST(PowerCutTest, LosesNoAcknowledgedEvent) {
  const Result result = CutEverywhere(/*synchronous_full=*/true, kStride);
  EXPECT_GE(result.cuts, 2000 / kStride);
  EXPECT_GE(result.checkpoints, 10);
  EXPECT_EQ(result.problems, std::vector<std::string>());
}

// Negative control: without a sync at each commit, the test finds lost events and no other problems.
TEST(PowerCutTest, LosesEventsIfCommitsAreNotSynced) {
  const Result result = CutEverywhere(/*synchronous_full=*/false, kControlStride);
  EXPECT_GT(result.losses, 10);
  EXPECT_EQ(result.problems.size(), static_cast<size_t>(result.losses));
}

}  // namespace
}  // namespace stampgate
