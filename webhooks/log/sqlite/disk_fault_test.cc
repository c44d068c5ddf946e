// Tests the event log on disks that become full or fail. Afterwards, the log must have every acknowledged event.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
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

// At which writes a disk becomes full or fails. With a sanitizer, each takes five times as long as without.
#ifdef STAMPGATE_SANITIZED
constexpr int kFullStride = 5;
constexpr int kWriteStride = 9;
#else
constexpr int kFullStride = 1;
constexpr int kWriteStride = 3;
#endif

constexpr absl::StatusCode kFull = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kGone = absl::StatusCode::kUnavailable;

std::string IdOf(int number) { return absl::StrCat("event-", number); }

VerifiedEvent EventNumber(int number) {
  return MakeVerifiedEvent(IdOf(number), absl::StrCat(R"({"n":)", number, R"(,"t":")", std::string(700, 'x'), R"("})"));
}

// Appends groups of events to an event log, and remembers which events were acknowledged.
class Sender {
 public:
  explicit Sender(TestDisk& disk) {
    options_.path = "/events";
    options_.disk = &disk;
    options_.retention_interval = absl::Hours(1);
    options_.retention_age = absl::Seconds(20);
    options_.deduplication_age = absl::Seconds(20);
    options_.checkpoint_pages = 20;
    options_.now = [this] {
      const MutexLock lock(mutex_);
      return now_;
    };
    options_.on_fatal = [this](const absl::Status& status) {
      const MutexLock lock(mutex_);
      fatal_.push_back(status);
    };
  }

  absl::Status Open() {
    log_ = nullptr;
    absl::StatusOr<std::unique_ptr<EventLog>> log = OpenSqliteEventLog(options_);
    if (!log.ok()) return log.status();
    log_ = *std::move(log);
    return absl::OkStatus();
  }

  void Close() { log_->Close(); }

  void Pass(absl::Duration time) {
    const MutexLock lock(mutex_);
    now_ += time;
  }

  EventLog& log() { return *log_; }

  // Appends the next `count` events without waiting for each, one second after the previous group. Returns their
  // outcomes.
  std::vector<absl::Status> Send(int count) {
    std::vector<absl::Status> answers;
    Pass(absl::Seconds(1));
    for (int i = 0; i < count; ++i) {
      const int number = ++sent_;
      log_->Append(EventNumber(number), [this, &answers, number](const absl::StatusOr<AppendOutcome>& outcome) {
        const MutexLock lock(mutex_);
        if (outcome.ok()) stored_.insert(IdOf(number));
        answers.push_back(outcome.status());
        answered_.WakeOne();
      });
    }
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (answers.size() != static_cast<size_t>(count) && !answered_.WaitUntil(mutex_, deadline)) {
    }
    EXPECT_EQ(answers.size(), static_cast<size_t>(count));
    return answers;
  }

  // Expects that readers see every acknowledged event that retention has not deleted, and no event twice.
  void ExpectNothingLost() {
    TrimNow(*log_);  // so that no retention runs during the read
    absl::StatusOr<std::unique_ptr<EventReader>> reader = log_->NewReader();
    ASSERT_TRUE(reader.ok()) << reader.status();
    absl::StatusOr<LogExtent> extent = (*reader)->Extent();
    ASSERT_TRUE(extent.ok()) << extent.status();
    absl::StatusOr<std::vector<LoggedEvent>> events = ReadAll(**reader);
    ASSERT_TRUE(events.ok()) << events.status();
    std::set<std::string> found;
    for (const LoggedEvent& event : *events) EXPECT_TRUE(found.insert(event.event.event_id).second);
    EXPECT_EQ(static_cast<Position>(found.size()), extent->latest - extent->earliest + 1);
    // The number of missing acknowledged events must not exceed the number of events that retention has deleted.
    Position missing = 0;
    for (const std::string& id : stored()) missing += found.contains(id) ? 0 : 1;
    EXPECT_LE(missing, extent->earliest - 1);
  }

  std::set<std::string> stored() {
    const MutexLock lock(mutex_);
    return stored_;
  }
  std::vector<absl::Status> fatal() {
    const MutexLock lock(mutex_);
    return fatal_;
  }

 private:
  SqliteEventLogOptions options_;
  Mutex mutex_;
  Condition answered_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'700'000'000);
  int sent_ = 0;
  std::set<std::string> stored_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Status> fatal_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<EventLog> log_;
};

int CountOk(const std::vector<absl::Status>& answers) {
  int count = 0;
  for (const absl::Status& answer : answers) count += answer.ok() ? 1 : 0;
  return count;
}

// The disk becomes full at the nth write of a run, for each `kFullStride`th n. If n is odd, writes within the files'
// existing size still succeed.
TEST(FullDiskTest, RefusesEventsLosesNoneAndAcceptsThemAfterwards) {
  int refused = 0;
  for (int n = 1; n <= 300; n += kFullStride) {
    SCOPED_TRACE(absl::StrCat("disk full at write ", n));
    TestDisk disk;
    Sender sender(disk);
    ASSERT_TRUE(sender.Open().ok());
    disk.FillAtWrite(n, /*everywhere=*/n % 2 == 0);
    for (int group = 0; group < 24; ++group) {
      for (const absl::Status& answer : sender.Send(1 + group % 3)) {
        if (answer.ok()) continue;
        EXPECT_EQ(answer.code(), kFull) << answer;
        ++refused;
      }
    }
    sender.ExpectNothingLost();
    disk.MakeRoom();
    EXPECT_EQ(CountOk(sender.Send(3)), 3);
    sender.ExpectNothingLost();
    EXPECT_TRUE(sender.fatal().empty());
    sender.Close();
    ASSERT_TRUE(sender.Open().ok());
    sender.ExpectNothingLost();
    EXPECT_EQ(CountOk(sender.Send(3)), 3);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 1000 / kFullStride);  // proves that the disk was full
}

