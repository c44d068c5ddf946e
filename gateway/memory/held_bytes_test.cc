#include "gateway/memory/held_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "translate/error.h"

namespace stampgate {
namespace {

class HeldBytesTest : public ::testing::Test {
 protected:
  ~HeldBytesTest() override { EXPECT_EQ(memory_->bytes(), MemoryAccount::kConnectionBytes); }

  int64_t held() const { return memory_->bytes() - MemoryAccount::kConnectionBytes; }

  const std::shared_ptr<MemoryAccount> memory_ =
      std::make_shared<MemoryAccount>(MemoryAccount::Limits{.max_bytes_per_connection = 8 << 20});
  const std::shared_ptr<MemoryHolder> holder_ = memory_->Open("a", [](MemoryBound) {});
};

TEST_F(HeldBytesTest, ReservesWhatItHoldsUntilItsEnd) {
  HeldBytes bytes(holder_);
  EXPECT_TRUE(bytes.Resize(100).ok());
  EXPECT_EQ(held(), 100);
  EXPECT_TRUE(bytes.Resize(300).ok());
  EXPECT_EQ(held(), 300);
  EXPECT_TRUE(bytes.Resize(50).ok());
  EXPECT_EQ(held(), 50);
  HeldBytes moved(std::move(bytes));
  HeldBytes assigned;
  assigned = std::move(moved);
  EXPECT_EQ(held(), 50);
  assigned.Free();
  EXPECT_EQ(held(), 0);
  EXPECT_TRUE(assigned.Resize(7).ok());
  EXPECT_EQ(held(), 7);
}

TEST_F(HeldBytesTest, TheFirstBytesAreFree) {
  HeldBytes bytes(holder_, 100);
  EXPECT_TRUE(bytes.Resize(100).ok());
  EXPECT_FALSE(bytes.reserves());
  EXPECT_TRUE(bytes.Resize(101).ok());
  EXPECT_TRUE(bytes.reserves());
  EXPECT_EQ(held(), 1);
}

TEST_F(HeldBytesTest, ARefusalNamesTheBoundAndChangesNothing) {
  HeldBytes bytes(holder_);
  EXPECT_TRUE(bytes.Resize(1000).ok());
  const absl::Status refused = bytes.Resize(8 << 20);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorReasonOf(refused), "TOO_MUCH_MEMORY");
  EXPECT_EQ(refused.message(),
            "the calls of this connection hold too much of the gateway's memory: the limit is "
            "memory.max_bytes_per_connection, 8388608 bytes");
  EXPECT_EQ(held(), 1000);
}

TEST_F(HeldBytesTest, WithoutAHolderEverythingFits) {
  HeldBytes bytes;
  EXPECT_TRUE(bytes.Resize(size_t{1} << 40).ok());
  EXPECT_FALSE(bytes.reserves());
}

}  // namespace
}  // namespace stampgate
