// Tests the event log with a fault, a restart, another fault and a power cut. Afterwards, the log must have every
// acknowledged event once, at its position.
//
// Each seed has its own schedule, which is identical in every run. The callback of the last acknowledgement of a group
// of events appends the next group, on the event log's own thread. Therefore one transaction stores a whole group.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "base/disk/power_cut.h"
#include "base/disk/test_disk.h"
#include "base/threads/mutex.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

constexpr char kPath[] = "/events";
// With a sanitizer, a seed takes five times as long as without.
#ifdef STAMPGATE_SANITIZED
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 1000;
#endif

std::string IdOf(int number) { return absl::StrCat("event-", number); }

std::string BodyOf(int number) {
  std::mt19937_64 random(static_cast<uint64_t>(number));
  std::string text(random() % 12 == 0 ? 9'000 : random() % 1500, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
  return absl::StrCat(R"({"text":")", text, R"("})");
}

// Records which events were acknowledged and which a reader got, and detects contradictions.
class Judge {
 public:
  void Acknowledged(int number) { acknowledged_.insert(IdOf(number)); }

  void Complain(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  // Records events that a reader got.
  void Shown(const std::vector<LoggedEvent>& events) {
    for (const LoggedEvent& event : events) {
      const auto [at, first_time] = shown_.emplace(event.position, event.event.event_id);
      if (!first_time && at->second != event.event.event_id) {
        Complain(absl::StrCat(event.position, " was ", at->second, " but is ", event.event.event_id));
      }
    }
  }

  // Checks all events of the log directly after a start.
  void Start(const std::vector<LoggedEvent>& events) {
    Shown(events);
    std::set<std::string> found;
    Position expected = 0;
    for (const LoggedEvent& event : events) {
      if (event.position != ++expected) Complain(absl::StrCat("there is no event ", expected));
      if (!found.insert(event.event.event_id).second)
        Complain(absl::StrCat("the log has an event twice: ", event.event.event_id));
    }
    for (const std::string& id : acknowledged_) {
      if (!found.contains(id)) Complain(absl::StrCat("the log has lost ", id));
    }
    if (!shown_.empty() && shown_.rbegin()->first > expected) {
      Complain(absl::StrCat("a reader saw ", shown_.rbegin()->first, ", and the log ends at ", expected));
    }
  }

  bool IsAcknowledged(int number) const { return acknowledged_.contains(IdOf(number)); }
  const std::string& problem() const { return problem_; }

 private:
  std::set<std::string> acknowledged_;
  std::map<Position, std::string> shown_;
  std::string problem_;
};

// The changes that a negative control makes: another disk, or options that turn safeguards off.
struct Variant {
  std::function<std::unique_ptr<Disk>(TestDisk&)> disk = nullptr;  // null: the TestDisk itself
  std::function<void(SqliteEventLogOptions&)> change = nullptr;
};

// A process that uses the event log from its start to its death.
class Process {
 public:
  Process(const Variant& variant, TestDisk& disk, std::mt19937_64& random, int& sent, Judge& judge)
      : variant_(variant), disk_(disk), random_(random), sent_(sent), judge_(judge) {}

  // Opens the log and checks its events. Returns false if the log does not open.
  bool Start() {
    if (variant_.disk != nullptr) wrapped_ = variant_.disk(disk_);
    SqliteEventLogOptions options;
    options.path = kPath;
    options.disk = wrapped_ != nullptr ? wrapped_.get() : &disk_;
    options.retention_interval = absl::Hours(1);
    options.checkpoint_pages = 25;
    options.now = [] { return absl::FromUnixSeconds(1'700'000'000); };
    options.on_fatal = [](const absl::Status&) {};
    // No disk of these tests loses synced data, so the log must not report a loss.
    options.on_loss = [this](const LostEvents& lost) {
      judge_.Complain(absl::StrCat("the events ", lost.first, " to ", lost.last, " are reported as lost"));
    };
    if (variant_.change != nullptr) variant_.change(options);
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options);
    if (!log.ok()) return false;
    log_ = *std::move(log);
    absl::StatusOr<std::unique_ptr<EventReader>> reader = log_->NewReader();
    if (!reader.ok()) return false;
    reader_ = *std::move(reader);
    if (disk_.stopped()) return true;
    absl::StatusOr<std::vector<LoggedEvent>> events = ReadAll(*reader_);
    if (!events.ok()) {
      judge_.Complain(absl::StrCat("cannot be read: ", events.status().ToString()));
      return true;
    }
    judge_.Start(*events);
    shown_ = static_cast<Position>(events->size());
    return true;
  }

  // Appends groups of events. Returns when all groups were acknowledged or the log has failed.
  void Receive(int groups) {
    {
      const MutexLock lock(mutex_);
      groups_left_ = groups;
    }
    Deliver(1);
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (groups_left_ != 0 && !ended_.WaitUntil(mutex_, deadline)) {
    }
    ASSERT_EQ(groups_left_, 0);
  }

  // Simulates the death of the process, without a sync.
  void Die() {
    disk_.StopAfter(0);
    reader_ = nullptr;
    log_ = nullptr;
    disk_.Restart();
  }

 private:
  // Returns the number of the next event: a new event, or an earlier event, which perhaps was already acknowledged.
  int Next() {
    if (sent_ == 0 || random_() % 3 != 0) return ++sent_;
    return 1 + static_cast<int>(random_() % static_cast<uint64_t>(sent_));
  }

  void Deliver(int count) {
    const std::lock_guard turn(turn_);
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(Next());
    // Also appends some unacknowledged events again, the oldest first, as upstream repeats deliveries.
    for (int number = 1; number <= sent_ && numbers.size() < 8; ++number) {
      if (!judge_.IsAcknowledged(number) && random_() % 2 == 0) numbers.push_back(number);
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int number = numbers[i];
      log_->Append(MakeVerifiedEvent(IdOf(number), BodyOf(number)),
                   [this, number, last = i + 1 == numbers.size()](const absl::StatusOr<AppendOutcome>& outcome) {
                     const std::lock_guard turn(turn_);
                     if (outcome.ok()) judge_.Acknowledged(number);
                     failed_ = failed_ || !outcome.ok();
                     if (outcome.ok() && *outcome == AppendOutcome::kConflict)
                       judge_.Complain("an event conflicts with a stored one");
                     if (last) EndGroup();
                   });
    }
  }

  void EndGroup() {
    if (!failed_ && !disk_.stopped() && random_() % 4 == 0) {
      absl::StatusOr<std::vector<LoggedEvent>> events = ReadAllAfter(*reader_, shown_);
      if (events.ok()) {
        judge_.Shown(*events);
        shown_ += static_cast<Position>(events->size());
      } else {
        judge_.Complain(absl::StrCat("cannot be read: ", events.status().ToString()));
      }
    }
    MutexLock lock(mutex_);
    groups_left_ = failed_ ? 0 : groups_left_ - 1;
    if (groups_left_ == 0) {
      ended_.WakeOne();
      return;
    }
    lock.Unlock();
    Deliver(static_cast<int>(1 + random_() % 4));
  }

  const Variant& variant_;
  TestDisk& disk_;
  std::mt19937_64& random_;
  int& sent_;
  Judge& judge_;
  std::unique_ptr<Disk> wrapped_;
  std::unique_ptr<EventLog> log_;
  std::unique_ptr<EventReader> reader_;
  Position shown_ = 0;
  bool failed_ = false;
  // Recursive, because a callback can run inside of Append, on the thread that already holds the mutex.
  std::recursive_mutex turn_;
  Mutex mutex_;
  Condition ended_;
  int groups_left_ ABSL_GUARDED_BY(mutex_) = 0;
};

void PlanFault(TestDisk& disk, std::mt19937_64& random) {
  switch (random() % 3) {
    case 0:
      return disk.FailSync(static_cast<int>(1 + random() % 20), random());
    case 1:
      return disk.FailWriteBack(static_cast<int>(1 + random() % 60), random());
    default:
      return disk.StopAfter(static_cast<int>(1 + random() % 100));
  }
}

// Returns the disk's content after a power cut.
DiskImage Cut(const DiskImage& start, TestDisk& disk, std::mt19937_64& random) {
  PowerCut cut(start, disk.history());
  cut.MoveTo(disk.history().size());
  return cut.Cut(random);
}

// Runs the seed's schedule. Returns a text about the first problem, or an empty text.
std::string ProblemOf(uint64_t seed, const Variant& variant) {
  std::mt19937_64 random(seed);
  Judge judge;
  int sent = 0;
  DiskImage start;
  auto disk = std::make_unique<TestDisk>(start);
  for (int fault = 1; fault <= 4; ++fault) {
    const bool planned_before_start = random() % 4 == 0;
    if (fault <= 2 && planned_before_start) PlanFault(*disk, random);
    {
      Process process(variant, *disk, random, sent, judge);
      if (process.Start()) {
        if (fault <= 2 && !planned_before_start) PlanFault(*disk, random);
        // In the third round, only a few groups precede the power cut, so that no checkpoint overwrites pages that the
        // disk might have lost.
        process.Receive(static_cast<int>(1 + random() % (fault == 3 ? 3 : 12)));
      } else if (fault > 2) {
        // The first attempt to open the log can fail, because a sync returns the error of an earlier write-back. The
        // next attempt must succeed.
        process.Die();
        if (!process.Start()) return "the log does not open";
        process.Receive(3);
      }
      process.Die();
    }
    // The third round always ends with a power cut. The first two end with a power cut or only with the death of the
    // process, at random.
    if (fault == 3 || (fault == 2 && random() % 2 == 0) || (fault == 1 && random() % 6 == 0)) {
      start = Cut(start, *disk, random);
      disk = std::make_unique<TestDisk>(start);
    }
  }
  return judge.problem();
}

TEST(TwoFaultsTest, AcknowledgedEventsSurviveTwoFaults) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) ASSERT_EQ(ProblemOf(seed, {}), "") << "seed " << seed;
}

// Returns whether the judge finds a problem with any of the seeds. Each negative control turns one safeguard off and
// expects a problem. About one seed in thirty leads to a problem.
bool HasAProblem(const Variant& variant) {
  constexpr uint64_t kMostSeeds = 2000;
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    if (!ProblemOf(seed, variant).empty()) return true;
  }
  return false;
}

