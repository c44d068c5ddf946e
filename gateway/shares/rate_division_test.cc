#include "gateway/shares/rate_division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using Demand = std::vector<CallerDemand>;

std::vector<RateDivision> Divide(const std::vector<Demand>& replicas) {
  std::vector<const Demand*> all;
  for (const Demand& replica : replicas) all.push_back(&replica);
  std::vector<RateDivision> divisions;
  for (size_t i = 0; i < all.size(); ++i) divisions.push_back(DivideRate(all, i));
  return divisions;
}

std::vector<Millionths> SharesOf(const std::vector<Demand>& replicas) {
  std::vector<Millionths> shares;
  for (const RateDivision& division : Divide(replicas)) shares.push_back(division.share);
  return shares;
}

TEST(RateDivisionTest, OneReplicaHasTheWholeRate) {
  EXPECT_EQ(SharesOf({{}}), std::vector<Millionths>{kWhole});
  EXPECT_EQ(SharesOf({{{"a", 3, 900'000}, {"b", 1, kWhole}}}), std::vector<Millionths>{kWhole});
}

TEST(RateDivisionTest, ReplicasWithoutDemandGetEqualShares) {
  EXPECT_EQ(SharesOf({{}, {}, {}, {}}), std::vector<Millionths>(4, kWhole / 4));
}

TEST(RateDivisionTest, AReplicaWithoutDemandLeavesTheRateToTheOthers) {
  EXPECT_EQ(SharesOf({{{"a", 1, kWhole}}, {}}), (std::vector<Millionths>{kWhole, 0}));
}

TEST(RateDivisionTest, CallersShareTheRateByTheirWeights) {
  EXPECT_EQ(SharesOf({{{"a", 3, kWhole}}, {{"b", 1, kWhole}}}), (std::vector<Millionths>{750'000, 250'000}));
}

TEST(RateDivisionTest, ACallerAtThreeReplicasGetsItsWeightOnce) {
  const std::vector<RateDivision> divisions =
      Divide({{{"a", 1, kWhole}, {"b", 1, kWhole}}, {{"a", 1, kWhole}}, {{"a", 1, kWhole}}});
  EXPECT_EQ(divisions[0].share, 666'666);
  EXPECT_EQ(divisions[1].share, 166'666);
  // At the first replica, "b" gets three times as much as "a".
  EXPECT_NEAR(divisions[0].weight_parts.at("a"), 1.0 / 3, 1e-9);
  EXPECT_NEAR(divisions[0].weight_parts.at("b"), 1, 1e-9);
}

TEST(RateDivisionTest, ACallerGetsNoMoreThanItWantsAndTheOthersGetTheRest) {
  EXPECT_EQ(SharesOf({{{"a", 1, 100'000}}, {{"b", 1, kWhole}}, {{"c", 2, kWhole}}}),
            (std::vector<Millionths>{100'000, 300'000, 600'000}));
}

TEST(RateDivisionTest, ACallersPartFollowsItsDemandAtEachReplica) {
  EXPECT_EQ(SharesOf({{{"a", 1, 50'000}}, {{"a", 1, kWhole}, {"b", 1, kWhole}}}),
            (std::vector<Millionths>{50'000, 950'000}));
}

TEST(RateDivisionTest, TheRestOfTheRateIsDividedEqually) {
  EXPECT_EQ(SharesOf({{{"a", 1, 300'000}}, {{"b", 1, 100'000}}, {}}),
            (std::vector<Millionths>{500'000, 300'000, 200'000}));
}

// Returns how many calls each replica can use of a rate of `calls`, of which the replicas keep a part as a reserve.
std::vector<double> CallsOf(const std::vector<Demand>& replicas, int64_t calls) {
  const double reserve = 0.02;
  const double reserved = reserve / static_cast<double>(replicas.size());
  std::vector<const Demand*> all;
  for (const Demand& replica : replicas) all.push_back(&replica);
  std::vector<double> result;
  for (size_t i = 0; i < all.size(); ++i) {
    const RateDivision division = DivideRate(all, i, {.calls = calls, .reserved = reserved, .divided = 1 - reserve});
    const double share = static_cast<double>(division.share) / static_cast<double>(kWhole);
    result.push_back(((1 - reserve) * share + reserved) * static_cast<double>(calls));
  }
  return result;
}

TEST(RateDivisionTest, SharesAreWholeCallsThatAreTheWholeRate) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Demand> replicas(3);
    for (Demand& replica : replicas) {
      for (const char* caller : {"a", "b", "c"}) {
        replica.push_back({caller, 1, std::uniform_int_distribution<Millionths>(300'000, kWhole)(random)});
      }
    }
    double sum = 0;
    for (const double calls : CallsOf(replicas, 61)) {
      EXPECT_NEAR(calls, std::round(calls), 1e-3);
      sum += calls;
    }
    EXPECT_NEAR(sum, 61, 1e-3);
  }
}

TEST(RateDivisionTest, TheLargestFractionsAreRoundedUp) {
  const Demand much = {{"a", 1, kWhole}};
  const std::vector<double> calls = CallsOf({much, much, much}, 62);
  EXPECT_NEAR(calls[0], 21, 1e-3);
  EXPECT_NEAR(calls[1], 21, 1e-3);
  EXPECT_NEAR(calls[2], 20, 1e-3);
}

TEST(RateDivisionTest, AShareOfLessThanOneCallIsNotRounded) {
  const Demand much = {{"a", 1, kWhole}};
  for (const double calls : CallsOf({much, much, much}, 2)) EXPECT_NEAR(calls, 2.0 / 3, 1e-3);
}

// The weights and demands that a defective or hostile replica could state.
TEST(RateDivisionTest, SenselessNumbersDoNoHarm) {
  for (const int64_t weight : {INT64_MIN, int64_t{0}, INT64_MAX}) {
    for (const int64_t wanted : {INT64_MIN, int64_t{0}, INT64_MAX}) {
      const std::vector<Millionths> shares = SharesOf({{{"a", weight, wanted}}, {{"b", 1, kWhole}}});
      for (const Millionths share : shares) {
        EXPECT_GE(share, 0);
        EXPECT_LE(share, kWhole);
      }
      EXPECT_LE(shares[0] + shares[1], kWhole);
    }
  }
}

TEST(RateDivisionTest, SharesOfRandomDemandsAreTheWholeRateAndMaxMinFair) {
  std::mt19937 random(1);
  const auto upto = [&random](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  for (int round = 0; round < 2000; ++round) {
    std::vector<Demand> replicas(static_cast<size_t>(1 + upto(5)));
    const int64_t callers = upto(6);
    std::vector<int64_t> weights;
    std::vector<int64_t> wanted(static_cast<size_t>(callers));
    for (int64_t c = 0; c < callers; ++c) weights.push_back(1 + upto(9));
    for (Demand& replica : replicas) {
      for (int64_t c = 0; c < callers; ++c) {
        if (upto(1) == 0) continue;
        const int64_t wants = upto(1) == 0 ? upto(100'000) : upto(kWhole);
        replica.push_back({std::string(1, static_cast<char>('a' + c)), weights[static_cast<size_t>(c)], wants});
        wanted[static_cast<size_t>(c)] += wants;
      }
    }
    const std::vector<RateDivision> divisions = Divide(replicas);
    Millionths sum = 0;
    for (const RateDivision& division : divisions) sum += division.share;
    EXPECT_LE(sum, kWhole);
    EXPECT_GE(sum, kWhole - static_cast<Millionths>(replicas.size()));
    // The parts of a caller's weight at all replicas are its whole weight.
    for (int64_t c = 0; c < callers; ++c) {
      if (wanted[static_cast<size_t>(c)] == 0) continue;
      double parts = 0;
      for (const RateDivision& division : divisions) {
        const auto part = division.weight_parts.find(std::string(1, static_cast<char>('a' + c)));
        if (part != division.weight_parts.end()) parts += part->second;
      }
      EXPECT_NEAR(parts, 1, 1e-6);
    }
  }
}

}  // namespace
}  // namespace stampgate
