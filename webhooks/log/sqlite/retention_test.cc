// Tests which events and ids retention deletes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/threads/mutex.h"
#include "webhooks/log/sqlite/sqlite_event_log_testing.h"
#include "webhooks/log/testing.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

TEST_F(SqliteEventLogTest, RetentionDeletesOldEvents) {
  options_.retention_age = absl::Seconds(10);
  Open();
  StoreNumbers(1, 20);  // event n was stored at second n - 1, and the time is second 20 now
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, 11);
  EXPECT_EQ(Extent().latest, 20);
  EXPECT_EQ(reader_->Read({9}, {}, {}).status().code(), kTrimmed);
  EXPECT_EQ(reader_->Read({0}, {}, {}).status().code(), kTrimmed);
  EXPECT_THAT(reader_->Read({0}, {}, {}).status().message(), HasSubstr("before 11"));
  EXPECT_EQ(Positions(reader_->Read({10}, {}, {})).front(), 11);
  EXPECT_EQ(reader_->Find({IdOf(10), {}}, {}).value(), std::nullopt);
  EXPECT_EQ(reader_->Find({IdOf(11), {}}, {}).value()->position, 11);
  EXPECT_EQ(reader_->PositionBefore(absl::InfinitePast()).value(), 10);
}

TEST_F(SqliteEventLogTest, RetentionDeletesTheOldestEventsOfATooLargeFile) {
  options_.retention_bytes = 1 << 20;
  Open();
  const std::string body = BodyOf("org", std::string(20'000, 'x'));
  for (int i = 0; i < 6; ++i) {
    StoreTogether(50 * i + 1, 50 * i + 50, body);
    TrimNow(*log_);
    const LogExtent extent = Extent();
    EXPECT_EQ(extent.latest, 50 * i + 50);
    // Retention deletes no more than necessary: an event uses slightly more than 5 of 256 pages.
    EXPECT_GE(extent.latest - extent.earliest + 1, 42);
    EXPECT_LE(extent.latest - extent.earliest + 1, 50);
  }
  Store(IdOf(1), body, AppendOutcome::kDuplicate);
  // New events use the space of deleted events.
  CloseAll();
  EXPECT_LT(std::filesystem::file_size(options_.path), 3 << 20);
}

// Without a limit, the ids of deleted events would fill the file, and retention would delete every new event.
TEST_F(SqliteEventLogTest, ForgetsTheOldestIdsIfTheyUseTooMuchSpace) {
  options_.retention_bytes = 1 << 20;  // a quarter of this is space for 1024 ids
  options_.retention_age = absl::Seconds(1);
  Open();
  StoreTogether(1, 1501, "{}");
  Pass(absl::Hours(1));
  TrimNow(*log_);
  EXPECT_EQ(Extent().earliest, Extent().latest + 1);
  Store(IdOf(477), "{}", AppendOutcome::kStored);
  Store(IdOf(479), "{}", AppendOutcome::kDuplicate);
}

TEST_F(SqliteEventLogTest, RetentionRunsWithoutNewEvents) {
  Mutex mutex;
  Condition looked;
  int64_t looks = 0;
  options_.retention_interval = absl::Milliseconds(1);
  options_.retention_age = absl::Seconds(10);
  options_.now = [&] {
    const MutexLock lock(mutex);
    ++looks;
    looked.WakeAll();
    return absl::FromUnixMicros(now_us_);
  };
  Open();
  StoreNumbers(1, 5);
  Pass(absl::Hours(1));
  MutexLock lock(mutex);
  const int64_t after = looks + 2;  // the first run of retention may have read the clock before Pass
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (looks < after + 1 && !looked.WaitUntil(mutex, deadline)) {
  }
  ASSERT_GE(looks, after + 1);
  lock.Unlock();
  EXPECT_EQ(Extent().earliest, 6);
  log_->Close();
}

}  // namespace
}  // namespace stampgate
