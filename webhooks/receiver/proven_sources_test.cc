#include "webhooks/receiver/proven_sources.h"

#include <gtest/gtest.h>

#include <string>

namespace stampgate {
namespace {

constexpr ProvenSources::Time kStart{std::chrono::hours(1000)};

TEST(ProvenSourcesTest, ASourceIsProvenForADayAfterItsLastValidDelivery) {
  ProvenSources sources;
  EXPECT_FALSE(sources.Has("a", kStart));
  sources.Prove("a", kStart);
  EXPECT_TRUE(sources.Has("a", kStart));
  EXPECT_FALSE(sources.Has("b", kStart));
  const ProvenSources::Time last = kStart + std::chrono::hours(10);
  sources.Prove("a", last);
  EXPECT_TRUE(sources.Has("a", last + ProvenSources::kTime - std::chrono::nanoseconds(1)));
  EXPECT_FALSE(sources.Has("a", last + ProvenSources::kTime));
}

TEST(ProvenSourcesTest, OneSourceMoreThanTheLimitReplacesTheOldest) {
  ProvenSources sources;
  for (size_t i = 0; i < ProvenSources::kMost; ++i) {
    sources.Prove(std::to_string(i), kStart + std::chrono::seconds(i));
  }
  const ProvenSources::Time now = kStart + std::chrono::hours(1);
  sources.Prove("0", now);
  for (size_t i = 0; i < ProvenSources::kMost; ++i) EXPECT_TRUE(sources.Has(std::to_string(i), now)) << i;
  sources.Prove("new", now);
  EXPECT_TRUE(sources.Has("new", now));
  EXPECT_TRUE(sources.Has("0", now));
  EXPECT_FALSE(sources.Has("1", now));
  EXPECT_TRUE(sources.Has("2", now));
}

}  // namespace
}  // namespace stampgate
