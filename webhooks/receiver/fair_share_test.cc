#include "webhooks/receiver/fair_share.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace stampgate {
namespace {

TEST(FairShareTest, TheSourceWithTheMostGivesTheStakeWithTheGreatestWeight) {
  const std::vector<Stake> stakes = {{.source = "a", .amount = 30, .weight = 9},
                                     {.source = "b", .amount = 20, .weight = 1},
                                     {.source = "b", .amount = 1, .weight = 3},
                                     {.source = "b", .amount = 19, .weight = 2}};
  EXPECT_EQ(GiverOf(stakes, 0), 2u);
  EXPECT_EQ(GiverOf(stakes, 69), 2u);
  EXPECT_EQ(GiverOf(stakes, 70), std::nullopt);
}

TEST(FairShareTest, AStakeThatCannotGiveStillCounts) {
  std::vector<Stake> stakes = {{.source = "a", .amount = 50, .weight = 9, .can_give = false},
                               {.source = "a", .amount = 1, .weight = 1},
                               {.source = "b", .amount = 40}};
  EXPECT_EQ(GiverOf(stakes, 90), 1u);
  stakes[1].can_give = false;
  EXPECT_EQ(GiverOf(stakes, 90), 2u) << "the source with the most has no stake that can give";
  stakes[2].can_give = false;
  EXPECT_EQ(GiverOf(stakes, 90), std::nullopt);
}

TEST(FairShareTest, OfEqualSourcesAndStakesTheFirstOneGives) {
  const std::vector<Stake> stakes = {{.source = "a", .amount = 1},
                                     {.source = "b", .amount = 1},
                                     {.source = "b", .amount = 1},
                                     {.source = "a", .amount = 1}};
  EXPECT_EQ(GiverOf(stakes, 0), 0u);
}

TEST(FairShareTest, TheLowestStandingThatHasMoreThanItKeepsGives) {
  const auto giver = [](std::vector<size_t> amounts) {
    std::vector<Stake> stakes;
    for (size_t i = 0; i < amounts.size(); ++i) {
      stakes.push_back({.source = "a", .standing = static_cast<Standing>(i), .amount = amounts[i]});
    }
    return GiverOf(stakes, 10);
  };
  EXPECT_EQ(giver({11, 11, 11, 11}), 0u);
  EXPECT_EQ(giver({10, 11, 11, 11}), 1u);
  EXPECT_EQ(giver({10, 10, 11, 11}), 2u);
  EXPECT_EQ(giver({10, 10, 10, 11}), 3u);
  EXPECT_EQ(giver({10, 10, 10, 10}), std::nullopt);
  EXPECT_EQ(giver({}), std::nullopt);
}

TEST(FairShareTest, StandingsDependOnTheSourceAndThePath) {
  EXPECT_EQ(StandingOf(false, false), Standing::kStranger);
  EXPECT_EQ(StandingOf(true, false), Standing::kStrangerOfProvenSource);
  EXPECT_EQ(StandingOf(false, true), Standing::kKnowsPath);
  EXPECT_EQ(StandingOf(true, true), Standing::kProven);
}

// Compares random stakes with the rule as the header states it, which the test applies in the plainest way.
TEST(FairShareTest, FollowsTheRuleForRandomStakes) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same stakes each time
  const auto below = [&random](size_t bound) { return static_cast<size_t>(random() % bound); };
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  size_t gave = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<Stake> stakes(below(12));
    for (Stake& stake : stakes) {
      stake = {.source = names[below(4)],
               .standing = static_cast<Standing>(below(kStandings)),
               .amount = below(5),
               .weight = static_cast<double>(below(4)),
               .can_give = below(4) > 0};
    }
    const size_t kept = below(12);
    const std::optional<size_t> giver = GiverOf(stakes, kept);
    std::map<Standing, size_t> in_standing;
    std::map<std::pair<Standing, std::string>, size_t> of_source;
    for (const Stake& stake : stakes) {
      in_standing[stake.standing] += stake.amount;
      of_source[{stake.standing, std::string(stake.source)}] += stake.amount;
    }
    const auto amount = [&](const Stake& stake) { return of_source[{stake.standing, std::string(stake.source)}]; };
    // No other stake may be a better choice.
    for (size_t i = 0; i < stakes.size(); ++i) {
      const Stake& other = stakes[i];
      if (!other.can_give || in_standing[other.standing] <= kept) continue;
      ASSERT_TRUE(giver.has_value()) << round;
      const Stake& chosen = stakes[*giver];
      ASSERT_LE(chosen.standing, other.standing) << round;
      if (chosen.standing != other.standing) continue;
      ASSERT_GE(amount(chosen), amount(other)) << round;
      if (chosen.source == other.source) {
        ASSERT_GE(chosen.weight, other.weight) << round;
      }
    }
    if (!giver.has_value()) continue;
    ++gave;
    ASSERT_TRUE(stakes[*giver].can_give) << round;
    ASSERT_GT(in_standing[stakes[*giver].standing], kept) << round;
  }
  EXPECT_GT(gave, 1000u);
}

}  // namespace
}  // namespace stampgate
