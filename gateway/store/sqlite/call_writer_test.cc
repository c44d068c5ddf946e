#include "gateway/store/sqlite/call_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/disk/test_disk.h"
#include "gateway/store/call_store_testing.h"

namespace stampgate {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class CallWriterTest : public testing::Test {
 protected:
  CallWriterTest() {
    absl::StatusOr<std::unique_ptr<CallWriter>> writer = CallWriter::Open(Settings());
    EXPECT_TRUE(writer.ok()) << writer.status();
    writer_ = *std::move(writer);
    EXPECT_TRUE(writer_->is_new());
    EXPECT_EQ(writer_->Start(), absl::OkStatus());
  }

  CallWriter::Options Settings() {
    CallWriter::Options settings;
    settings.path = "/calls.db";
    settings.disk = &store_disk_;
    settings.key_retention = absl::Minutes(30);
    settings.max_keys = max_keys_;
    settings.checkpoint_pages = 10;
    settings.now = [this] { return now_; };
    return settings;
  }

  std::vector<CallWriter::Answer> Store(const std::vector<CallStep>& steps) {
    std::vector<const CallStep*> pointers;
    for (const CallStep& step : steps) pointers.push_back(&step);
    std::vector<CallWriter::Answer> answers;
    EXPECT_EQ(writer_->Store(
                  pointers, [](const auto&) {}, &answers),
              absl::OkStatus());
    return answers;
  }

  void StoreKeys(int count) {
    std::vector<CallStep> steps;
    for (int i = 0; i < count; ++i) steps.push_back(MakeSubmit(absl::StrCat("key-", i), 1, 1));
    Store(steps);
    EXPECT_EQ(writer_->state().keys, count);
  }

