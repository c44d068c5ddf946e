// Measures how fairly replicas divide a rate between callers, in virtual time. Each replica has an ideal queue: it
// serves the callers that wait in proportion to their weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/replica.h"
#include "gateway/shares/virtual_replicas.h"

namespace stampgate {
namespace {

constexpr char kRate[] = "upstream";
constexpr double kPerSecond = 60;
constexpr size_t kReplicas = 3;

struct Caller {
  std::string name;
  int64_t weight = 1;
  double offered[kReplicas] = {};  // calls a second at each replica
  double waiting[kReplicas] = {};
  double served = 0;
};

class FairnessTest : public testing::Test {
 protected:
  FairnessTest() {
    for (size_t i = 0; i < kReplicas; ++i) replicas_.Add({});
  }

  void Run(absl::Duration time) {
    replicas_.Pass(time, [this] {
      for (size_t i = 0; i < kReplicas; ++i) Serve(i);
    });
  }

  // Arrivals and service of one replica in one tick.
  void Serve(size_t place) {
    const double tick = absl::ToDoubleSeconds(VirtualReplicas::kTick);
    RateDemand demand{kRate, {}};
    for (Caller& caller : callers_) {
      // A caller waits with the calls of one second at most; the gateway refuses others.
      caller.waiting[place] = std::min(caller.waiting[place] + caller.offered[place] * tick, caller.offered[place]);
      if (caller.offered[place] == 0) continue;
      const double wanted = (caller.offered[place] + caller.waiting[place]) / kPerSecond;
      demand.callers.push_back(
          {caller.name, caller.weight, std::min(static_cast<Millionths>(wanted * double{kWhole}), kWhole)});
    }
    replicas_.member(place).demand = {demand};
    if (!replicas_.IsAlive(place)) return;
    const std::shared_ptr<const HeldShares> held = replicas_.member(place).replica->held();
    double left = held->Share(kRate, replicas_.ClockOf(place)) * kPerSecond * tick;
    for (int i = 0; i < 20 && left > 1e-9; ++i) {
      double weights = 0;
      for (const Caller& caller : callers_) {
        if (caller.waiting[place] > 0) weights += WeightAt(caller, *held);
      }
      if (weights == 0) break;
      double used = 0;
      for (Caller& caller : callers_) {
        if (caller.waiting[place] <= 0) continue;
        const double part = std::min(left * WeightAt(caller, *held) / weights, caller.waiting[place]);
        caller.waiting[place] -= part;
        caller.served += part;
        used += part;
      }
      left -= used;
    }
  }

  static double WeightAt(const Caller& caller, const HeldShares& held) {
    return static_cast<double>(caller.weight) * held.WeightPart(kRate, caller.name);
  }

  // Jain's index of the served calls, each divided by `ideal`.
  template <typename Ideal>
  double Jain(Ideal ideal) const {
    double sum = 0;
    double squares = 0;
    for (const Caller& caller : callers_) {
      const double ratio = caller.served / ideal(caller);
      sum += ratio;
      squares += ratio * ratio;
    }
    return sum * sum / (static_cast<double>(callers_.size()) * squares);
  }

  double Served() const {
    double served = 0;
    for (const Caller& caller : callers_) served += caller.served;
    return served;
  }

  VirtualReplicas replicas_{1};
  std::vector<Caller> callers_;
};

// 30 callers with weights from 1 to 5 want more than they can get. Two thirds of them call one replica, some call two,
// and some call all three.
TEST_F(FairnessTest, ThirtyCallersAtThreeReplicasShareTheRateByTheirWeights) {
  for (size_t i = 0; i < 30; ++i) {
    Caller caller{absl::StrCat("caller-", i), static_cast<int64_t>(1 + i % 5), {}, {}, 0};
    for (size_t replica = 0; replica < kReplicas; ++replica) {
      const bool calls = i % 6 < 4 ? replica == (i % 10 < 7 ? 0u : 1u) : i % 6 == 4 ? replica != 1 : true;
      if (calls) caller.offered[replica] = static_cast<double>(10 + 3 * (i % 7));
    }
    callers_.push_back(caller);
  }
  Run(absl::Seconds(60));
  const double jain = Jain([](const Caller& caller) { return static_cast<double>(caller.weight); });
  RecordProperty("jain", absl::StrCat(jain));
  EXPECT_GE(jain, 0.98);
  EXPECT_GE(Served(), 0.97 * 60 * kPerSecond);
}

// The same callers change between the replicas every five seconds.
TEST_F(FairnessTest, CallersThatChangeTheirReplicaKeepTheirPart) {
  for (size_t i = 0; i < 30; ++i) {
    callers_.push_back({absl::StrCat("caller-", i), static_cast<int64_t>(1 + i % 5), {}, {}, 0});
  }
  for (int period = 0; period < 12; ++period) {
    for (Caller& caller : callers_) {
      std::fill(std::begin(caller.offered), std::end(caller.offered), 0);
      std::fill(std::begin(caller.waiting), std::end(caller.waiting), 0);
      caller.offered[std::uniform_int_distribution<size_t>(0, 2)(replicas_.random())] = 20;
    }
    Run(absl::Seconds(5));
  }
  const double jain = Jain([](const Caller& caller) { return static_cast<double>(caller.weight); });
  RecordProperty("jain", absl::StrCat(jain));
  EXPECT_GE(jain, 0.98);
  EXPECT_GE(Served(), 0.93 * 60 * kPerSecond);
}

// 20 callers want half a call a second each, wherever they are, and ten callers want all that they can get.
TEST_F(FairnessTest, CallersThatWantLittleGetItAndTheOthersShareTheRest) {
  for (size_t i = 0; i < 30; ++i) {
    Caller caller{absl::StrCat("caller-", i), 1, {}, {}, 0};
    if (i < 20) {
      caller.offered[i % 2] = 0.5;
    } else {
      caller.offered[i % kReplicas] = 100;
      if (i % 2 == 0) caller.offered[0] = 100;
    }
    callers_.push_back(caller);
  }
  Run(absl::Seconds(60));
  const double jain = Jain([this](const Caller& caller) { return &caller - callers_.data() < 20 ? 0.5 : 5.0; });
  RecordProperty("jain", absl::StrCat(jain));
  EXPECT_GE(jain, 0.98);
  for (size_t i = 0; i < 20; ++i) EXPECT_GE(callers_[i].served, 0.9 * 30) << i;
  EXPECT_GE(Served(), 0.97 * 60 * kPerSecond);
}

TEST_F(FairnessTest, TheRateIsUsedWhenAReplicaDies) {
  for (size_t i = 0; i < 3; ++i) {
    Caller caller{absl::StrCat("caller-", i), 1, {}, {}, 0};
    caller.offered[i] = 100;
    callers_.push_back(caller);
  }
  Run(absl::Seconds(5));
  replicas_.Kill(0);
  Run(absl::Seconds(1));
  const double before = Served();
  Run(absl::Seconds(10));
  EXPECT_GE(Served() - before, 0.99 * 10 * kPerSecond);
}

}  // namespace
}  // namespace stampgate
