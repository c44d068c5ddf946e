// Rates of operations: those of the options, and those that the admission learns from upstream's refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/admission_testing.h"
#include "gateway/shares/rate_demand.h"

namespace stampgate {
namespace {

constexpr RateLimit kSixtyASecond = {60, absl::Seconds(1)};

// An upstream that refuses what exceeds its limits: of all requests, and of each operation and organization.
class LimitedUpstream {
 public:
  void Limit(const std::string& name, size_t requests, absl::Duration per = absl::Seconds(1)) {
    limits_[name] = {requests, per, {}};
  }

  bool Takes(const std::vector<std::string>& names, absl::Time now) {
    bool takes = true;
    for (const std::string& name : names) {
      const auto limit = limits_.find(name);
      if (limit == limits_.end()) continue;
      auto& [requests, per, times] = limit->second;
      while (!times.empty() && times.front() <= now - per) times.pop_front();
      takes = takes && times.size() < requests;
    }
    if (!takes) return false;
    for (const std::string& name : names) {
      if (const auto limit = limits_.find(name); limit != limits_.end()) limit->second.times.push_back(now);
    }
    return true;
  }

 private:
  struct Window {
    size_t requests;
    absl::Duration per;
    std::deque<absl::Time> times;
  };
  std::map<std::string, Window> limits_;
};

class OperationRatesTest : public AdmissionTest {
 protected:
  struct Counts {
    int offered = 0;
    int accepted = 0;
    int refused_by_upstream = 0;
    int refused_here = 0;
  };

  struct Load {
    AdmissionRequest request;
    double per_second;
  };

  // Offers calls at random times, and records the lowest rate over all.
  void Run(const std::vector<Load>& loads, absl::Duration time) {
    const absl::Time end = time_.now() + time;
    while (time_.now() < end) {
      for (const Load& load : loads) {
        if (std::bernoulli_distribution(load.per_second / 200)(random_)) Call(load.request);
      }
      time_.Pass(absl::Milliseconds(5));
      lowest_ = std::min(lowest_, admission_->permitted_per_second());
    }
  }

  void Call(const AdmissionRequest& request) {
    Counts& counts = counts_[std::string(request.operation)];
    ++counts.offered;
    const std::vector<std::string> names = {"all", std::string(request.operation), std::string(request.organization)};
    const auto end = [this, &counts, names](Admission::Verdict verdict) {
      if (verdict.refused.has_value()) {
        ++counts.refused_here;
        return;
      }
      verdict.permit.Sent();
      const bool takes = upstream_.Takes(names, time_.now());
      time_.RunAfter(absl::Milliseconds(10),
                     [&counts, takes, permit = std::make_shared<Admission::Permit>(std::move(verdict.permit))] {
                       ++(takes ? counts.accepted : counts.refused_by_upstream);
                       if (!takes) permit->Refused(absl::Seconds(1));
                       permit->End();
                     });
    };
    Admission::Ticket ticket = 0;
    if (auto verdict = admission_->Enter(request, ticket, end); verdict.has_value()) end(*std::move(verdict));
  }

  // Calls an operation, whose request upstream accepts.
  void Accept(const std::string& path) {
    const auto call = Enter({.caller = "a", .operation = path});
    ASSERT_TRUE(call->is_admitted());
    call->verdict->permit.Sent();
    call->verdict->permit.End();
  }

