#include "webhooks/log/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {
namespace {

// The results were computed with an implementation of SipHash-2-4 in Python, which returns the published test vector.
TEST(PartitionTest, NeverChanges) {
  EXPECT_EQ(PartitionOf(""), 14u);
  EXPECT_EQ(PartitionOf("=a"), 4u);
  EXPECT_EQ(PartitionOf("#17"), 12u);
  EXPECT_EQ(PartitionOf("=organization 11111111-2222-4333-8444-555555555555"), 12u);
}

TEST(PartitionTest, EveryPartitionHasKeys) {
  std::set<size_t> partitions;
  for (int i = 0; i < 200; ++i) partitions.insert(PartitionOf(absl::StrCat("=key ", i)));
  EXPECT_THAT(partitions, ::testing::SizeIs(kPartitions));
}

}  // namespace
}  // namespace stampgate
