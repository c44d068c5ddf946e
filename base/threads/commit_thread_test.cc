#include "base/threads/commit_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Clock = CommitThread::Clock;
using Group = std::vector<int>;

// Writes numbers. Somebody waits for the positive ones.
class NumberLog final : public CommitThread::Owner {
 public:
  explicit NumberLog(std::chrono::microseconds gather = {})
      : thread_({.thread_name = "numbers",
                 .subject = "the log",
                 .medium = "the log's disk",
                 .gather = gather,
                 .steady_now = [this] { return now_.load(); }},
                *this) {
    thread_.Start();
    thread_.TidyNow();  // the thread's first round is over
  }
  ~NumberLog() { thread_.Close(); }

  absl::Status Add(int number) {
    return thread_.Add([&] {
      Push(number);
      return absl::OkStatus();
    });
  }
  void Change(int number) {
    thread_.Change([&] { Push(number); });
  }

  // Queues `number`, and returns when the thread writes it. The write ends when the returned promise is set.
  std::promise<void> AddAndHold(int number) {
    std::promise<void> release;
    std::promise<void> writes;
    thread_.Change([&] {
      hold_until_ = release.get_future();
      on_write_ = [&writes] { writes.set_value(); };
      Push(number);
    });
    writes.get_future().wait();
    return release;
  }

  Clock::time_point WriteAt() const override {
    if (queue_.empty()) return CommitThread::kNever;
    return urgent_ ? CommitThread::kAtOnce : due_;
  }
  Clock::time_point SleepUntil() const override { return CommitThread::kNever; }
  size_t TakeGroup() override {
    group_ = std::exchange(queue_, {});
    urgent_ = false;
    if (!group_.empty()) held_ = std::exchange(hold_until_, {});
    return static_cast<size_t>(std::count_if(group_.begin(), group_.end(), [](int number) { return number > 0; }));
  }
  absl::Status WriteGroup() override {
    if (group_.empty()) return absl::OkStatus();
    if (held_.valid()) {
      on_write_();
      held_.wait();
    }
    groups_.push_back(group_);
    if (after_write_) after_write_(group_);
    return written_;
  }
  absl::StatusOr<bool> Tidy(bool wanted) override {
    if (wanted) ++wanted_steps_;
    return steps_left_ > 0 && --steps_left_ > 0;
  }
  void Stop(absl::Status status) override {
    EXPECT_TRUE(queue_.empty());
    stopped_.push_back(std::move(status));
  }

  CommitThread& thread() { return thread_; }
  // Use these before the first number is queued, or after Close.
  absl::Status written_;
  Clock::time_point due_ = CommitThread::After(absl::Hours(1));
  std::function<void(const Group&)> after_write_;
  std::vector<Group> groups_;
  std::vector<absl::Status> stopped_;

  std::atomic<Clock::time_point> now_ = Clock::time_point();
  std::atomic<int> steps_left_ = 0;
  std::atomic<int> wanted_steps_ = 0;

 private:
  void Push(int number) {
    urgent_ = urgent_ || number > 0;
    queue_.push_back(number);
  }

  std::vector<int> queue_;
  bool urgent_ = false;
  std::future<void> hold_until_;
  std::function<void()> on_write_;
  Group group_;
  std::future<void> held_;
  CommitThread thread_;
};

TEST(CommitThreadTest, AGroupHasWhatWasQueuedDuringThePreviousWrite) {
  NumberLog log;
  std::promise<void> release = log.AddAndHold(1);
  for (const int number : {2, -3, 4}) EXPECT_EQ(log.Add(number), absl::OkStatus());
  release.set_value();
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{1}, Group{2, -3, 4}));
}

