// The log under a fault, a restart, another fault and a power cut: what was acknowledged is there, once, in its place.
//
// Each seed is a schedule of its own, and the same in every run: a group of deliveries is put into the queue by the
// last answer to the group before, on the log's own thread, so the log finds all of it.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
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
#include "webhooks/disk/disk.h"
#include "webhooks/disk/power_cut.h"
#include "webhooks/disk/test_disk.h"
#include "webhooks/log/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

constexpr char kPath[] = "/events";
// A sanitizer makes each seed five times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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

// What was promised to senders and shown to readers, and what is wrong about it.
class Judge {
 public:
  void Acknowledged(int number) { acknowledged_.insert(IdOf(number)); }

  void Complain(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  // Events in the order in which a reader got them, from anywhere in the log on.
  void Shown(const std::vector<LoggedEvent>& events) {
    for (const LoggedEvent& event : events) {
      const auto [at, first_time] = shown_.emplace(event.position, event.event.event_id);
      if (!first_time && at->second != event.event.event_id) {
        Complain(absl::StrCat(event.position, " was ", at->second, " and is ", event.event.event_id));
      }
    }
  }

  // All that the log has, right after a start.
  void Start(const std::vector<LoggedEvent>& events) {
    Shown(events);
    std::set<std::string> found;
    Position expected = 0;
    for (const LoggedEvent& event : events) {
      if (event.position != ++expected) Complain(absl::StrCat("there is no event ", expected));
      if (!found.insert(event.event.event_id).second) Complain(absl::StrCat("twice: ", event.event.event_id));
    }
    for (const std::string& id : acknowledged_) {
      if (!found.contains(id)) Complain(absl::StrCat("lost: ", id));
    }
    if (!shown_.empty() && shown_.rbegin()->first > expected) {
      Complain(absl::StrCat("a reader was shown ", shown_.rbegin()->first, ", and the log ends at ", expected));
    }
  }

  bool IsAcknowledged(int number) const { return acknowledged_.contains(IdOf(number)); }
  const std::string& problem() const { return problem_; }

 private:
  std::set<std::string> acknowledged_;
  std::map<Position, std::string> shown_;
  std::string problem_;
};

// What a log stands on, and what it leaves out.
struct Variant {
  std::function<std::unique_ptr<Disk>(TestDisk&)> disk = nullptr;  // null: the test's
  std::function<void(SqliteEventLogOptions&)> change = nullptr;
};

// A process: from its start to its end, whatever ends it.
class Process {
 public:
  Process(const Variant& variant, TestDisk& disk, std::mt19937_64& random, int& sent, Judge& judge)
      : variant_(variant), disk_(disk), random_(random), sent_(sent), judge_(judge) {}

  // False if the log does not open.
  bool Start() {
    if (variant_.disk != nullptr) wrapped_ = variant_.disk(disk_);
    SqliteEventLogOptions options;
    options.path = kPath;
    options.disk = wrapped_ != nullptr ? wrapped_.get() : &disk_;
    options.retention_interval = absl::Hours(1);
    options.checkpoint_pages = 25;
    options.now = [] { return absl::FromUnixSeconds(1'700'000'000); };
    options.on_fatal = [](const absl::Status&) {};
    // No disk here loses what was synced.
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

  // Returns when all groups were answered, or the log has failed.
  void Receive(int groups) {
    std::unique_lock lock(mutex_);
    groups_left_ = groups;
    lock.unlock();
    Deliver(1);
    lock.lock();
    ASSERT_TRUE(ended_.wait_for(lock, std::chrono::minutes(1), [this] { return groups_left_ == 0; }));
  }

  // Without a word to the disk.
  void Die() {
    disk_.StopAfter(0);
    reader_ = nullptr;
    log_ = nullptr;
    disk_.Restart();
  }

 private:
  // Some are new; others were delivered before, whether or not they were acknowledged.
  int Next() {
    if (sent_ == 0 || random_() % 3 != 0) return ++sent_;
    return 1 + static_cast<int>(random_() % static_cast<uint64_t>(sent_));
  }

  void Deliver(int count) {
    const std::lock_guard turn(turn_);
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(Next());
    // Upstream repeats first what it has no answer to.
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
                     if (outcome.ok() && *outcome == AppendOutcome::kConflict) judge_.Complain("a conflict");
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
    std::unique_lock lock(mutex_);
    groups_left_ = failed_ ? 0 : groups_left_ - 1;
    if (groups_left_ == 0) {
      ended_.notify_one();
      return;
    }
    lock.unlock();
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
  // An answer comes on the log's thread, or at once, on the one that asks.
  std::recursive_mutex turn_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int groups_left_ = 0;
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

// The disk's content after the power was cut.
DiskImage Cut(const DiskImage& start, TestDisk& disk, std::mt19937_64& random) {
  PowerCut cut(start, disk.history());
  cut.MoveTo(disk.history().size());
  return cut.Cut(random);
}

// What is wrong at the end of the seed's schedule; nothing if all is well.
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
        // After the second fault the power is soon cut, before a checkpoint moves what is doubtful.
        process.Receive(static_cast<int>(1 + random() % (fault == 3 ? 3 : 12)));
      } else if (fault > 2) {
        // A write-back may have failed before: its error is reported once.
        process.Die();
        if (!process.Start()) return "does not open";
        process.Receive(3);
      }
      process.Die();
    }
    // After the last fault always; else sometimes the process alone has died, sometimes the machine.
    if (fault == 3 || (fault == 2 && random() % 2 == 0) || (fault == 1 && random() % 6 == 0)) {
      start = Cut(start, *disk, random);
      disk = std::make_unique<TestDisk>(start);
    }
  }
  return judge.problem();
}

TEST(TwoFaults, LoseNothing) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) ASSERT_EQ(ProblemOf(seed, {}), "") << "seed " << seed;
}

// The negative controls: each leaves one thing out, and the judge sees what it was good for. About one seed in thirty
// shows it.
bool HasAProblem(const Variant& variant) {
  constexpr uint64_t kMostSeeds = 2000;
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    if (!ProblemOf(seed, variant).empty()) return true;
  }
  return false;
}

// A disk of which a part of Settle is missing.
class HalfSettled : public Disk {
 public:
  HalfSettled(TestDisk& disk, bool syncs) : disk_(disk), syncs_(syncs) {}

  std::string vfs() const override { return disk_.vfs(); }
  absl::Status Settle(const std::string& path) override { return syncs_ ? disk_.SyncOnly(path) : absl::OkStatus(); }

 private:
  TestDisk& disk_;
  const bool syncs_;
};

TEST(TwoFaults, LoseEventsIfTheLogIsNotSyncedWhenItOpens) {
  const Variant variant = {.disk = [](TestDisk& disk) { return std::make_unique<HalfSettled>(disk, /*syncs=*/false); }};
  EXPECT_TRUE(HasAProblem(variant));
}

TEST(TwoFaults, LoseEventsIfTheLogsPagesAreNotDroppedWhenItOpens) {
  const Variant variant = {.disk = [](TestDisk& disk) { return std::make_unique<HalfSettled>(disk, /*syncs=*/true); }};
  EXPECT_TRUE(HasAProblem(variant));
}

TEST(TwoFaults, LoseEventsIfCommitsAreNotSynced) {
  const Variant variant = {
      .change = [](SqliteEventLogOptions& options) { options.safeguards.synchronous_full = false; }};
  EXPECT_TRUE(HasAProblem(variant));
}

}  // namespace
}  // namespace stampgate
