#include "gateway/admission/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/admission/admission_testing.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

TEST_F(AdmissionTest, WithoutRatesEveryCallGoesAtOnce) {
  Make({});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(Enter()->is_admitted());
}

TEST_F(AdmissionTest, NoIntervalHasMoreRequestsThanTheRateAllows) {
  MakeRates({{60, absl::Seconds(1)}, {1000, absl::Minutes(1)}});
  for (int i = 0; i < 60'000; ++i) {
    Enter();
    time_.Pass(absl::Milliseconds(2));
  }
  EXPECT_LE(MostIn(absl::Seconds(1)), 60);
  EXPECT_LE(MostIn(absl::Minutes(1)), 1000);
  EXPECT_GE(sent_.size(), 1980);
}

TEST_F(AdmissionTest, UsesNearlyTheWholeRate) {
  MakeRates({{60, absl::Seconds(1)}});
  for (int i = 0; i < 30'000; ++i) {
    Enter();
    time_.Pass(absl::Milliseconds(2));
  }
  EXPECT_LE(MostIn(absl::Seconds(1)), 60);
  EXPECT_GE(sent_.size(), 60 * 60 * 98 / 100);
}

TEST_F(AdmissionTest, ACallThatWaitsGetsItsTurn) {
  MakeRates({{10, absl::Seconds(1)}});
  const auto call = Fill();
  EXPECT_TRUE(call->waits());
  time_.Pass(absl::Milliseconds(200));
  EXPECT_TRUE(call->is_admitted());
  EXPECT_EQ(metrics_[CallClass::kQuery].admitted.Value(), 3);
}

TEST_F(AdmissionTest, ACallThatWouldWaitInVainIsRefusedAtOnce) {
  MakeRates({{10, absl::Seconds(1)}});
  std::shared_ptr<TestCall> last;
  for (int i = 0; i < 20; ++i) last = Enter();
  ASSERT_TRUE(last->is_refused());
  EXPECT_EQ(last->verdict->refused->why, AdmissionRefusal::kNoPlace);
  EXPECT_EQ(last->ended, last->begun);
}

TEST_F(AdmissionTest, ACallWaitsNoLongerThanItsDeadlinePermits) {
  MakeRates({{10, absl::Seconds(1)}});
  Fill();
  const auto call = Enter({.caller = "b", .time_left = absl::Milliseconds(20)});
  EXPECT_TRUE(call->is_refused());
}

// The property of the issue: a refused caller that returns after the delay finds a place if nothing else arrives.
TEST_F(AdmissionTest, ARepetitionAfterTheStatedDelayFindsAPlace) {
  std::mt19937 random(14);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  for (int round = 0; round < 500; ++round) {
    std::vector<RateLimit> rates = {{1 + below(60), absl::Seconds(1)}};
    if (below(2) == 0) rates.push_back({20 + below(200), absl::Minutes(1 + below(60))});
    AdmissionOptions options;
    options.rates = rates;
    if (below(2) == 0) options.organization_rates = {{1 + below(10), absl::Seconds(1)}};
    Make(std::move(options));
    std::vector<std::string> names;
    for (int i = 0; i < 300; ++i) names.push_back(absl::StrCat(i % 10));
    std::shared_ptr<TestCall> refused;
    AdmissionRequest request;
    const int calls = 20 + below(280);
    for (int i = 0; i < calls; ++i) {
      request = {.caller = names[static_cast<size_t>(below(10))],
                 .weight = 1.0 + below(5),
                 .organization = names[static_cast<size_t>(below(4))],
                 .call_class = static_cast<CallClass>(below(3))};
      refused = Enter(request);
      if (refused->is_refused() && below(10) == 0) break;
      time_.Pass(absl::Milliseconds(below(10)));
    }
    if (!refused->is_refused()) continue;
    time_.Pass(refused->verdict->refused->retry_after);
    const auto repeated = Enter(request);
    if (repeated->waits()) time_.Pass(absl::Milliseconds(200));
    EXPECT_TRUE(repeated->is_admitted()) << "round " << round;
  }
}

