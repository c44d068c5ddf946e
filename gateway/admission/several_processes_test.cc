// Several processes share a rate of upstream, in virtual time: their admissions, and the replicas that agree about the
// shares.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/admission/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/virtual_replicas.h"

namespace stampgate {
namespace {

constexpr int kPerSecond = 60;

// Refuses requests beyond its rate, in a sliding window.
class Upstream {
 public:
  bool Take(absl::Time now) {
    while (!times_.empty() && times_.front() <= now - absl::Seconds(1)) times_.pop_front();
    const bool takes = times_.size() < kPerSecond;
    if (takes) times_.push_back(now);
    ++(takes ? taken : refused);
    return takes;
  }

  int taken = 0;
  int refused = 0;

 private:
  std::deque<absl::Time> times_;
};

struct Caller {
  std::string name;
  double weight = 1;
  std::vector<double> offered;  // calls per second in each process
  int served = 0;
};

class SeveralProcessesTest : public testing::Test {
 protected:
  SeveralProcessesTest() {
    for (int i = 0; i < 3; ++i) AddProcess();
  }

  void AddProcess() {
    AdmissionOptions options;
    options.rates = {{kPerSecond, absl::Seconds(1)}};
    options.now = [this] { return time_.now(); };
    options.run_after = [this](absl::Duration delay, VirtualTime::Task task) {
      time_.RunAfter(delay, std::move(task));
    };
    processes_.push_back({Admission::Create(std::move(options), metrics_), nullptr});
    replicas_.Add({}, time_.now() - absl::UnixEpoch() - replicas_.now());
    Apply(processes_.size() - 1);
  }

  // Uses the present shares of the replica, whose times are those of the admission.
  void Apply(size_t place) {
    Process& process = processes_[place];
    const std::shared_ptr<const HeldShares> held = replicas_.member(place).replica->held();
    const bool in_force = held->InForce(time_.now());
    if (held == process.applied && in_force == process.in_force) return;
    process.applied = held;
    process.in_force = in_force;
    process.admission->SetShares(held, time_.now());
  }

  // The process dies with its waiting calls.
  void Kill(size_t place) {
    replicas_.Kill(place);
    processes_[place].admission = nullptr;
  }

  void Run(absl::Duration time) {
    replicas_.Pass(time, [this] {
      for (size_t place = 0; place < processes_.size(); ++place) {
        if (!replicas_.IsAlive(place)) continue;
        Apply(place);
        replicas_.member(place).demand = processes_[place].admission->rate_demand();
      }
      for (int i = 0; i < 5; ++i) {
        Offer(absl::ToDoubleSeconds(VirtualReplicas::kTick) / 5);
        time_.Pass(VirtualReplicas::kTick / 5);
      }
    });
  }

  void Offer(double seconds) {
    for (Caller& caller : callers_) {
      for (size_t place = 0; place < processes_.size(); ++place) {
        if (!replicas_.IsAlive(place) || caller.offered[place] == 0) continue;
        const int calls = std::poisson_distribution<int>(caller.offered[place] * seconds)(random_);
        for (int i = 0; i < calls; ++i) Call(caller, place);
      }
    }
  }

  void Call(Caller& caller, size_t place) {
    Admission::Ticket ticket = 0;
    const auto end = [this, &caller](Admission::Verdict verdict) {
      if (verdict.refused.has_value()) return;
      verdict.permit.Sent();
      if (upstream_.Take(time_.now())) {
        ++caller.served;
      } else {
        verdict.permit.Refused(absl::Seconds(1));
      }
    };
    std::optional<Admission::Verdict> verdict =
        processes_[place].admission->Enter({.caller = caller.name, .weight = caller.weight}, ticket, end);
    if (verdict.has_value()) end(*std::move(verdict));
  }

  // Thirty callers offer 500 calls in a second, one of them ten times its share. Each uses one or two of the processes.
  void AddCallers() {
    double weights = 0;
    for (int i = 0; i < 30; ++i) {
      callers_.push_back({absl::StrCat(i), 1.0 + i % 3, std::vector<double>(3), 0});
      weights += callers_.back().weight;
    }
    for (size_t i = 0; i < callers_.size(); ++i) {
      Caller& caller = callers_[i];
      const double offered = (i == 0 ? 10 : 1) * 500 * caller.weight / (weights + 9);
      const size_t first = i < 15 ? 0 : 1 + i % 2;
      caller.offered[first] += offered * 2 / 3;
      caller.offered[i % 3] += offered / 3;
    }
  }

