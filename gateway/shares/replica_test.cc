#include "gateway/shares/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/shares/virtual_replicas.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

const std::string kRate = "upstream";

// A demand of one caller for so much of the rate.
std::vector<RateDemand> Wanting(const std::string& caller, Millionths wanted, int64_t weight = 1) {
  return {{kRate, {{caller, weight, wanted}}}};
}
std::vector<RateDemand> Idle() { return {{kRate, {}}}; }

class ReplicaTest : public testing::Test {
 protected:
  std::vector<Millionths> Usable() {
    std::vector<Millionths> usable;
    for (size_t i = 0; i < replicas_.size(); ++i) usable.push_back(replicas_.Usable(i, kRate));
    return usable;
  }
  double ShareOf(size_t place, const std::string& rate) {
    return replicas_.member(place).replica->held()->Share(rate, replicas_.ClockOf(place));
  }
  void Settle() { replicas_.Pass(absl::Seconds(2)); }

  VirtualReplicas replicas_{1};
};

TEST_F(ReplicaTest, AReplicaThatIsAloneHasTheWholeRateAfterItsFirstRenewal) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Pass(absl::Milliseconds(20));
  EXPECT_THAT(Usable(), ElementsAre(kWhole));
  EXPECT_EQ(ShareOf(0, kRate), 1);
}

TEST_F(ReplicaTest, ReplicasWithoutDemandHaveEqualShares) {
  for (int i = 0; i < 4; ++i) replicas_.Add(Idle());
  Settle();
  EXPECT_THAT(Usable(), ElementsAre(kWhole / 4, kWhole / 4, kWhole / 4, kWhole / 4));
  EXPECT_EQ(ShareOf(0, kRate), 0.25);
}

TEST_F(ReplicaTest, AReplicaWithoutDemandKeepsAPartOfTheReserveOfEveryRate) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Idle());
  Settle();
  EXPECT_DOUBLE_EQ(ShareOf(0, kRate), 0.99);
  EXPECT_DOUBLE_EQ(ShareOf(1, kRate), 0.01);
  EXPECT_DOUBLE_EQ(ShareOf(1, "a rate that no replica has used"), 0.01);
}

TEST_F(ReplicaTest, DemandMovesSharesWithinTwoRenewals) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Idle());
  Settle();
  replicas_.member(1).demand = Wanting("b", kWhole);
  // Up to one interval until the next renewal states the demand, and two more renewals.
  replicas_.Pass(3 * Replica::kInterval + absl::Milliseconds(20));
  EXPECT_THAT(Usable(), ElementsAre(kWhole / 2, kWhole / 2));
  replicas_.member(0).demand = Idle();
  replicas_.Pass(3 * Replica::kInterval + absl::Milliseconds(20));
  EXPECT_THAT(Usable(), ElementsAre(0, kWhole));
}

TEST_F(ReplicaTest, AShareThatBecomesSmallerIsConfirmedWithoutDelay) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Idle());
  Settle();
  replicas_.member(1).demand = Wanting("b", kWhole);
  const absl::Duration before = replicas_.now();
  while (replicas_.store().Sum(kRate) == kWhole && replicas_.now() < before + absl::Seconds(5)) {
    replicas_.Pass(VirtualReplicas::kTick);
  }
  // The first replica learns of the demand with its next renewal, and does not wait for another interval.
  EXPECT_LE(replicas_.now() - before, 2 * Replica::kInterval + absl::Milliseconds(30));
}

TEST_F(ReplicaTest, TheShareOfADeadReplicaIsUsedWithinASecond) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    VirtualReplicas replicas(seed);
    for (const char* caller : {"a", "b", "c"}) replicas.Add(Wanting(caller, kWhole));
    replicas.Pass(absl::Seconds(2) + absl::Milliseconds(7 * seed));
    replicas.Kill(0);
    replicas.Pass(absl::Seconds(1));
    EXPECT_EQ(replicas.Usable(1, kRate) + replicas.Usable(2, kRate), kWhole) << seed;
  }
}

TEST_F(ReplicaTest, AReplicaWithoutTheStoreKeepsAtMostItsLastShareAndLaterAnEqualPart) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Wanting("b", 100'000));
  Settle();
  EXPECT_THAT(Usable(), ElementsAre(900'000, 100'000));
  for (size_t i = 0; i < 2; ++i) replicas_.member(i).is_cut_off = true;
  replicas_.Pass(absl::Seconds(1));
  EXPECT_THAT(Usable(), ElementsAre(500'000, 100'000));
  replicas_.Pass(HeldShares::kAbsence);
  EXPECT_THAT(Usable(), ElementsAre(500'000, 500'000)) << "the sum is not larger than the rate";
  EXPECT_EQ(ShareOf(1, "a rate that no replica has used"), 0.5);
  for (size_t i = 0; i < 2; ++i) replicas_.member(i).is_cut_off = false;
  replicas_.Pass(absl::Seconds(1));
  EXPECT_THAT(Usable(), ElementsAre(900'000, 100'000));
}

