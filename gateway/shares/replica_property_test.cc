// In random sequences of renewals, lost and late messages, deaths, pauses and clocks of different speed, replicas never
// use more than the whole of a rate by the store's grants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/replica.h"
#include "gateway/shares/virtual_replicas.h"

namespace stampgate {
namespace {

constexpr size_t kMaxReplicas = 6;

class Round {
 public:
  explicit Round(unsigned seed) : replicas_(seed) {
    replicas_.loss = Chance() < 0.5 ? 0 : 0.3 * Chance();
    replicas_.slowest = absl::Milliseconds(5 + Upto(Chance() < 0.5 ? 20 : 300));
    for (int64_t i = 0; i <= Upto(3); ++i) Add();
  }

  void Run() {
    for (int step = 0; step < 60; ++step) {
      Disturb();
      replicas_.Pass(absl::Milliseconds(Upto(700)), [this] { Check(); });
    }
    // Whatever has happened, the living replicas have the whole rate again soon.
    replicas_.loss = 0;
    replicas_.slowest = absl::Milliseconds(5);
    if (living_.empty()) Add();
    for (const size_t place : living_) {
      replicas_.member(place).is_paused = false;
      replicas_.member(place).is_cut_off = false;
      replicas_.member(place).demand = {{"x", {{"caller", 1, kWhole}}}};
    }
    replicas_.Pass(absl::Seconds(3), [this] { Check(); });
    EXPECT_GE(replicas_.SumInForce("x"), kWhole - static_cast<Millionths>(living_.size()));
    EXPECT_GE(replicas_.SumInForce(kReserveRate), kWhole - static_cast<Millionths>(living_.size()));
  }

 private:
  double Chance() { return std::uniform_real_distribution<>(0, 1)(replicas_.random()); }
  int64_t Upto(int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(replicas_.random()); }
  size_t Any() { return living_[static_cast<size_t>(Upto(static_cast<int64_t>(living_.size()) - 1))]; }

  std::vector<RateDemand> RandomDemand() {
    std::vector<RateDemand> demand;
    for (const char* rate : {"x", "y"}) {
      if (Chance() < 0.3) continue;
      RateDemand of_rate{rate, {}};
      for (const char* caller : {"a", "b", "c"}) {
        if (Chance() < 0.5) of_rate.callers.push_back({caller, 1 + Upto(4), Upto(kWhole)});
      }
      demand.push_back(of_rate);
    }
    return demand;
  }

  void Add() { living_.push_back(replicas_.Add(RandomDemand(), absl::Hours(Upto(1'000'000)), 0.97 + 0.06 * Chance())); }

  void Disturb() {
    const int64_t kind = Upto(5);
    if (kind == 0 && living_.size() < kMaxReplicas) Add();
    if (living_.empty()) return;
    const size_t place = Any();
    VirtualReplicas::Member& member = replicas_.member(place);
    if (kind == 1 && living_.size() > 1) {
      replicas_.Kill(place);
      living_.erase(std::find(living_.begin(), living_.end(), place));
    } else if (kind == 2) {
      member.is_paused = !member.is_paused;
    } else if (kind == 3) {
      member.is_cut_off = !member.is_cut_off;
    } else {
      member.demand = RandomDemand();
    }
  }

  void Check() {
    for (const char* rate : {"x", "y", kReserveRate}) {
      ASSERT_LE(replicas_.SumInForce(rate), kWhole) << rate << " at " << replicas_.now();
      for (const size_t place : living_) {
        if (replicas_.InForce(place, rate) > 0) continue;
        // A replica without the store adds at most its equal part.
        ASSERT_LE(replicas_.Usable(place, rate), kWhole / replicas_.member(place).replica->held()->replicas);
      }
    }
  }

  VirtualReplicas replicas_;
  std::vector<size_t> living_;
};

TEST(ReplicaPropertyTest, TheSharesInForceNeverExceedTheRate) {
  const char* given = std::getenv("STAMPGATE_SEED");
  const bool is_long = std::getenv("STAMPGATE_LONG") != nullptr;
  const auto first = static_cast<unsigned>(given == nullptr ? 1 : std::atoi(given));
  for (unsigned seed = first; seed < first + (is_long ? 20'000 : 100); ++seed) {
    SCOPED_TRACE(testing::Message() << "STAMPGATE_SEED=" << seed);
    Round(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace stampgate