  std::mt19937 random_{35};
  LimitedUpstream upstream_;
  std::map<std::string, Counts> counts_;  // by operation
  double lowest_ = 1e9;
};

TEST_F(OperationRatesTest, TheRateOfAnOperationHoldsForAllOrganizationsTogether) {
  AdmissionOptions options;
  options.rates = {kSixtyASecond};
  options.operation_rates = {{{"/a", "/b"}, {{10, absl::Seconds(1)}}}};
  Make(std::move(options));
  int others = 0;
  for (int i = 0; i < 3000; ++i) {
    for (const char* operation : {"/a", "/b"}) {
      Enter({.caller = "a", .organization = absl::StrCat(i % 7), .operation = operation});
    }
    time_.Pass(absl::Milliseconds(10));
  }
  EXPECT_LE(MostIn(absl::Seconds(1)), 10u) << "both operations share the rate";
  EXPECT_GE(sent_.size(), 30u * 10 * 98 / 100);
  for (int i = 0; i < 300; ++i) {
    Enter({.caller = "a", .operation = "/a"});
    others += Enter({.caller = "a", .operation = "/c"})->is_admitted() ? 1 : 0;
    time_.Pass(absl::Milliseconds(25));
  }
  EXPECT_EQ(others, 300) << "the other operations have their places";
}

TEST_F(OperationRatesTest, ACallNeedsAPlaceInEachOfItsRates) {
  AdmissionOptions options;
  options.organization_rates = {{5, absl::Seconds(1)}};
  options.operation_rates = {{{"/a"}, {{8, absl::Seconds(1)}}}};
  Make(std::move(options));
  std::map<std::string, int> admitted;
  for (int i = 0; i < 2000; ++i) {
    for (const char* organization : {"o", "p"}) {
      for (const char* operation : {"/a", "/b"}) {
        const auto call = Enter({.caller = "a", .organization = organization, .operation = operation});
        if (call->is_admitted()) ++admitted[absl::StrCat(organization)], ++admitted[operation];
      }
    }
    time_.Pass(absl::Milliseconds(10));
  }
  EXPECT_LE(admitted["o"], 5 * 20 + 1);
  EXPECT_LE(admitted["p"], 5 * 20 + 1);
  EXPECT_LE(admitted["/a"], 8 * 20 + 1);
}

TEST_F(OperationRatesTest, AShareOfAnOperationsRateHolds) {
  AdmissionOptions options;
  options.operation_rates = {{{"/b", "/a"}, {{100, absl::Seconds(1)}}}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  SetShare(0.5);
  for (int i = 0; i < 60; ++i) kept_.push_back(Enter({.caller = "a", .weight = 2, .operation = "/b"}));
  const std::vector<RateDemand> demand = admission_->rate_demand();
  ASSERT_EQ(demand.size(), 1u);
  EXPECT_EQ(demand[0].rate, "operation/a");
  ASSERT_EQ(demand[0].callers.size(), 1u);
  EXPECT_EQ(demand[0].callers[0].weight, 2);
  EXPECT_EQ(demand[0].callers[0].wanted, kWhole) << "sixty calls have come, and most of them wait";
  time_.Pass(absl::Seconds(1));
  EXPECT_LE(MostIn(absl::Seconds(1)), 50u);
}

TEST_F(OperationRatesTest, AQuotaOfAnOperationHolds) {
  AdmissionOptions options;
  options.operation_rates = {{{"/a"}, {{1000, absl::Hours(24)}}}};
  options.has_quotas = true;
  Make(std::move(options));
  const std::vector<QuotaDemand> demand = admission_->quota_demand();
  ASSERT_EQ(demand.size(), 1u);
  EXPECT_EQ(demand[0].limit.quota, "operation/a");
  EXPECT_TRUE(Enter({.caller = "a", .operation = "/a"})->waits()) << "no call of the quota is here";
  EXPECT_TRUE(Enter({.caller = "a", .operation = "/b"})->is_admitted());
}

// Upstream allows one read of balances in a second, and the callers make two.
TEST_F(OperationRatesTest, AnOperationThatUpstreamRefusesIsSlowedAlone) {
  MakeRates({kSixtyASecond});
  upstream_.Limit("/balances", 1);
  upstream_.Limit("all", 60);
  Run({{{.caller = "a", .organization = "o", .operation = "/balances"}, 2},
       {{.caller = "b", .organization = "o", .operation = "/policies"}, 6},
       {{.caller = "b", .organization = "o", .operation = "/users"}, 6}},
      absl::Minutes(2));
  EXPECT_GT(lowest_, 59);
  EXPECT_EQ(counts_["/policies"].refused_here + counts_["/users"].refused_here, 0);
  EXPECT_GE(counts_["/balances"].accepted, 60);
  EXPECT_LE(counts_["/balances"].refused_by_upstream, counts_["/balances"].offered / 4);
  EXPECT_EQ(admission_->slowed_operations(), 1u);
}

TEST_F(OperationRatesTest, ALearnedRateIsNearlyWhatUpstreamAllows) {
  for (const size_t limit : {3, 10, 40}) {
    SCOPED_TRACE(limit);
    MakeRates({{100, absl::Seconds(1)}});
    for (auto& [operation, counts] : counts_) counts = {};  // calls in flight count there
    upstream_.Limit("/a", limit);
    Run({{{.caller = "a", .operation = "/a"}, 60}, {{.caller = "b", .operation = "/b"}, 20}}, absl::Minutes(2));
    const Counts& counts = counts_["/a"];
    EXPECT_GE(counts.accepted, static_cast<int>(limit) * 120 * 80 / 100);
    EXPECT_LE(counts.refused_by_upstream, (counts.accepted + counts.refused_by_upstream) / 6);
    EXPECT_EQ(counts_["/b"].refused_here, 0);
  }
  EXPECT_GT(lowest_, 98);
}

TEST_F(OperationRatesTest, AnOperationWithALongWindowIsSlowedToLessThanOneInASecond) {
  MakeRates({kSixtyASecond});
  upstream_.Limit("/a", 10, absl::Minutes(1));
  Run({{{.caller = "a", .operation = "/a"}, 5}, {{.caller = "b", .operation = "/b"}, 10}}, absl::Minutes(5));
  EXPECT_GT(lowest_, 59);
  EXPECT_LE(counts_["/a"].refused_by_upstream, 5 * 60) << "of 1500 that were offered";
}

TEST_F(OperationRatesTest, TwoOperationsThatUpstreamRefusesDoNotSlowTheOthers) {
  MakeRates({kSixtyASecond});
  upstream_.Limit("/balances", 1);
  upstream_.Limit("/send", 1);
  Run({{{.caller = "a", .operation = "/balances"}, 2},
       {{.caller = "b", .operation = "/send"}, 2},
       {{.caller = "c", .operation = "/policies"}, 12}},
      absl::Minutes(2));
  EXPECT_GT(lowest_, 54);
  EXPECT_EQ(counts_["/policies"].refused_here, 0);
}

// With rates in the options, their operation is slowed, not upstream as a whole.
TEST_F(OperationRatesTest, RefusalsSlowTheRateOfTheOptionsToo) {
  AdmissionOptions options;
  options.rates = {kSixtyASecond};
  options.operation_rates = {{{"/a"}, {{20, absl::Seconds(1)}}}};
  Make(std::move(options));
  upstream_.Limit("/a", 10);
  Run({{{.caller = "a", .operation = "/a"}, 30}, {{.caller = "b", .operation = "/b"}, 10}}, absl::Minutes(1));
  EXPECT_GT(lowest_, 59);
  EXPECT_EQ(counts_["/b"].refused_here, 0);
  EXPECT_EQ(admission_->slowed_operations(), 1u);
  EXPECT_LE(counts_["/a"].refused_by_upstream, counts_["/a"].accepted / 5);
}

// Upstream allows half of what the options state.
TEST_F(OperationRatesTest, RefusalsOfManyOperationsSlowUpstreamAsAWhole) {
  MakeRates({kSixtyASecond});
  upstream_.Limit("all", 30);
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back(absl::StrCat("/", i));
  std::vector<Load> loads;
  for (const std::string& name : names) loads.push_back({{.caller = "a", .organization = "o", .operation = name}, 6});
  Run(loads, absl::Minutes(1));
  EXPECT_LT(lowest_, 40);
  int accepted = 0;
  int refused = 0;
  for (const auto& [name, counts] : counts_) accepted += counts.accepted, refused += counts.refused_by_upstream;
  EXPECT_GE(accepted, 30 * 60 * 75 / 100);
  EXPECT_LE(refused, accepted / 8);
}

TEST_F(OperationRatesTest, RefusalsOfSeveralOperationsOfOneOrganizationSlowThisOrganization) {
  AdmissionOptions options;
  options.rates = {kSixtyASecond};
  options.organization_rates = {{20, absl::Seconds(1)}};
  Make(std::move(options));
  upstream_.Limit("o", 10);
  Run({{{.caller = "a", .organization = "o", .operation = "/a"}, 10},
       {{.caller = "a", .organization = "o", .operation = "/b"}, 10},
       {{.caller = "b", .organization = "p", .operation = "/a"}, 4},
       {{.caller = "b", .organization = "p", .operation = "/c"}, 4}},
      absl::Minutes(2));
  EXPECT_GT(lowest_, 59);
  EXPECT_EQ(counts_["/c"].refused_here, 0);
  const int refused = counts_["/a"].refused_by_upstream + counts_["/b"].refused_by_upstream;
  EXPECT_LE(refused, (counts_["/a"].accepted + counts_["/b"].accepted) / 5);
}

TEST_F(OperationRatesTest, ALearnedRateIsForgotten) {
  MakeRates({kSixtyASecond});
  Accept("/b");
  Enter({.caller = "a", .operation = "/a"})->verdict->permit.Refused(absl::Seconds(5));
  const auto paused = Enter({.caller = "a", .operation = "/a"});
  ASSERT_TRUE(paused->is_refused());
  EXPECT_GE(paused->verdict->refused->retry_after, absl::Seconds(5));
  EXPECT_EQ(paused->verdict->refused->scope, RateScope::kOperation);
  EXPECT_FALSE(paused->verdict->refused->limit.has_value()) << "the options state no rate";
  EXPECT_TRUE(Enter({.caller = "a", .operation = "/b"})->is_admitted());
  EXPECT_EQ(admission_->slowed_operations(), 1u);
  time_.Pass(absl::Minutes(1));
  EXPECT_EQ(admission_->slowed_operations(), 0u);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Enter({.caller = "a", .operation = "/a"})->is_admitted());
}

TEST_F(OperationRatesTest, WhileOnlyOneOperationIsCalledItsRefusalsSlowUpstreamsRate) {
  MakeRates({kSixtyASecond});
  Accept("/a");
  Enter({.caller = "a", .operation = "/a"})->verdict->permit.Refused(std::nullopt);
  EXPECT_EQ(admission_->slowed_operations(), 0u);
  EXPECT_LT(admission_->permitted_per_second(), 60);
}

TEST_F(OperationRatesTest, TheMemoryOfOperationsIsBounded) {
  MakeRates({{100'000, absl::Seconds(1)}});
  for (int i = 0; i < 5000; ++i) {
    const std::string path = absl::StrCat("/", i);
    const auto call = Enter({.caller = "a", .operation = path});
    ASSERT_TRUE(call->is_admitted());
    call->verdict->permit.Refused(std::nullopt);
    call->verdict->permit.End();
    for (int n = 0; n < 3; ++n) Accept("/accepted");
    time_.Pass(absl::Milliseconds(1));
  }
  EXPECT_LE(admission_->slowed_operations(), 1024u);
  EXPECT_GT(admission_->slowed_operations(), 0u);
}

TEST_F(OperationRatesTest, TheMemoryOfOperationsInFlightIsBoundedToo) {
  MakeRates({{100'000, absl::Seconds(1)}});
  Accept("/accepted");
  for (int i = 0; i < 1200; ++i) kept_.push_back(Enter({.caller = "a", .operation = absl::StrCat("/", i)}));
  for (const auto& call : kept_) {
    call->verdict->permit.Refused(std::nullopt);
    for (int n = 0; n < 3; ++n) Accept("/accepted");
  }
  EXPECT_LE(admission_->slowed_operations(), 1024u);
  EXPECT_GT(admission_->slowed_operations(), 1000u);
}

// Of an organization and an operation, the one is slowed of which upstream has refused the larger part.
TEST_F(OperationRatesTest, TheNarrowestRateThatExplainsARefusalIsSlowed) {
  for (const RateScope slowed : {RateScope::kOrganization, RateScope::kOperation}) {
    AdmissionOptions options;
    options.rates = {kSixtyASecond};
    options.organization_rates = {{20, absl::Seconds(1)}};
    Make(std::move(options));
    const auto accept = [this](const char* organization, const char* operation) {
      Enter({.caller = "a", .organization = organization, .operation = operation})->verdict->permit.End();
    };
    accept("other", "/other");
    if (slowed == RateScope::kOrganization) {
      accept("p", "/a");
    } else {
      accept("o", "/b");
    }
    Enter({.caller = "a", .organization = "o", .operation = "/a"})->verdict->permit.Refused(absl::Seconds(30));
    const auto call = Enter({.caller = "a", .organization = "o", .operation = "/a"});
    ASSERT_TRUE(call->is_refused());
    EXPECT_EQ(call->verdict->refused->scope, slowed);
    EXPECT_EQ(Enter({.caller = "a", .organization = "p", .operation = "/a"})->is_admitted(),
              slowed == RateScope::kOrganization);
    EXPECT_EQ(Enter({.caller = "a", .organization = "o", .operation = "/b"})->is_admitted(),
              slowed == RateScope::kOperation);
  }
}

TEST_F(OperationRatesTest, ACallThatSendsNothingLeavesItsPlaceToAWaitingOneAtOnce) {
  AdmissionOptions options;
  options.organization_rates = {{1, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(5);
  Make(std::move(options));
  const AdmissionRequest request = {.caller = "a", .organization = "o", .operation = "/a"};
  Admission::Ticket ticket = 0;
  std::optional<Admission::Verdict> unsent = admission_->Enter(request, ticket, [](Admission::Verdict) {});
  ASSERT_TRUE(unsent.has_value());
  const auto waiting = Enter(request);
  ASSERT_TRUE(waiting->waits());
  unsent->permit.End();
  EXPECT_TRUE(waiting->is_admitted());
}

TEST_F(OperationRatesTest, ACallThatWouldWaitTooLongBehindCallsOfItsCallerIsRefusedAtOnce) {
  AdmissionOptions options;
  options.rates = {{1000, absl::Seconds(1)}};
  options.operation_rates = {{{"/a"}, {{10, absl::Seconds(1)}}}};
  options.max_wait = absl::Seconds(1);
  Make(std::move(options));
  for (int i = 0; i < 40; ++i) kept_.push_back(Enter({.caller = "a", .operation = "/a"}));
  time_.Pass(absl::Seconds(2));
  EXPECT_GE(sent_.size(), 8u);
  for (const auto& call : kept_) {
    EXPECT_TRUE(call->is_admitted() || call->ended == call->begun) << "it has waited in vain";
  }
}

// While its caller does not wait, all calls that wait go before the repetition, also those that it would overtake.
TEST_F(OperationRatesTest, ARepetitionAfterTheStatedDelayHasAPlaceWithinANarrowerRate) {
  AdmissionOptions options;
  options.organization_rates = {{10, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  for (int i = 0; i < 40; ++i) kept_.push_back(Enter({.caller = "light", .organization = "o"}));
  const AdmissionRequest heavy = {
      .caller = "heavy", .weight = 9, .organization = "o", .time_left = absl::Milliseconds(1)};
  const auto call = Enter(heavy);
  ASSERT_TRUE(call->is_refused());
  time_.Pass(call->verdict->refused->retry_after);
  EXPECT_TRUE(Enter(heavy)->is_admitted());
}

TEST_F(OperationRatesTest, ARefusalNamesTheRateThatHasNoPlace) {
  AdmissionOptions options;
  options.rates = {{100, absl::Seconds(1)}};
  options.organization_rates = {{3, absl::Hours(24)}};
  options.operation_rates = {{{"/a"}, {{1, absl::Seconds(10)}}}};
  options.max_in_flight_per_organization = 5;
  Make(std::move(options));
  const auto refusal = [this](AdmissionRequest request) {
    while (true) {
      auto call = Enter(request);
      if (call->is_refused()) return *call->verdict->refused;
      kept_.push_back(std::move(call));
    }
  };
  Admission::Refused refused = refusal({.caller = "a", .operation = "/a"});
  EXPECT_EQ(refused.scope, RateScope::kOperation);
  ASSERT_TRUE(refused.limit.has_value());
  EXPECT_EQ(refused.limit->per, absl::Seconds(10));
  refused = refusal({.caller = "a", .organization = "o", .operation = "/b"});
  EXPECT_EQ(refused.scope, RateScope::kOrganization);
  ASSERT_TRUE(refused.limit.has_value());
  EXPECT_EQ(refused.limit->requests, 3);
  EXPECT_EQ(refused.limit->per, absl::Hours(24));
  EXPECT_FALSE(refused.calls_in_flight);
  refused = refusal({.caller = "a", .operation = "/b"});
  EXPECT_EQ(refused.scope, RateScope::kUpstream);
  EXPECT_EQ(refused.limit->requests, 100);
  AdmissionOptions in_flight;
  in_flight.max_in_flight_per_organization = 5;
  Make(std::move(in_flight));
  for (int i = 0; i < 5; ++i) kept_.push_back(Enter({.caller = "a", .organization = "o"}));
  time_.Pass(absl::Seconds(10));
  refused = refusal({.caller = "a", .organization = "o"});
  EXPECT_EQ(refused.scope, RateScope::kOrganization);
  EXPECT_TRUE(refused.calls_in_flight);
  EXPECT_FALSE(refused.limit.has_value());
}

TEST_F(OperationRatesTest, ARefusalDuringAPauseNamesNoRate) {
  MakeRates({kSixtyASecond});
  Fill();
  kept_.front()->verdict->permit.Refused(absl::Seconds(30));
  const auto call = Enter();
  ASSERT_TRUE(call->is_refused());
  EXPECT_EQ(call->verdict->refused->scope, RateScope::kUpstream);
  EXPECT_GE(call->verdict->refused->retry_after, absl::Seconds(30));
  EXPECT_FALSE(call->verdict->refused->limit.has_value()) << "the call would wait for the end of the pause";
}

}  // namespace
}  // namespace stampgate