TEST_F(ReplicaTest, OneReplicaOfThreeWithoutTheStoreAddsAtMostAThirdOfTheRate) {
  for (const char* caller : {"a", "b", "c"}) replicas_.Add(Wanting(caller, kWhole));
  Settle();
  replicas_.member(0).is_cut_off = true;
  Millionths most = 0;
  replicas_.Pass(absl::Minutes(1), [&] {
    EXPECT_LE(replicas_.SumInForce(kRate), kWhole);
    const std::vector<Millionths> usable = Usable();
    most = std::max(most, usable[0] + usable[1] + usable[2]);
  });
  EXPECT_LE(most, kWhole + kWhole / 3);
  replicas_.member(0).is_cut_off = false;
  replicas_.Pass(absl::Seconds(1));
  EXPECT_THAT(Usable(), ElementsAre(kWhole / 3, kWhole / 3, kWhole / 3));
}

TEST_F(ReplicaTest, AReplicaThatHasNeverReachedTheStoreHasAnEighth) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.member(0).is_cut_off = true;
  Settle();
  EXPECT_EQ(ShareOf(0, kRate), 0.125);
  replicas_.member(0).is_cut_off = false;
  replicas_.Pass(absl::Milliseconds(300));
  EXPECT_EQ(ShareOf(0, kRate), 1);
}

TEST_F(ReplicaTest, AProcessThatWakesDoesNotUseItsOldShare) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Wanting("b", kWhole));
  Settle();
  replicas_.member(0).is_paused = true;
  replicas_.Pass(absl::Seconds(3));
  EXPECT_EQ(replicas_.InForce(0, kRate), 0);
  EXPECT_EQ(replicas_.Usable(1, kRate), kWhole);
  replicas_.member(0).is_paused = false;
  replicas_.Pass(absl::Seconds(1), [&] { EXPECT_LE(replicas_.SumInForce(kRate), kWhole); });
  EXPECT_THAT(Usable(), ElementsAre(kWhole / 2, kWhole / 2));
}

// The process slept, and not the others.
TEST_F(ReplicaTest, AProcessThatWakesDoesNotDeclareTheOthersSilent) {
  replicas_.Add(Wanting("a", kWhole));
  replicas_.Add(Wanting("b", kWhole));
  Settle();
  replicas_.member(0).is_paused = true;
  replicas_.Pass(absl::Seconds(3));
  replicas_.member(0).is_paused = false;
  replicas_.Pass(absl::Milliseconds(100), [&] {
    EXPECT_LE(replicas_.SumInForce(kRate), kWhole);
    EXPECT_GE(replicas_.InForce(1, kRate), kWhole / 2);
  });
  EXPECT_EQ(replicas_.member(0).replica->held()->replicas, 2);
}

TEST_F(ReplicaTest, AServerThatLosesTheTableGetsTheSameSharesAgain) {
  for (const char* caller : {"a", "b", "c"}) replicas_.Add(Wanting(caller, kWhole));
  Settle();
  replicas_.store().Clear();
  replicas_.Pass(absl::Seconds(2), [&] {
    EXPECT_LE(replicas_.SumInForce(kRate), kWhole);
    EXPECT_GE(replicas_.SumInForce(kRate), kWhole - 3);
  });
}

// A replica that begins before the others have stated their shares again gets the whole rate, until theirs end.
TEST_F(ReplicaTest, AfterALossOfTheTableSharesAreUsedTwiceForHalfASecondAtMost) {
  for (const char* caller : {"a", "b"}) replicas_.Add(Wanting(caller, kWhole));
  Settle();
  replicas_.store().Clear();
  for (size_t i = 0; i < 2; ++i) replicas_.member(i).is_cut_off = true;
  replicas_.Add(Wanting("c", kWhole));
  replicas_.Pass(Replica::kLasts, [&] { EXPECT_LE(replicas_.SumInForce(kRate), 2 * kWhole); });
  replicas_.Pass(absl::Seconds(3), [&] { EXPECT_LE(replicas_.SumInForce(kRate), kWhole); });
  for (size_t i = 0; i < 2; ++i) replicas_.member(i).is_cut_off = false;
  replicas_.Pass(absl::Seconds(3), [&] { EXPECT_LE(replicas_.SumInForce(kRate), kWhole); });
  EXPECT_THAT(Usable(), ElementsAre(kWhole / 3, kWhole / 3, kWhole / 3));
}

TEST_F(ReplicaTest, ARenewalThatArrivesAfterALaterOneChangesNothing) {
  Replica replica("a");
  const ShareRenewal first = replica.Begin(Wanting("a", kWhole), absl::UnixEpoch());
  replica.End(first, absl::UnavailableError("lost"), absl::UnixEpoch(), absl::UnixEpoch());
  const ShareRenewal second = replica.Begin(Idle(), absl::UnixEpoch());
  EXPECT_TRUE(replicas_.store().Renew(second).ok());
  EXPECT_EQ(replicas_.store().Renew(first).status().code(), absl::StatusCode::kAborted);
}

TEST_F(ReplicaTest, ARenewalNamesOnlyTheCallersWithTheLargestDemand) {
  std::vector<RateDemand> demand = {{"x", {}}, {"y", {}}};
  for (int i = 0; i < 1000; ++i) demand[static_cast<size_t>(i % 2)].callers.push_back({absl::StrCat("c", i), 1, i});
  const ShareRenewal renewal = Replica("a").Begin(demand, absl::UnixEpoch());
  size_t named = 0;
  for (const RateDemand& rate : renewal.demand) {
    for (const CallerDemand& caller : rate.callers) EXPECT_GE(caller.wanted, 1000 - int64_t{Replica::kMaxCallers});
    named += rate.callers.size();
  }
  EXPECT_EQ(named, Replica::kMaxCallers);
}

}  // namespace
}  // namespace stampgate
