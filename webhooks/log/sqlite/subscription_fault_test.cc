// Tests the store of shared subscriptions on disks that become full or fail, and after power cuts. Afterwards, the
// store must have the first changes up to some point, each as a whole, and among them every acknowledged one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/disk/power_cut.h"
#include "base/disk/test_disk.h"
#include "base/threads/mutex.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/sqlite/sqlite_event_log.h"
#include "webhooks/log/testing.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

constexpr absl::StatusCode kFull = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;

// At which writes a disk becomes full or fails, and after which steps of a history the power fails. With a sanitizer,
// each takes five times as long as without.
#ifdef STAMPGATE_SANITIZED
constexpr int kFullStride = 5;
constexpr int kWriteStride = 9;
constexpr size_t kCutStride = 20;
constexpr size_t kControlStride = 20;
#else
constexpr int kFullStride = 1;
constexpr int kWriteStride = 2;
constexpr size_t kCutStride = 3;
constexpr size_t kControlStride = 7;
#endif

SqliteEventLogOptions OptionsFor(TestDisk& disk) {
  SqliteEventLogOptions options;
  options.path = "/events";
  options.disk = &disk;
  options.retention_interval = absl::Hours(1);
  options.checkpoint_pages = 20;
  options.now = [] { return absl::FromUnixSeconds(1'700'000'000); };
  options.on_fatal = [](const absl::Status&) {};
  return options;
}

VerifiedEvent EventNumber(int number) {
  return MakeVerifiedEvent(absl::StrCat("event-", number),
                           absl::StrCat(R"({"n":)", number, R"(,"t":")", std::string(300, 'x'), R"("})"));
}

// The changes that a test makes one after another, and the states after each of them.
class Story {
 public:
  explicit Story(int changes) {
    std::mt19937_64 random(11);
    states_.emplace_back();
    for (int i = 0; i < changes; ++i) {
      changes_.push_back(RandomChange(random));
      SubscriptionStates next = states_.back();
      ApplyChange(changes_.back(), &next).IgnoreError();
      states_.push_back(std::move(next));
    }
  }

  size_t size() const { return changes_.size(); }
  const SubscriptionChange& change(size_t number) const { return changes_[number]; }

  // Returns how many changes lead to `states`: the least number that is at least `least`. Returns nothing if `states`
  // is not a state of the story.
  std::optional<size_t> Find(const SubscriptionStates& states, size_t least) const {
    for (size_t number = least; number < states_.size(); ++number) {
      if (states_[number] == states) return number;
    }
    return std::nullopt;
  }

 private:
  std::vector<SubscriptionChange> changes_;
  std::vector<SubscriptionStates> states_;
};

// Writes groups of changes and events, and waits for their answers.
class Sender {
 public:
  explicit Sender(TestDisk& disk) : options_(OptionsFor(disk)) {}

  absl::Status Open() {
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    if (!log.ok()) return log.status();
    log_ = *std::move(log);
    return absl::OkStatus();
  }

  void Close() { log_->Close(); }

  SubscriptionStates Load() {
    absl::StatusOr<SubscriptionStates> states = log_->subscriptions()->Load();
    EXPECT_TRUE(states.ok()) << states.status();
    return states.ok() ? *std::move(states) : SubscriptionStates();
  }

  // Writes the changes, and as many events, without waiting for each. Returns the answers to the changes.
  std::vector<absl::Status> Send(const std::vector<SubscriptionChange>& changes) {
    std::vector<absl::Status> answers;
    size_t events = 0;
    for (const SubscriptionChange& change : changes) {
      log_->Append(EventNumber(++sent_), [this, &events](const auto&) {
        const MutexLock lock(mutex_);
        ++events;
        answered_.WakeOne();
      });
      log_->subscriptions()->Write(change, [this, &answers](const absl::Status& status) {
        const MutexLock lock(mutex_);
        answers.push_back(status);
        answered_.WakeOne();
      });
    }
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (events + answers.size() < 2 * changes.size() && !answered_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_EQ(events + answers.size(), 2 * changes.size());
    return answers;
  }

 private:
  SqliteEventLogOptions options_;
  Mutex mutex_;
  Condition answered_;
  int sent_ = 0;
  std::unique_ptr<EventLog> log_;
};

std::vector<SubscriptionChange> RandomChanges(std::mt19937_64& random, int count) {
  std::vector<SubscriptionChange> changes;
  for (int i = 0; i < count; ++i) changes.push_back(RandomChange(random));
  return changes;
}

// The disk becomes full at the nth write of a run, for each `kFullStride`th n. If n is odd, writes within the files'
// existing size still succeed.
TEST(FullDiskTest, RefusedChangesAreNotAppliedAndAcknowledgedOnesAre) {
  int refused = 0;
  for (int n = 1; n <= 150; n += kFullStride) {
    SCOPED_TRACE(absl::StrCat("disk full at write ", n));
    TestDisk disk;
    Sender sender(disk);
    ASSERT_TRUE(sender.Open().ok());
    std::mt19937_64 random(static_cast<uint64_t>(n));
    SubscriptionStates expected;
    // Expects that the store has exactly the changes that it has not refused. Returns how many it has refused.
    const auto send = [&](int count) {
      int full = 0;
      const std::vector<SubscriptionChange> changes = RandomChanges(random, count);
      const std::vector<absl::Status> answers = sender.Send(changes);
      for (size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].code() == kFull) {
          ++full;
        } else {
          EXPECT_EQ(answers[i].code(), ApplyChange(changes[i], &expected).code()) << answers[i];
        }
      }
      EXPECT_EQ(sender.Load(), expected);
      return full;
    };
    disk.FillAtWrite(n, /*everywhere=*/n % 2 == 0);
    for (int group = 0; group < 16; ++group) refused += send(1 + group % 3);
    disk.MakeRoom();
    EXPECT_EQ(send(3), 0);
    ASSERT_TRUE(sender.Open().ok());
    EXPECT_EQ(sender.Load(), expected);
    EXPECT_EQ(send(3), 0);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 500 / kFullStride);  // proves that the disk was full
}

// In this test, no file can grow. A change that erases rows still fits, because SQLite overwrites the write-ahead log
// from its beginning after a checkpoint, for which each commit has reserved space.
TEST(FullDiskTest, ErasingRowsMakesSpace) {
  TestDisk disk;
  SqliteEventLogOptions options = OptionsFor(disk);
  options.checkpoint_pages = 100'000;
  const std::unique_ptr<EventLog> log = *OpenSqliteEventLog(options);
  SubscriptionStore& store = *log->subscriptions();
  // Parks 200 events.
  Position parked = 0;
  const auto park = [&] {
    SubscriptionChange change = {.subscription = "a", .head = SubscriptionHead{}};
    for (int i = 0; i < 200; ++i) {
      change.put.push_back({.position = ++parked, .mark = EventMark::kParked, .reason = std::string(256, 'x')});
    }
    return WriteAndWait(store, std::move(change));
  };
  for (int i = 0; i < 20; ++i) ASSERT_EQ(park(), absl::OkStatus());
  disk.FillAtWrite(1, /*everywhere=*/false);
  absl::Status status;
  while (status.ok()) status = park();
  EXPECT_EQ(status.code(), kFull);
  SubscriptionChange erase = {.subscription = "a"};
  for (Position position = 1; position <= 2000; ++position) erase.erase.push_back(position);
  EXPECT_EQ(WriteAndWait(store, std::move(erase)), absl::OkStatus());
  EXPECT_EQ(park(), absl::OkStatus());
  EXPECT_GT(disk.failures(), 0);
}

// Runs a log on a disk that fails once, at the nth write or sync. Expects that the store acknowledges nothing after the
// failure. Increases n until a run ends without a failure.
void ExpectAFailureIsTheEnd(const std::function<void(TestDisk&, int)>& fail, int stride) {
  const Story story(60);
  int n = 1;
  for (;; n += stride) {
    SCOPED_TRACE(absl::StrCat("failure ", n));
    ASSERT_LT(n, 2000);
    TestDisk disk;
    Sender sender(disk);
    ASSERT_TRUE(sender.Open().ok());
    fail(disk, n);
    size_t acknowledged = 0;
    bool failed = false;
    for (size_t next = 0; next < story.size(); next += 3) {
      for (const absl::Status& answer :
           sender.Send({story.change(next), story.change(next + 1), story.change(next + 2)})) {
        EXPECT_FALSE(failed && answer.code() != kGone) << answer;
        failed = failed || answer.code() == kGone;
        acknowledged += failed ? 0 : 1;
      }
    }
    sender.Close();
    const bool over = disk.failures() == 0;
    fail(disk, 0);
    // The next process has a disk without failures.
    ASSERT_TRUE(sender.Open().ok());
    EXPECT_NE(story.Find(sender.Load(), acknowledged), std::nullopt) << acknowledged;
    if (over || testing::Test::HasFailure()) break;
  }
  EXPECT_GT(n, 20 * stride);
}

TEST(FailingDiskTest, AfterAFailedSyncTheStoreAcknowledgesNothing) {
  ExpectAFailureIsTheEnd([](TestDisk& disk, int n) { disk.FailSync(n, /*seed=*/static_cast<uint64_t>(n)); },
                         /*stride=*/2);
}

TEST(FailingDiskTest, AfterAFailedWriteTheStoreAcknowledgesNothing) {
  ExpectAFailureIsTheEnd([](TestDisk& disk, int n) { disk.FailWrite(n); }, kWriteStride);
}

// How many changes were acknowledged, at one step of the disk's history.
struct Promise {
  size_t step;  // index in the disk's history
  size_t acknowledged;
};

// Runs a log on a disk. Every run is identical: the last answer of a group writes the next group, on the log's own
// thread. Therefore one transaction stores a whole group.
class Workload {
 public:
  Workload(const Story& story, TestDisk& disk, bool synchronous_full) : story_(story), disk_(disk) {
    options_ = OptionsFor(disk);
    options_.safeguards.synchronous_full = synchronous_full;
    options_.safeguards.high_water_mark = synchronous_full;
  }

  // Writes the changes of the story from `written` on, in several sessions.
  void Run(int sessions, size_t written = 0) {
    promises_ = {{0, written}};
    const size_t first = written;
    for (int session = 1; session <= sessions; ++session) {
      absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
      ASSERT_TRUE(log.ok()) << log.status();
      log_ = log->get();
      MutexLock lock(mutex_);
      acknowledged_ = written;
      written_ = written;
      until_ = written = first + (story_.size() - first) * static_cast<size_t>(session) / static_cast<size_t>(sessions);
      Issue(1);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (acknowledged_ != until_ && !ended_.WaitUntil(mutex_, deadline)) {
      }
      ASSERT_EQ(acknowledged_, until_);
      lock.Unlock();
      (*log)->Close();
    }
  }

  const std::vector<Promise>& promises() const { return promises_; }

 private:
  void Issue(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // With the first change, no event: the thread could store both in two groups.
    for (size_t i = 1; i < count; ++i) log_->Append(EventNumber(++events_), [](const auto&) {});
    for (; count > 0 && written_ < until_; --count) {
      log_->subscriptions()->Write(story_.change(written_++), [this](const absl::Status& status) {
        const MutexLock lock(mutex_);
        if (!status.ok() && !absl::IsNotFound(status)) ADD_FAILURE() << status;
        promises_.push_back({disk_.steps(), ++acknowledged_});
        if (acknowledged_ < written_) return;
        if (acknowledged_ == until_) {
          ended_.WakeOne();
        } else {
          Issue(1 + random_() % 5);
        }
      });
    }
  }

  const Story& story_;
  TestDisk& disk_;
  SqliteEventLogOptions options_;
  EventLog* log_ = nullptr;
  std::mt19937_64 random_{20261129};
  int events_ = 0;
  Mutex mutex_;
  Condition ended_;
  size_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t until_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Promise> promises_;
};

struct Result {
  int cuts = 0;
  int losses = 0;
  std::vector<std::string> problems;
};

// Opens the log after power cuts, and compares it with the story.
class Inspector {
 public:
  Inspector(const Story& story, Result& result) : story_(story), result_(result) {}

  // Returns a text about the first problem, or an empty text. `acknowledged` changes were acknowledged before the power
  // was cut. If `again` is not null, simulates a second power cut while the log is used after the first one.
  std::string ProblemWith(const DiskImage& image, size_t acknowledged, std::mt19937_64* again) {
    TestDisk disk(image);
    std::optional<size_t> found;
    if (const std::string problem = Inspect(disk, acknowledged, &found); !problem.empty()) return problem;
    Workload workload(story_, disk, /*synchronous_full=*/true);
    const size_t opened = disk.steps();
    if (*found < story_.size()) workload.Run(/*sessions=*/1, *found);
    if (again == nullptr) return Inspect(disk, story_.size(), &found);
    PowerCut cut(image, disk.history());
    const size_t at = (*again)() % (disk.steps() + 1);
    cut.MoveTo(at);
    for (const Promise& promise : workload.promises()) {
      if (promise.step > 0 && promise.step <= at) acknowledged = promise.acknowledged;
    }
    if (at >= opened) acknowledged = std::max(acknowledged, *found);
    const std::string problem = ProblemWith(cut.Cut(*again), acknowledged, nullptr);
    return problem.empty() ? "" : absl::StrCat("after the second power cut, at step ", at, ": ", problem);
  }

 private:
  std::string Inspect(TestDisk& disk, size_t acknowledged, std::optional<size_t>* found) {
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(OptionsFor(disk));
    if (!log.ok()) return absl::StrCat("the log does not open: ", log.status().ToString());
    absl::StatusOr<SubscriptionStates> states = (*log)->subscriptions()->Load();
    if (!states.ok()) return absl::StrCat("the subscriptions cannot be read: ", states.status().ToString());
    *found = story_.Find(*states, acknowledged);
    if (*found) return "";
    const std::optional<size_t> earlier = story_.Find(*states, 0);
    if (!earlier) return "the store has a state that never was";
    ++result_.losses;
    return absl::StrCat("the store has ", *earlier, " changes of ", acknowledged);
  }

  const Story& story_;
  Result& result_;
};

// Runs the workload once, and simulates a power cut at every `stride`th step.
Result CutEverywhere(bool synchronous_full, size_t stride) {
  const Story story(160);
  TestDisk disk;
  Workload workload(story, disk, synchronous_full);
  workload.Run(/*sessions=*/3);
  Result result;
  Inspector inspector(story, result);
  PowerCut cut({}, disk.history());
  std::mt19937_64 random(7);
  const std::vector<Promise>& promises = workload.promises();
  size_t next_promise = 0;
  size_t acknowledged = 0;
  for (size_t step = 0; step <= disk.history().size(); step += stride) {
    while (next_promise < promises.size() && promises[next_promise].step <= step) {
      acknowledged = promises[next_promise++].acknowledged;
    }
    cut.MoveTo(step);
    const std::string problem =
        inspector.ProblemWith(cut.Cut(random), acknowledged, ++result.cuts % 2 == 0 ? &random : nullptr);
    if (!problem.empty()) result.problems.push_back(absl::StrCat("cut at ", step, ": ", problem));
  }
  return result;
}

TEST(PowerCutTest, NoAcknowledgedChangeIsLostReorderedOrHalfApplied) {
  const Result result = CutEverywhere(/*synchronous_full=*/true, kCutStride);
  EXPECT_GE(result.cuts, 600 / static_cast<int>(kCutStride));
  EXPECT_EQ(result.problems, std::vector<std::string>());
}

// Negative control: without a sync at each commit, the test finds lost changes and no other problems.
TEST(PowerCutTest, ChangesAreLostIfCommitsAreNotSynced) {
  const Result result = CutEverywhere(/*synchronous_full=*/false, kControlStride);
  EXPECT_GT(result.losses, 10);
  EXPECT_EQ(result.problems.size(), static_cast<size_t>(result.losses));
}

}  // namespace
}  // namespace stampgate