// A disk whose Settle does not drop cached pages and, if `syncs` is false, does not sync either.
class HalfSettled : public Disk {
 public:
  HalfSettled(TestDisk& disk, bool syncs) : disk_(disk), syncs_(syncs) {}

  std::string vfs() const override { return disk_.vfs(); }
  absl::Status Settle(const std::string& path) override { return syncs_ ? disk_.SyncOnly(path) : absl::OkStatus(); }

 private:
  TestDisk& disk_;
  const bool syncs_;
};

TEST(TwoFaultsTest, EventsAreLostIfOpeningDoesNotSync) {
  const Variant variant = {.disk = [](TestDisk& disk) { return std::make_unique<HalfSettled>(disk, /*syncs=*/false); }};
  EXPECT_TRUE(HasAProblem(variant));
}

TEST(TwoFaultsTest, EventsAreLostIfOpeningDoesNotDropCachedPages) {
  const Variant variant = {.disk = [](TestDisk& disk) { return std::make_unique<HalfSettled>(disk, /*syncs=*/true); }};
  EXPECT_TRUE(HasAProblem(variant));
}

TEST(TwoFaultsTest, EventsAreLostIfCommitsAreNotSynced) {
  const Variant variant = {
      .change = [](SqliteEventLogOptions& options) { options.safeguards.synchronous_full = false; }};
  EXPECT_TRUE(HasAProblem(variant));
}

}  // namespace
}  // namespace stampgate