// The gather time of this log is longer than the test: only Close ends it.
TEST(CommitThreadTest, AfterAGroupOfSeveralTheNextOneGathers) {
  NumberLog log(std::chrono::hours(1));
  std::promise<void> two_are_written;
  log.after_write_ = [&](const Group& group) {
    if (group.size() == 2 && group[0] == 2) two_are_written.set_value();
  };
  std::promise<void> release = log.AddAndHold(1);
  EXPECT_EQ(log.Add(2), absl::OkStatus());
  EXPECT_EQ(log.Add(3), absl::OkStatus());
  release.set_value();
  two_are_written.get_future().wait();
  EXPECT_EQ(log.Add(4), absl::OkStatus());
  EXPECT_EQ(log.Add(5), absl::OkStatus());
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{1}, Group{2, 3}, Group{4, 5}));
}

TEST(CommitThreadTest, EntriesForWhichNobodyWaitsAreWrittenWithTheNextOther) {
  NumberLog log;
  log.Change(-1);
  log.Change(-2);
  log.AddAndHold(3).set_value();
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{-1, -2, 3}));
}

TEST(CommitThreadTest, EntriesForWhichNobodyWaitsAreWrittenWhenTheyAreDue) {
  NumberLog log;
  log.due_ = CommitThread::After(absl::Milliseconds(1));
  log.AddAndHold(-1).set_value();  // returns when the thread writes it
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{-1}));
}

TEST(CommitThreadTest, CloseWritesWhatIsQueuedAndThenStops) {
  NumberLog log;
  std::promise<void> release = log.AddAndHold(1);
  log.Change(-2);
  release.set_value();
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{1}, Group{-2}));
  EXPECT_THAT(log.stopped_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(log.Add(3), absl::UnavailableError("the log is closed"));
  log.thread().Close();
  EXPECT_THAT(log.stopped_, ElementsAre(absl::OkStatus()));
}

TEST(CommitThreadTest, AnErrorEndsTheThread) {
  const absl::Status broken = absl::DataLossError("the disk is broken");
  NumberLog log;
  log.written_ = broken;
  EXPECT_EQ(log.Add(1), absl::OkStatus());
  log.thread().TidyNow();  // returns although no step follows the error
  log.thread().Close();
  EXPECT_THAT(log.stopped_, ElementsAre(broken));
}

TEST(CommitThreadTest, RefusesEntriesWhileItsOwnerSaysSo) {
  NumberLog log;
  const absl::Status why = absl::UnavailableError("the server is gone");
  log.thread().Refuse(why);
  EXPECT_EQ(log.Add(1), why);
  log.thread().Refuse(absl::OkStatus());
  EXPECT_EQ(log.Add(2), absl::OkStatus());
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{2}));
}

TEST(CommitThreadTest, AnEntryThatItsOwnerRefusesIsNotQueued) {
  NumberLog log;
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_EQ(log.thread().Add([&] { return full; }), full);
  log.thread().Close();
  EXPECT_THAT(log.groups_, IsEmpty());
}

TEST(CommitThreadTest, RefusesEntriesWhileAWriteHangs) {
  NumberLog log;
  std::promise<void> release = log.AddAndHold(1);
  EXPECT_EQ(log.thread().under_way(), absl::ZeroDuration());
  log.now_ = log.now_.load() + absl::ToChronoNanoseconds(kWriteHangsAfter + absl::Seconds(1));
  EXPECT_EQ(log.thread().under_way(), kWriteHangsAfter + absl::Seconds(1));
  EXPECT_EQ(log.Add(2), absl::UnavailableError("the log's disk does not answer"));
  log.Change(-3);
  release.set_value();
  log.thread().TidyNow();
  EXPECT_EQ(log.Add(4), absl::OkStatus());
  log.thread().Close();
  EXPECT_THAT(log.groups_, ElementsAre(Group{1}, Group{-3}, Group{4}));
}

TEST(CommitThreadTest, TidyNowReturnsWhenNothingIsLeftToTidy) {
  NumberLog log;
  log.thread().TidyNow();
  log.wanted_steps_ = 0;
  log.steps_left_ = 3;
  log.thread().TidyNow();
  EXPECT_EQ(log.steps_left_, 0);
  EXPECT_GE(log.wanted_steps_, 1);
  log.thread().Close();
  log.thread().TidyNow();
}

}  // namespace
}  // namespace stampgate