  // The callers of a dead process use the next one.
  void Move(size_t from) {
    for (Caller& caller : callers_) {
      caller.offered[(from + 1) % 3] += std::exchange(caller.offered[from], 0);
    }
  }

  double Jain() const {
    double sum = 0;
    double squares = 0;
    for (const Caller& caller : callers_) {
      const double share = caller.served / caller.weight;
      sum += share;
      squares += share * share;
    }
    return sum * sum / (static_cast<double>(callers_.size()) * squares);
  }

  void Reset() {
    for (Caller& caller : callers_) caller.served = 0;
    upstream_.taken = 0;
    upstream_.refused = 0;
  }

  struct Process {
    std::shared_ptr<Admission> admission;
    std::shared_ptr<const HeldShares> applied;
    bool in_force = false;
  };

  VirtualTime time_;
  MetricRegistry registry_;
  AdmissionMetrics metrics_{registry_};
  VirtualReplicas replicas_{14};
  std::mt19937 random_{14};
  Upstream upstream_;
  std::vector<Caller> callers_;
  std::vector<Process> processes_;
};

TEST_F(SeveralProcessesTest, CallersOfSeveralProcessesGetTheRateByTheirWeights) {
  AddCallers();
  Run(absl::Seconds(3));
  Reset();
  Run(absl::Seconds(60));
  RecordProperty("taken", upstream_.taken);
  RecordProperty("refused", upstream_.refused);
  RecordProperty("jain", absl::StrCat(Jain()));
  EXPECT_GE(Jain(), 0.98);
  EXPECT_GE(upstream_.taken, kPerSecond * 60 * 92 / 100);
  EXPECT_LE(upstream_.refused, upstream_.taken / 200);
}

TEST_F(SeveralProcessesTest, TheOtherProcessesUseTheShareOfADeadOneWithinASecond) {
  AddCallers();
  Run(absl::Seconds(3));
  Kill(0);
  Move(0);
  Run(absl::Seconds(1));
  Reset();
  Run(absl::Seconds(30));
  EXPECT_GE(Jain(), 0.98);
  EXPECT_GE(upstream_.taken, kPerSecond * 30 * 92 / 100);
  EXPECT_LE(upstream_.refused, upstream_.taken / 200);
}

TEST_F(SeveralProcessesTest, ASingleBusyProcessGetsNearlyTheWholeRate) {
  callers_.push_back({"a", 1, {0, 200, 0}, 0});
  Run(absl::Seconds(3));
  Reset();
  Run(absl::Seconds(30));
  EXPECT_GE(upstream_.taken, kPerSecond * 30 * 95 / 100);
  EXPECT_LE(upstream_.refused, upstream_.taken / 200);
}

TEST_F(SeveralProcessesTest, ACallOfAProcessWithoutShareHasAPlaceOfTheReserve) {
  callers_.push_back({"a", 1, {200, 200, 0}, 0});
  callers_.push_back({"rare", 1, {0, 0, 0}, 0});
  Run(absl::Seconds(3));
  for (int i = 0; i < 10; ++i) {
    Call(callers_[1], 2);
    Run(absl::Seconds(5));
  }
  EXPECT_EQ(callers_[1].served, 10);
}

// A process that loses the store slows down although no call arrives when its shares end.
TEST_F(SeveralProcessesTest, AProcessThatLosesTheStoreUsesAtMostAnEqualPart) {
  callers_.push_back({"a", 1, {200, 0, 0}, 0});
  Run(absl::Seconds(3));
  EXPECT_GE(processes_[0].admission->permitted_per_second(), 55);
  replicas_.member(0).is_cut_off = true;
  Run(absl::Seconds(1));
  EXPECT_LE(processes_[0].admission->permitted_per_second(), 20.5);
  EXPECT_GE(processes_[0].admission->permitted_per_second(), 18);
  Run(absl::Seconds(5));
  replicas_.member(0).is_cut_off = false;
  Run(absl::Seconds(1));
  EXPECT_GE(processes_[0].admission->permitted_per_second(), 55);
}

}  // namespace
}  // namespace stampgate