  TestDisk disk_;
  DiskOfTest store_disk_{disk_};
  int64_t max_keys_ = 10'000;
  absl::Time now_ = kStart;
  std::unique_ptr<CallWriter> writer_;
};

TEST_F(CallWriterTest, RemovesAtMost500ExpiredKeysInOneTransaction) {
  StoreKeys(1201);
  now_ = kStart + absl::Minutes(31);
  std::vector<int64_t> left;
  for (bool more = true; more;) {
    const absl::StatusOr<bool> tidied = writer_->Tidy();
    ASSERT_TRUE(tidied.ok()) << tidied.status();
    more = *tidied;
    if (more) left.push_back(writer_->state().keys);
  }
  EXPECT_EQ(left, (std::vector<int64_t>{701, 201, 0}));
}

TEST_F(CallWriterTest, AFailedTransactionUsesNothingOfACallersShare) {
  max_keys_ = 100;
  writer_ = nullptr;
  absl::StatusOr<std::unique_ptr<CallWriter>> writer = CallWriter::Open(Settings());
  ASSERT_TRUE(writer.ok()) << writer.status();
  writer_ = *std::move(writer);
  ASSERT_EQ(writer_->Start(), absl::OkStatus());
  StoreKeys(100);
  const auto honest = [](int from, int count) {
    std::vector<CallStep> steps;
    for (int i = 0; i < count; ++i) {
      KeyedSubmit submit = MakeSubmit(absl::StrCat("key-", from + i), 1, 1);
      submit.caller = "honest";
      steps.emplace_back(submit);
    }
    return steps;
  };
  const auto begun = [](const std::vector<CallWriter::Answer>& answers) {
    return std::count_if(answers.begin(), answers.end(),
                         [](const auto& answer) { return answer.ok() && answer->attempt.has_value(); });
  };
  disk_.FillAtWrite(1, /*everywhere=*/true);
  for (int i = 0; i < 3; ++i) {
    std::vector<const CallStep*> pointers;
    const std::vector<CallStep> steps = honest(100 * i, 20);
    for (const CallStep& step : steps) pointers.push_back(&step);
    std::vector<CallWriter::Answer> answers;
    EXPECT_TRUE(absl::IsResourceExhausted(writer_->Store(
        pointers, [](const auto&) {}, &answers)));
  }
  disk_.MakeRoom();
  EXPECT_EQ(begun(Store(honest(1000, 60))), 50);
  EXPECT_EQ(writer_->state().keys, 150);
}

TEST_F(CallWriterTest, RemovesExpiredKeysOnAFullDiskInSmallerTransactions) {
  // Stores the keys in small groups, so that the write-ahead log stays small.
  for (int group = 0; group < 60; ++group) {
    std::vector<CallStep> steps;
    for (int i = 0; i < 20; ++i) steps.push_back(MakeSubmit(absl::StrCat("key-", group, "-", i), 1, 1));
    Store(steps);
    ASSERT_EQ(writer_->Settle(), absl::OkStatus());
  }
  ASSERT_EQ(writer_->state().keys, 1200);
  disk_.FillAtWrite(1, /*everywhere=*/false);
  now_ = kStart + absl::Minutes(31);
  for (int pass = 0; pass < 200 && writer_->state().keys > 0; ++pass) {
    const absl::StatusOr<bool> tidied = writer_->Tidy();
    ASSERT_TRUE(tidied.ok() || absl::IsResourceExhausted(tidied.status())) << tidied.status();
    ASSERT_EQ(writer_->Settle(), absl::OkStatus());
  }
  EXPECT_EQ(writer_->state().keys, 0);
  EXPECT_GT(disk_.failures(), 0);
}

// Each step of a group sees the changes of the earlier steps.
TEST_F(CallWriterTest, AppliesTheStepsOfAGroupInOrder) {
  const std::vector<CallWriter::Answer> first = Store({MakeSubmit("a", 1, 1, 1000), MakeSubmit("a", 1, 2, 2000)});
  ASSERT_TRUE(first[0].ok() && first[0]->attempt.has_value());
  ASSERT_TRUE(first[1].ok() && first[1]->record.has_value());
  EXPECT_EQ(first[1]->record->timestamp_ms, 1000u);
  const EndedAttempt ended{.number = static_cast<int64_t>(*first[0]->attempt), .end = NotSent()};
  const std::vector<CallWriter::Answer> second =
      Store({MakeSubmit("a", 1, 3, 3000), ended, MakeSubmit("a", 1, 4, 4000), MakeSubmit("a", 1, 5, 5000)});
  EXPECT_TRUE(second[0]->record.has_value());
  EXPECT_TRUE(second[2]->attempt.has_value());
  ASSERT_TRUE(second[3]->record.has_value());
  EXPECT_EQ(second[3]->record->timestamp_ms, 4000u);
}

// If no step of a group changes anything, Store writes nothing to the disk.
TEST_F(CallWriterTest, WritesNothingIfItReturnsOnlyARecord) {
  Store({MakeSubmit("a", 1, 1)});
  const size_t steps = disk_.steps();
  Store({MakeSubmit("a", 2, 2)});
  EXPECT_EQ(disk_.steps(), steps);
}

// The disk has space for the commit but not for the mark. Store returns an error instead of the attempt, so the gateway
// does not send the body.
TEST_F(CallWriterTest, AnAttemptThatWasNotReturnedCountsAsNotSent) {
  Store({MakeSubmit("a", 1, 1, 1000)});
  bool seen = false;
  // Tries each n until only the last write fails. The last write is the write of the mark.
  for (int n = 1; n < 30 && !seen; ++n) {
    const CallStep step = MakeSubmit(absl::StrCat("key-", n), 1, 1, 1000);
    std::vector<CallWriter::Answer> answers;
    disk_.FillAtWrite(n, /*everywhere=*/true);
    const absl::Status status = writer_->Store(
        {&step}, [](const auto&) {}, &answers);
    seen = status.ok() && !answers[0].ok();
    disk_.MakeRoom();
    if (!seen) continue;
    EXPECT_TRUE(absl::IsResourceExhausted(answers[0].status()));
    const std::vector<CallWriter::Answer> next = Store({MakeSubmit(absl::StrCat("key-", n), 1, 2, 2000)});
    EXPECT_TRUE(next[0].ok() && next[0]->attempt.has_value());
  }
  EXPECT_TRUE(seen);
}

TEST_F(CallWriterTest, StillReturnsRecordsOnAFullDisk) {
  Store({MakeSubmit("a", 1, 1, 1000)});
  disk_.FillAtWrite(1, /*everywhere=*/true);
  const std::vector<CallStep> steps = {MakeSubmit("b", 1, 1), MakeSubmit("a", 2, 2)};
  std::vector<CallWriter::Answer> answers;
  EXPECT_TRUE(absl::IsResourceExhausted(writer_->Store(
      {&steps[0], &steps[1]}, [](const auto&) {}, &answers)));
  EXPECT_TRUE(absl::IsResourceExhausted(answers[0].status()));
  ASSERT_TRUE(answers[1].ok() && answers[1]->record.has_value());
  EXPECT_EQ(answers[1]->record->timestamp_ms, 1000u);
}

}  // namespace
}  // namespace stampgate