// In this test, no file can grow. New events still fit, because SQLite overwrites the write-ahead log from its
// beginning and reuses the space of deleted events in the database file.
TEST(FullDiskTest, RetentionMakesSpaceForNewEvents) {
  TestDisk disk;
  Sender sender(disk);
  ASSERT_TRUE(sender.Open().ok());
  for (int group = 0; group < 10; ++group) ASSERT_EQ(CountOk(sender.Send(3)), 3);
  disk.FillAtWrite(1, /*everywhere=*/false);
  while (CountOk(sender.Send(3)) == 3) {
  }
  sender.Pass(absl::Minutes(1));
  TrimNow(sender.log());
  const LogExtent extent = sender.log().NewReader().value()->Extent().value();
  EXPECT_EQ(extent.earliest, extent.latest + 1);
  // An event that does not fit after the last one in the write-ahead log is refused once.
  int stored = 0;
  for (int i = 0; i < 20; ++i) stored += CountOk(sender.Send(1));
  EXPECT_GE(stored, 10);
  EXPECT_GT(disk.failures(), 0);
  sender.ExpectNothingLost();
}

// The log needs no disk space to recognize a repetition.
TEST(FullDiskTest, StillRecognizesRepetitions) {
  TestDisk disk;
  Sender sender(disk);
  ASSERT_TRUE(sender.Open().ok());
  ASSERT_EQ(CountOk(sender.Send(2)), 2);
  disk.FillAtWrite(1, /*everywhere=*/true);
  EXPECT_EQ(AppendAndWait(sender.log(), EventNumber(100)).status().code(), kFull);
  EXPECT_EQ(AppendAndWait(sender.log(), EventNumber(1)).value(), AppendOutcome::kDuplicate);
  sender.ExpectNothingLost();
}

TEST(FullDiskTest, CreatesANewLogOnlyIfThereIsSpace) {
  int opened = 0;
  for (int n = 1; n <= 60; ++n) {
    TestDisk disk;
    Sender sender(disk);
    disk.FillAtWrite(n, /*everywhere=*/true);
    const absl::Status status = sender.Open();
    if (status.ok()) {
      ++opened;
    } else {
      EXPECT_EQ(status.code(), kGone) << status;
    }
    disk.MakeRoom();
    ASSERT_TRUE(sender.Open().ok()) << n;
    EXPECT_EQ(CountOk(sender.Send(1)), 1);
  }
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, 60);
}

// Runs an event log on a disk that fails once, at the nth write or sync. Expects that the log acknowledges nothing
// after the failure. Increases n until a run ends without a failure.
void ExpectAFailureIsTheEnd(const std::function<void(TestDisk&, int)>& fail, int stride) {
  int n = 1;
  for (;; n += stride) {
    SCOPED_TRACE(absl::StrCat("failure ", n));
    ASSERT_LT(n, 2000);
    TestDisk disk;
    Sender sender(disk);
    ASSERT_TRUE(sender.Open().ok());
    fail(disk, n);
    bool failed = false;
    for (int group = 0; group < 24; ++group) {
      for (const absl::Status& answer : sender.Send(1 + group % 3)) {
        EXPECT_TRUE(answer.ok() || answer.code() == kGone) << answer;
        EXPECT_FALSE(failed && answer.ok());  // after a failure, the log acknowledges nothing
        failed = failed || !answer.ok();
      }
    }
    sender.Close();
    EXPECT_EQ(AppendAndWait(sender.log(), EventNumber(1000)).status().code(), kGone);
    const bool over = disk.failures() == 0;
    fail(disk, 0);
    EXPECT_EQ(sender.fatal().size(), over ? 0 : 1);
    // The next process has a disk without failures, and must find all acknowledged events.
    ASSERT_TRUE(sender.Open().ok());
    sender.ExpectNothingLost();
    EXPECT_EQ(CountOk(sender.Send(3)), 3);
    if (over || testing::Test::HasFailure()) break;
  }
  EXPECT_GT(n, 20 * stride);
}

TEST(FailingDiskTest, AfterAFailedSyncTheLogAcknowledgesNothing) {
  ExpectAFailureIsTheEnd([](TestDisk& disk, int n) { disk.FailSync(n, /*seed=*/static_cast<uint64_t>(n)); }, 1);
}

TEST(FailingDiskTest, AfterAFailedWriteTheLogAcknowledgesNothing) {
  ExpectAFailureIsTheEnd([](TestDisk& disk, int n) { disk.FailWrite(n); }, kWriteStride);
}

// The most dangerous failure: the sync of a commit fails, but the next sync would succeed.
TEST(FailingDiskTest, AfterAFailedSyncAllQueuedAppendsFail) {
  TestDisk disk;
  Sender sender(disk);
  ASSERT_TRUE(sender.Open().ok());
  ASSERT_EQ(CountOk(sender.Send(2)), 2);
  disk.FailSync(1);
  for (const absl::Status& answer : sender.Send(40)) EXPECT_EQ(answer.code(), kGone) << answer;
  for (const absl::Status& answer : sender.Send(2)) EXPECT_EQ(answer.code(), kGone) << answer;
  EXPECT_EQ(sender.fatal().size(), 1);
  sender.ExpectNothingLost();
}

}  // namespace
}  // namespace stampgate