TEST_F(AdmissionTest, SubmitsGoBeforeQueriesAndQueriesBeforeBackgroundWork) {
  MakeRates({{50, absl::Seconds(1)}});
  ASSERT_TRUE(Fill("x")->waits());
  Enter("background", CallClass::kBackground);
  Enter("query", CallClass::kQuery);
  Enter("submit", CallClass::kSubmit);
  time_.Pass(absl::Seconds(1));
  std::vector<std::string> order;
  for (const std::string& caller : admitted_) {
    if (caller != "x") order.push_back(caller);
  }
  EXPECT_THAT(order, ElementsAre("submit", "query", "background"));
}

// The timer can be late.
TEST_F(AdmissionTest, AnArrivingCallDoesNotOvertakeAWaitingOne) {
  AdmissionOptions options;
  options.rates = {{10, absl::Seconds(1)}};
  options.organization_rates = {{5, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  for (const char* organization : {"", "o"}) {
    std::vector<std::shared_ptr<TestCall>> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(Enter({.caller = "a", .organization = organization}));
    ASSERT_TRUE(calls.back()->waits());
    const size_t sent = sent_.size();
    time_.Sleep(absl::Seconds(2));
    calls.push_back(Enter({.caller = "a", .organization = organization}));
    EXPECT_EQ(sent_.size(), sent + 1) << "the first waiting call";
    EXPECT_TRUE(calls.back()->waits()) << "organization " << organization;
    time_.Pass(absl::Seconds(3));
    EXPECT_TRUE(calls.back()->is_admitted());
  }
}

TEST_F(AdmissionTest, ACallerThatLeavesFreesItsPlaceAtOnce) {
  MakeRates({{10, absl::Seconds(1)}});
  const auto first = Fill("a");
  const auto second = Enter("b");
  ASSERT_TRUE(first->waits());
  admission_->Leave(first->ticket);
  ASSERT_TRUE(first->is_refused());
  EXPECT_EQ(first->verdict->refused->why, AdmissionRefusal::kLeft);
  admission_->Leave(first->ticket);
  time_.Pass(absl::Milliseconds(110));
  EXPECT_TRUE(second->is_admitted());
}

TEST_F(AdmissionTest, ACallThatSendsNothingDoesNotCount) {
  MakeRates({{1, absl::Seconds(10)}});
  Admission::Ticket ticket = 0;
  for (int i = 0; i < 3; ++i) {
    const std::optional<Admission::Verdict> verdict = admission_->Enter({.caller = "a"}, ticket, nullptr);
    ASSERT_TRUE(verdict.has_value());
    EXPECT_FALSE(verdict->refused.has_value());
  }
  EXPECT_TRUE(Enter()->is_admitted());
  EXPECT_TRUE(Enter()->is_refused());
}

TEST_F(AdmissionTest, AnOrganizationBeyondItsRateDoesNotDelayOthers) {
  AdmissionOptions options;
  options.rates = {{1000, absl::Seconds(1)}};
  options.organization_rates = {{10, absl::Seconds(1)}};
  options.rates_of["large"] = {{100, absl::Seconds(1)}};
  Make(std::move(options));
  for (int i = 0; i < 5000; ++i) {
    Enter({.caller = "a", .organization = "small"});
    Enter({.caller = "a", .organization = "large"});
    if (i % 10 == 0) {
      const std::string id = absl::StrCat("o", i);
      kept_.push_back(Enter({.caller = "a", .organization = id}));
      EXPECT_FALSE(kept_.back()->is_refused());
    }
    time_.Pass(absl::Milliseconds(2));
  }
  EXPECT_THAT(sent_.size(), AllOf(Ge(10 * (10 + 100) * 95 / 100 + 500), Le(10 * (10 + 100) + 500 + 30)));
}

TEST_F(AdmissionTest, AnOrganizationHasALimitedNumberOfCallsInFlight) {
  AdmissionOptions options;
  options.max_in_flight_per_organization = 2;
  Make(std::move(options));
  auto first = Enter({.caller = "a", .organization = "o"});
  auto second = Enter({.caller = "a", .organization = "o"});
  const auto third = Enter({.caller = "a", .organization = "o"});
  EXPECT_TRUE(third->waits());
  EXPECT_TRUE(Enter({.caller = "a", .organization = "p"})->is_admitted());
  EXPECT_TRUE(Enter({.caller = "a"})->is_admitted());
  first->verdict->permit.End();
  EXPECT_TRUE(third->is_admitted());
  const auto fourth = Enter({.caller = "a", .organization = "o"});
  time_.Pass(absl::Seconds(1));
  EXPECT_TRUE(fourth->is_refused());
  EXPECT_EQ(fourth->ended - fourth->begun, absl::Milliseconds(200));
}

// The calls of an organization need a second each, and four may be in flight.
TEST_F(AdmissionTest, TheDelayOfAnOrganizationWithTooManyCallsFollowsFromHowLongItsCallsTake) {
  AdmissionOptions options;
  options.max_in_flight_per_organization = 4;
  Make(std::move(options));
  const AdmissionRequest request = {.caller = "a", .organization = "o"};
  std::vector<std::shared_ptr<TestCall>> calls;
  const auto begin = [&] {
    calls.push_back(Enter(request));
    ASSERT_TRUE(calls.back()->is_admitted());
    time_.RunAfter(absl::Seconds(1), [call = calls.back()] { call->verdict->permit.End(); });
  };
  for (int i = 0; i < 40; ++i, time_.Pass(absl::Milliseconds(250))) begin();
  begin();
  const auto refused = Enter(request);
  ASSERT_TRUE(refused->is_refused()) << "the next call ends later than a call may wait";
  EXPECT_EQ(refused->ended, refused->begun);
  EXPECT_EQ(refused->verdict->refused->retry_after, absl::Milliseconds(250));
  time_.Pass(refused->verdict->refused->retry_after);
  EXPECT_TRUE(Enter(request)->is_admitted());
}

TEST_F(AdmissionTest, TheDelayGrowsWhileTheCallsOfAnOrganizationDoNotEnd) {
  AdmissionOptions options;
  options.max_in_flight_per_organization = 1;
  Make(std::move(options));
  const AdmissionRequest request = {.caller = "a", .organization = "o"};
  const auto first = Enter(request);
  const auto waits = Enter(request);
  ASSERT_TRUE(waits->waits());
  time_.Pass(absl::Milliseconds(200));
  ASSERT_TRUE(waits->is_refused());
  EXPECT_EQ(waits->verdict->refused->retry_after, absl::Milliseconds(200)) << "the first call needs at least as long";
  time_.Pass(absl::Seconds(3));
  EXPECT_EQ(Enter(request)->verdict->refused->retry_after, absl::Seconds(3.2));
  time_.Pass(absl::Hours(1));
  EXPECT_EQ(Enter(request)->verdict->refused->retry_after, absl::Seconds(10));
}

TEST_F(AdmissionTest, WaitingCallsGetTheirPlacesDuringADrain) {
  AdmissionOptions options;
  options.rates = {{10, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  std::vector<std::shared_ptr<TestCall>> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(Enter());
  const auto count = [&](auto matches) { return std::count_if(calls.begin(), calls.end(), matches); };
  ASSERT_EQ(count([](const auto& call) { return call->is_refused(); }), 0);
  const absl::Time end = time_.now() + absl::Seconds(4);
  admission_->Drain(end);
  time_.Pass(absl::Seconds(3));
  EXPECT_EQ(count([](const auto& call) { return call->is_refused(); }), 0) << "more calls can be sent";
  time_.Pass(absl::Seconds(1));
  EXPECT_NEAR(static_cast<double>(count([](const auto& call) { return call->is_admitted(); })), 40, 4);
  EXPECT_EQ(count([](const auto& call) { return call->waits(); }), 0);
  for (const auto& call : calls) {
    if (!call->is_refused()) continue;
    EXPECT_EQ(call->verdict->refused->why, AdmissionRefusal::kDraining);
    EXPECT_LE(call->ended, end);
  }
}

TEST_F(AdmissionTest, ADrainThatIsTooShortForACallRefusesTheWaitingCallsAtOnce) {
  MakeRates({{10, absl::Seconds(1)}});
  auto slow = Enter();
  time_.Pass(absl::Seconds(3));
  slow->verdict->permit.End();  // so calls take three seconds
  const auto waits = Fill();
  ASSERT_TRUE(waits->waits());
  admission_->Drain(time_.now() + absl::Seconds(5));
  ASSERT_TRUE(waits->is_refused());
  EXPECT_EQ(waits->verdict->refused->why, AdmissionRefusal::kDraining);
}

TEST_F(AdmissionTest, DuringADrainEachRefusalIsBecauseOfTheDrain) {
  MakeRates({{1, absl::Hours(1)}});
  admission_->Drain(time_.now() + absl::Seconds(10));
  EXPECT_TRUE(Enter()->is_admitted()) << "a call that arrived just before the drain is sent";
  const auto without_place = Enter();
  ASSERT_TRUE(without_place->is_refused());
  EXPECT_EQ(without_place->verdict->refused->why, AdmissionRefusal::kDraining);
  time_.Pass(absl::Hours(2));
  const auto late = Enter();
  ASSERT_TRUE(late->is_refused()) << "nothing is sent after the end of the drain";
  EXPECT_EQ(late->verdict->refused->why, AdmissionRefusal::kDraining);
}

TEST_F(AdmissionTest, AShareChangesTheRateAtOnce) {
  MakeRates({{60, absl::Seconds(1)}});
  SetShare(0.5);
  EXPECT_NEAR(admission_->permitted_per_second(), 30, 0.5);
  const auto run = [&] {
    sent_.clear();
    for (int i = 0; i < 5000; ++i) {
      Enter();
      time_.Pass(absl::Milliseconds(2));
    }
    return sent_.size();
  };
  EXPECT_THAT(run(), AllOf(Ge(290), Le(306)));
  EXPECT_LE(MostIn(absl::Seconds(1)), 30);
  SetShare(0.01);  // less than one request in a second
  EXPECT_THAT(run(), AllOf(Ge(5), Le(8)));
  SetShare(1);
  time_.Pass(absl::Seconds(2));
  EXPECT_THAT(run(), AllOf(Ge(590), Le(612)));
}

TEST_F(AdmissionTest, WithoutAShareACallOfAnUnusedRateWaitsForItsShareOnly) {
  AdmissionOptions options;
  options.organization_rates = {{10, absl::Seconds(1)}};
  Make(std::move(options));
  SetShare(0);
  EXPECT_TRUE(Enter({.caller = "a", .organization = "new"})->is_admitted());
  const auto refused = Enter({.caller = "a", .organization = "new"});
  ASSERT_TRUE(refused->is_refused());
  EXPECT_LE(refused->verdict->refused->retry_after, absl::Milliseconds(250));
  EXPECT_TRUE(Enter({.caller = "a", .organization = "o"})->is_admitted());
  const auto later = Enter({.caller = "a", .organization = "o"});
  ASSERT_TRUE(later->is_refused());
  EXPECT_GE(later->verdict->refused->retry_after, absl::Hours(1)) << "the others use the whole rate";
}

TEST_F(AdmissionTest, AWaitingCallContinuesAsSoonAsTheShareGrows) {
  AdmissionOptions options;
  options.rates = {{100, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  SetShare(0.001);
  Enter();
  const auto call = Enter();
  ASSERT_TRUE(call->waits());
  SetShare(1);
  time_.Pass(absl::Milliseconds(12));
  EXPECT_TRUE(call->is_admitted());
}

TEST_F(AdmissionTest, TheDemandNamesTheCallersThatCallAndThoseThatWait) {
  AdmissionOptions options;
  options.rates = {{100, absl::Seconds(1)}, {1000, absl::Hours(1)}};
  options.organization_rates = {{10, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  options.has_quotas = true;
  Make(std::move(options));
  SetShare(1);
  SetQuotas(1000);
  EXPECT_EQ(admission_->rate_demand().size(), 1) << "the share of upstream's rate is kept for the first call";
  for (int i = 0; i < 8; ++i) kept_.push_back(Enter({.caller = "a", .weight = 3, .organization = "o"}));
  ASSERT_TRUE(kept_.back()->waits());
  std::vector<RateDemand> demand = admission_->rate_demand();
  ASSERT_EQ(demand.size(), 2);
  EXPECT_EQ(demand[0].rate, "upstream");
  ASSERT_EQ(demand[0].callers.size(), 1);
  EXPECT_EQ(demand[0].callers[0].caller, "a");
  EXPECT_EQ(demand[0].callers[0].weight, 3);
  EXPECT_EQ(demand[0].callers[0].wanted, kWhole * (8 + 6) / 100);
  EXPECT_EQ(demand[1].rate, "organization/o");
  EXPECT_EQ(demand[1].callers[0].wanted, kWhole);
  time_.Pass(absl::Seconds(20));
  demand = admission_->rate_demand();
  ASSERT_EQ(demand.size(), 2) << "the share of the organization is kept for the next call";
  EXPECT_TRUE(demand[1].callers.empty());
  time_.Pass(absl::Minutes(1));
  EXPECT_EQ(admission_->rate_demand().size(), 1);
}

TEST_F(AdmissionTest, OnlyThePartOfAWeightThatIsHereCounts) {
  AdmissionOptions options;
  options.rates = {{50, absl::Seconds(1)}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  SetShare(1, {{"a", 1}, {"b", 0.25}});
  for (int i = 0; i < 200; ++i) {
    kept_.push_back(Enter("a"));
    kept_.push_back(Enter("b"));
  }
  time_.Pass(absl::Seconds(3));
  const auto of_a = std::count(admitted_.begin(), admitted_.end(), "a");
  EXPECT_NEAR(static_cast<double>(of_a) / static_cast<double>(admitted_.size()), 0.8, 0.03);
}

TEST_F(AdmissionTest, ACallBeginsOnlyIfTheProcessHoldsACallOfTheQuota) {
  MakeQuota();
  int lacks = 0;
  admission_->OnQuotaLack([&] { ++lacks; });
  const auto first = Enter();
  ASSERT_TRUE(first->waits());
  EXPECT_EQ(lacks, 1);
  std::vector<QuotaDemand> demand = admission_->quota_demand();
  ASSERT_EQ(demand.size(), 1);
  EXPECT_EQ(demand[0].limit.quota, "upstream");
  EXPECT_EQ(demand[0].limit.calls, 1000);
  EXPECT_EQ(demand[0].waiting, 1);
  EXPECT_EQ(demand[0].begun, 0);
  SetQuotas(2);
  EXPECT_TRUE(first->is_admitted());
  EXPECT_TRUE(Enter()->is_admitted());
  EXPECT_TRUE(Enter()->waits());
  EXPECT_EQ(admission_->quota_demand()[0].begun, 2);
  time_.Pass(absl::Hours(1));
  SetQuotas(1000, /*until=*/time_.now());
  EXPECT_TRUE(Enter()->waits()) << "the part of the window has ended";
  EXPECT_EQ(lacks, 3);
}

TEST_F(AdmissionTest, ACallOfAQuotaCountsAlsoIfItSendsNothing) {
  MakeQuota();
  SetQuotas(1);
  Admission::Ticket ticket = 0;
  ASSERT_TRUE(admission_->Enter({.caller = "a"}, ticket, nullptr).has_value());
  EXPECT_TRUE(Enter()->waits());
}

TEST_F(AdmissionTest, ARefusalBecauseOfAQuotaStatesWhenCallsLeaveTheWindow) {
  MakeQuota();
  auto quotas = std::make_shared<HeldQuotas>();
  HeldQuotas::Block& block = quotas->blocks[{"upstream", absl::Hours(24)}];
  block.until = time_.now() + absl::Minutes(15);
  block.freed_at = time_.now() + absl::Hours(5);
  admission_->SetQuotas(quotas);
  const auto refused = Enter();
  ASSERT_TRUE(refused->is_refused());
  EXPECT_EQ(refused->verdict->refused->retry_after, absl::Hours(5));
}

TEST_F(AdmissionTest, WhileTheStoreOfQuotasFailsCallsAreRefusedAtOnce) {
  MakeQuota();
  auto quotas = std::make_shared<HeldQuotas>();
  quotas->is_failing = true;
  admission_->SetQuotas(quotas);
  const auto refused = Enter();
  ASSERT_TRUE(refused->is_refused());
  EXPECT_EQ(refused->verdict->refused->retry_after, absl::Seconds(1));
}

TEST_F(AdmissionTest, EachProcessOfSeveralWithoutACommonStoreHasItsPartOfAQuota) {
  AdmissionOptions options;
  options.rates = {{60, absl::Seconds(1)}, {1000, absl::Hours(24)}};
  options.share = 0.25;
  options.has_quotas = true;
  Make(std::move(options));
  EXPECT_EQ(admission_->quota_demand()[0].limit.calls, 250);
  EXPECT_NEAR(admission_->permitted_per_second(), 15, 0.5);
}

TEST_F(AdmissionTest, RefusalsOfUpstreamSlowTheRateAndItRecovers) {
  MakeRates({{60, absl::Seconds(1)}});
  auto call = Enter();
  call->verdict->permit.Refused(absl::Seconds(3));
  const auto paused = Enter("b");
  ASSERT_TRUE(paused->is_refused());
  EXPECT_GE(paused->verdict->refused->retry_after, absl::Seconds(3));
  EXPECT_LE(paused->verdict->refused->retry_after, absl::Seconds(3.1));
  EXPECT_NEAR(admission_->permitted_per_second(), 59.4 * 0.95, 0.5);
  for (int i = 0; i < 20; ++i) {
    time_.Pass(absl::Milliseconds(100));
    call->verdict->permit.Refused(std::nullopt);
  }
  EXPECT_LT(admission_->permitted_per_second(), 30);
  time_.Pass(absl::Seconds(60));
  EXPECT_NEAR(admission_->permitted_per_second(), 59.4, 0.5);
}

TEST_F(AdmissionTest, RefusalsOfOneOrganizationSlowOnlyThisOrganization) {
  AdmissionOptions options;
  options.rates = {{60, absl::Seconds(1)}};
  options.organization_rates = {{10, absl::Seconds(1)}};
  Make(std::move(options));
  auto call = Enter({.caller = "a", .organization = "o"});
  for (int i = 0; i < 20; ++i) {
    call->verdict->permit.Refused(absl::Seconds(2));
    time_.Pass(absl::Milliseconds(100));
  }
  EXPECT_NEAR(admission_->permitted_per_second(), 59.4, 0.5);
  EXPECT_TRUE(Enter({.caller = "a", .organization = "o"})->is_refused());
  auto other = Enter({.caller = "a", .organization = "p"});
  ASSERT_TRUE(other->is_admitted());
  other->verdict->permit.Refused(std::nullopt);
  EXPECT_LT(admission_->permitted_per_second(), 59);
}

TEST_F(AdmissionTest, WhatOthersUseOfTheRateIsNotUsed) {
  MakeRates({{60, absl::Seconds(1)}});
  on_sent_ = [&](Admission::Permit& permit) {
    // Upstream has counted 20 requests of others too.
    const auto own = std::count_if(sent_.begin(), sent_.end(),
                                   [&](absl::Time sent) { return sent > time_.now() - absl::Seconds(1); });
    permit.Remaining(60, 60 - 20 - (own + 1));
  };
  for (int i = 0; i < 5000; ++i) {
    Enter();
    time_.Pass(absl::Milliseconds(2));
  }
  EXPECT_THAT(sent_.size(), AllOf(Ge(400), Le(450)));
}

// The requests of the other gateways are not those of strangers: each gateway has its share already.
TEST_F(AdmissionTest, WhatUpstreamSaysRemainsIsIgnoredIfSeveralGatewaysShareTheRate) {
  MakeRates({{60, absl::Seconds(1)}});
  SetShare(0.5);
  Enter()->verdict->permit.Remaining(60, 0);
  EXPECT_NEAR(admission_->permitted_per_second(), 30 / 1.01, 0.1);
  AdmissionOptions options;
  options.rates = {{60, absl::Seconds(1)}};
  options.share = 0.5;
  Make(std::move(options));
  Enter()->verdict->permit.Remaining(60, 0);
  EXPECT_NEAR(admission_->permitted_per_second(), 30 / 1.01, 0.1);
  MakeRates({{60, absl::Seconds(1)}});
  Enter()->verdict->permit.Remaining(60, 0);
  EXPECT_LT(admission_->permitted_per_second(), 10);
}

TEST_F(AdmissionTest, AKeySetIsNeverRefusedAndCounts) {
  MakeRates({{10, absl::Seconds(1)}});
  for (int i = 0; i < 10; ++i) admission_->Charge();
  EXPECT_TRUE(Enter()->is_refused());
  time_.Pass(absl::Milliseconds(1100));
  EXPECT_TRUE(Enter()->is_admitted());
}

// Thirty callers with the weights 1 to 3 offer 500 calls in a second, one of them ten times its share of 60.
TEST_F(AdmissionTest, CallersShareTheRateByTheirWeights) {
  MakeRates({{60, absl::Seconds(1)}});
  constexpr int kCallers = 30;
  std::vector<double> weights;
  double total = 0;
  for (int i = 0; i < kCallers; ++i) {
    weights.push_back(1 + i % 3);
    total += weights.back();
  }
  std::mt19937 random(14);
  std::vector<double> offered;
  for (int i = 0; i < kCallers; ++i)
    offered.push_back(60 * weights[static_cast<size_t>(i)] / total * (i == 0 ? 10 : 1));
  double sum = 0;
  for (const double rate : offered) sum += rate;
  for (double& rate : offered) rate *= 500 / sum;
  std::discrete_distribution<size_t> caller(offered.begin(), offered.end());
  std::exponential_distribution<double> gap(500);
  std::map<std::string, int> refused_late;
  std::vector<std::shared_ptr<TestCall>> calls;
  const absl::Time end = time_.now() + absl::Seconds(60);
  while (time_.now() < end) {
    time_.Pass(absl::Seconds(gap(random)));
    const size_t index = caller(random);
    const std::string name = absl::StrCat(index);
    calls.push_back(Enter({.caller = name, .weight = weights[index], .time_left = absl::Seconds(5)}));
  }
  std::map<std::string, double> admitted;
  int refused = 0;
  int late = 0;
  for (const auto& call : calls) {
    if (call->is_admitted()) admitted[call->caller] += 1;
    if (!call->is_refused()) continue;
    ++refused;
    if (call->ended != call->begun) ++late;
  }
  double shares = 0;
  double squares = 0;
  for (int i = 0; i < kCallers; ++i) {
    const double share = admitted[absl::StrCat(i)] / weights[static_cast<size_t>(i)];
    shares += share;
    squares += share * share;
  }
  const double jain = shares * shares / (kCallers * squares);
  EXPECT_GE(jain, 0.98);
  EXPECT_GE(sent_.size(), 60 * 60 * 98 / 100);
  // Nearly all refused calls are refused at once, so that the 99th percentile of the time to a refusal is short.
  EXPECT_LE(late, refused / 500);
}

}  // namespace
}  // namespace stampgate
