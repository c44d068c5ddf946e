#include "gateway/shares/quota_blocks.h"

#include <gtest/gtest.h>

#include <memory>

#include "gateway/shares/memory_quota_store.h"

namespace stampgate {
namespace {

const absl::Duration kDay = absl::Hours(24);
const QuotaLimit kLimit{"a", kDay, 1000};

// A store that fails if the test wants this, and counts its uses.
class TestStore final : public QuotaStore {
 public:
  absl::StatusOr<QuotaBlock> Take(const QuotaLimit& limit, int64_t wanted) override {
    ++takes;
    if (fails) return absl::UnavailableError("lost");
    return memory_->Take(limit, wanted);
  }
  absl::Status Return(const QuotaLimit& limit, int64_t part, int64_t calls) override {
    if (fails) return absl::UnavailableError("lost");
    returned += calls;
    return memory_->Return(limit, part, calls);
  }

  absl::Time now = absl::FromUnixSeconds(1'700'000'100);
  bool fails = false;
  int takes = 0;
  int64_t returned = 0;

 private:
  std::unique_ptr<QuotaStore> memory_ = MakeMemoryQuotaStore([this] { return now; });
};

class QuotaBlocksTest : public testing::Test {
 protected:
  absl::Status Refill(int64_t waiting = 0) { return blocks_.Refill({{kLimit, begun_, waiting}}, store_, store_.now); }
  int64_t Left() const { return blocks_.held()->Find("a", kDay).Left(begun_, store_.now); }

  TestStore store_;
  QuotaBlocks blocks_;
  int64_t begun_ = 70;
};

TEST_F(QuotaBlocksTest, ABlockIsTakenBeforeACallWaits) {
  EXPECT_EQ(Left(), 0);
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(Left(), 5);
  EXPECT_EQ(blocks_.held()->Find("a", absl::Hours(1)).Left(begun_, store_.now), 0) << "another window";
}

TEST_F(QuotaBlocksTest, TheNextBlockIsTakenWhenHalfIsLeft) {
  EXPECT_EQ(Refill(), absl::OkStatus());
  begun_ += 2;
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(store_.takes, 1);
  begun_ += 1;
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(store_.takes, 2);
  EXPECT_EQ(Left(), 5);
}

TEST_F(QuotaBlocksTest, CallsThatWaitMakeTheBlockLarger) {
  EXPECT_EQ(Refill(/*waiting=*/60), absl::OkStatus());
  EXPECT_EQ(Left(), 60);
}

TEST_F(QuotaBlocksTest, WithoutTheStoreTheReplicaBeginsOnlyTheCallsOfItsBlock) {
  EXPECT_EQ(Refill(), absl::OkStatus());
  store_.fails = true;
  begun_ += 4;
  EXPECT_EQ(Refill().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Left(), 1);
  store_.fails = false;
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(Left(), 5);
}

TEST_F(QuotaBlocksTest, ABlockThatHasEndedIsGivenBackAndNotUsed) {
  EXPECT_EQ(Refill(), absl::OkStatus());
  begun_ += 1;
  store_.now += kDay / QuotaLimit::kParts;
  EXPECT_EQ(Left(), 0);
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(store_.returned, 4);
  EXPECT_EQ(Left(), 5);
}

TEST_F(QuotaBlocksTest, ABlockThatCouldNotBeGivenBackIsLostAndNotUsed) {
  EXPECT_EQ(Refill(), absl::OkStatus());
  store_.now += kDay / QuotaLimit::kParts;
  store_.fails = true;
  EXPECT_FALSE(Refill().ok());
  EXPECT_EQ(Left(), 0);
  store_.fails = false;
  EXPECT_EQ(Refill(), absl::OkStatus());
  EXPECT_EQ(store_.returned, 0);
  EXPECT_EQ(Left(), 5);
}

TEST_F(QuotaBlocksTest, AnOrderlyEndGivesBackTheRest) {
  EXPECT_EQ(Refill(), absl::OkStatus());
  begun_ += 2;
  blocks_.Return({{kLimit, begun_, 0}}, store_);
  EXPECT_EQ(store_.returned, 3);
  EXPECT_EQ(Left(), 0);
}

}  // namespace
}  // namespace stampgate
