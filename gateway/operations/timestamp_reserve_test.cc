#include "gateway/operations/timestamp_reserve.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace stampgate {
namespace {

constexpr uint64_t kNowMs = 1755500000000;

// A store that calls `done` before RaiseTimestamps returns. While `hangs` is true, the store does not call `done`, and
// keeps it for the test.
class FakeStore : public CallStore {
 public:
  void Begin(KeyedSubmit, OnDecided, OnBegun) override {}
  void End(AttemptId, AttemptEnd) override {}
  uint64_t timestamp_floor_ms() const override { return floor_ms; }
  std::optional<TimestampLease> timestamp_lease() const override { return lease; }
  void RaiseTimestamps(uint64_t ms, absl::AnyInvocable<void(absl::Status)> done) override {
    raised.push_back(ms);
    if (hangs) {
      waiting.push_back(std::move(done));
    } else {
      done(status);
    }
  }
  absl::Duration WriteUnderWay() const override { return absl::ZeroDuration(); }
  void Close(uint64_t) override {}

  std::vector<uint64_t> raised;
  std::vector<absl::AnyInvocable<void(absl::Status)>> waiting;
  bool hangs = false;
  bool is_shared = false;
  uint64_t floor_ms = 0;
  std::optional<TimestampLease> lease;
  absl::Status status;
};

class TimestampReserveTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<TimestampReserve>> Start() {
    return TimestampReserve::Start(store_, timestamps_, store_.is_shared,
                                   [this] { return absl::FromUnixMillis(now_ms_); });
  }
  std::optional<uint64_t> Choose() { return timestamps_.Choose(1, absl::FromUnixMillis(now_ms_)).value; }

  FakeStore store_;
  TimestampAllocator timestamps_{kNowMs - 1000, {0, 1}};
  int64_t now_ms_ = kNowMs;
};

TEST_F(TimestampReserveTest, SetsTheMarkABlockAheadOfTheClockBeforeTheFirstValueIsChosen) {
  auto mark = Start();
  ASSERT_TRUE(mark.ok()) << mark.status();
  EXPECT_EQ(store_.raised, std::vector<uint64_t>({kNowMs + 10'000}));
  EXPECT_EQ(Choose(), kNowMs);
}

TEST_F(TimestampReserveTest, SetsTheMarkABlockAheadOfAFloorThatIsAheadOfTheClock) {
  now_ms_ = kNowMs - 20'000;
  auto mark = Start();
  ASSERT_TRUE(mark.ok());
  EXPECT_EQ(store_.raised, std::vector<uint64_t>({kNowMs + 9'000}));
  EXPECT_EQ(Choose(), kNowMs - 1000);
}

TEST_F(TimestampReserveTest, DoesNotStartIfTheStoreCannotRaiseTheMark) {
  store_.status = absl::UnavailableError("full");
  EXPECT_EQ(Start().status(), store_.status);
  EXPECT_EQ(Choose(), std::nullopt);
}

TEST_F(TimestampReserveTest, WaitsForTheServerOfASharedStoreAndThenUsesItsLease) {
  store_.is_shared = true;
  store_.status = absl::UnavailableError("the server cannot be reached");
  auto mark = Start();
  ASSERT_TRUE(mark.ok());
  EXPECT_EQ(Choose(), std::nullopt);
  store_.status = absl::OkStatus();
  store_.lease = TimestampLease{5, 64};
  store_.floor_ms = kNowMs + 3000;
  now_ms_ += 4000;
  (*mark)->Raise([](const absl::Status&) {});
  const uint64_t first = Choose().value();
  EXPECT_GE(first, kNowMs + 4000);
  EXPECT_EQ(first % 64, 5u);
}

TEST_F(TimestampReserveTest, UsesAnotherLeaseAboveItsFloor) {
  store_.lease = TimestampLease{5, 64};
  auto mark = Start();
  ASSERT_TRUE(mark.ok());
  EXPECT_EQ(Choose().value() % 64, 5u);
  store_.lease = TimestampLease{9, 64};
  store_.floor_ms = kNowMs + 4500;
  now_ms_ += 4000;
  (*mark)->Raise([](const absl::Status&) {});
  const uint64_t next = Choose().value();
  EXPECT_GE(next, kNowMs + 4500);
  EXPECT_EQ(next % 64, 9u);
}

TEST_F(TimestampReserveTest, RaisesTheMarkWithTheClockAndNeverLowersIt) {
  auto mark = Start();
  ASSERT_TRUE(mark.ok());
  now_ms_ += 10'000;
  (*mark)->Raise([](const absl::Status&) {});
  now_ms_ -= 3'600'000;
  (*mark)->Raise([](const absl::Status&) {});
  EXPECT_EQ(store_.raised, std::vector<uint64_t>({kNowMs + 10'000, kNowMs + 20'000}));
}

TEST_F(TimestampReserveTest, NoValueIsChosenBeforeTheStoreHasWrittenItsMark) {
  auto mark = Start();
  ASSERT_TRUE(mark.ok());
  store_.hangs = true;
  now_ms_ += 3'600'000;
  (*mark)->Raise([](const absl::Status&) {});
  EXPECT_EQ(Choose(), kNowMs + 9'000);  // one second below the first mark, which has not been raised
  store_.waiting.front()(absl::OkStatus());
  EXPECT_EQ(Choose(), now_ms_);
}

}  // namespace
}  // namespace stampgate
