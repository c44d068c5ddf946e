#include "gateway/calls/disk_waits.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace stampgate {
namespace {

class DiskWaitsTest : public ::testing::Test {
 protected:
  DiskWaits::Done<int> Guard(DiskWaits::Writer writer = DiskWaits::Writer::kAuditLog) {
    return waits_.Guard<int>(
        writer, [this](absl::StatusOr<int> answer) { answers_.push_back(std::move(answer)); },
        [this](int value) { late_.push_back(value); });
  }

  DiskWaits waits_;
  std::vector<absl::StatusOr<int>> answers_;
  std::vector<int> late_;
};

TEST_F(DiskWaitsTest, PassesOnTheWritersResult) {
  auto first = Guard();
  auto second = Guard();
  second(absl::ResourceExhaustedError("full"));
  first(7);
  waits_.EndAll();
  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_TRUE(absl::IsResourceExhausted(answers_[0].status()));
  EXPECT_EQ(answers_[1].value(), 7);
  EXPECT_TRUE(late_.empty());
}

TEST_F(DiskWaitsTest, EndsCallsThatWaitForAHangingDisk) {
  auto hanging = Guard();
  waits_.EndAll();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(answers_[0].status()));
  waits_.EndAll();
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(DiskWaitsTest, EndsOnlyTheCallsThatWaitForTheDiskThatHangs) {
  auto hanging = Guard(DiskWaits::Writer::kCallStore);
  auto other = Guard(DiskWaits::Writer::kAuditLog);
  waits_.End(DiskWaits::Writer::kCallStore);
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(answers_[0].status()));
  other(7);
  hanging(8);
  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_EQ(answers_[1].value(), 7);
  EXPECT_EQ(late_, std::vector<int>{8});
}

TEST_F(DiskWaitsTest, UndoesWhatIsWrittenAfterEndAll) {
  auto written = Guard();
  auto failed = Guard();
  waits_.EndAll();
  written(7);
  failed(absl::UnavailableError("closed"));
  EXPECT_EQ(answers_.size(), 2u);
  EXPECT_EQ(late_, std::vector<int>{7});
}

TEST_F(DiskWaitsTest, KeepsNoReferenceToAnEndedCall) {
  auto call = std::make_shared<int>(0);
  auto guard = waits_.Guard<int>(
      DiskWaits::Writer::kAuditLog, [call](const absl::StatusOr<int>&) {}, [](int) {});
  guard(1);
  guard = nullptr;
  EXPECT_EQ(call.use_count(), 1);
}

TEST_F(DiskWaitsTest, CallsDoneOnceInARace) {
  for (int round = 0; round < 2000; ++round) {
    DiskWaits waits;
    int answers = 0;
    int late = 0;
    auto guard = waits.Guard<int>(
        DiskWaits::Writer::kAuditLog, [&](const absl::StatusOr<int>&) { ++answers; }, [&](int) { ++late; });
    std::thread writer([&] { guard(1); });
    waits.EndAll();
    writer.join();
    ASSERT_EQ(answers, 1);
    ASSERT_LE(late, 1);
  }
}

}  // namespace
}  // namespace stampgate
