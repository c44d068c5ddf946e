// Callers share each rate by their weights: that of upstream as a whole, of an organization, and of an operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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

namespace stampgate {
namespace {

constexpr RateLimit kTenASecond = {10, absl::Seconds(1)};

#ifdef STAMPGATE_SANITIZED
constexpr unsigned kSeeds = 6;
#else
constexpr unsigned kSeeds = 30;
#endif

class WeightsTest : public AdmissionTest {
 protected:
  // Makes one call after the other for the given time, as a client does that repeats a refused call after the stated
  // delay.
  void Loop(AdmissionRequest request, absl::Time end) {
    if (time_.now() >= end) return;
    request.time_left = absl::Seconds(10);
    auto call = std::make_shared<TestCall>();
    call->caller = request.caller;
    const auto next = [this, call, request, end](Admission::Verdict verdict) {
      absl::Duration pause = absl::Milliseconds(1 + random_() % 20);  // the exchange
      if (verdict.refused.has_value()) {
        pause = verdict.refused->retry_after * (1 + static_cast<double>(random_() % 100) / 1000);
      } else {
        verdict.permit.Sent();
        ++served_[std::string(request.caller)];
        ++served_by_[absl::StrCat(request.caller, request.organization, request.operation)];
      }
      time_.RunAfter(pause, [this, request, end,
                             permit = std::make_shared<Admission::Permit>(std::move(verdict.permit))]() mutable {
        permit->End();
        Loop(request, end);
      });
    };
    if (auto verdict = admission_->Enter(request, call->ticket, next); verdict.has_value()) next(*std::move(verdict));
  }

  void Loops(int count, const AdmissionRequest& request, absl::Duration time) {
    for (int i = 0; i < count; ++i) {
      time_.RunAfter(absl::Milliseconds(random_() % 200),
                     [this, request, end = time_.now() + time] { Loop(request, end); });
    }
  }

  double RatioOf(const std::string& heavy, const std::string& light) {
    return static_cast<double>(served_by_[heavy]) / static_cast<double>(served_by_[light]);
  }

  // Calls `run` with each seed.
  void Runs(AdmissionOptions options, const std::function<void()>& run) {
    options.max_wait = absl::Seconds(2);
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      random_.seed(seed);
      served_.clear();
      served_by_.clear();
      Make(options);
      run();
      time_.Pass(absl::Minutes(2));
    }
  }

  std::mt19937 random_;
  std::map<std::string, int> served_;
  std::map<std::string, int> served_by_;  // by caller, organization and operation
};

TEST_F(WeightsTest, HoldWithinEachKindOfRate) {
  AdmissionOptions upstream;
  upstream.rates = {kTenASecond};
  AdmissionOptions organization;
  organization.organization_rates = {kTenASecond};
  AdmissionOptions operation;
  operation.operation_rates = {{{"/a"}, {kTenASecond}}};
  AdmissionOptions all = organization;
  all.rates = {{60, absl::Seconds(1)}};
  all.operation_rates = operation.operation_rates;
  for (const AdmissionOptions& options : {upstream, organization, operation, all}) {
    Runs(options, [this] {
      Loops(40, {.caller = "light", .weight = 1, .organization = "o", .operation = "/a"}, absl::Minutes(1));
      Loops(40, {.caller = "heavy", .weight = 3, .organization = "o", .operation = "/a"}, absl::Minutes(1));
      time_.Pass(absl::Minutes(1));
      EXPECT_NEAR(RatioOf("heavyo/a", "lighto/a"), 3, 0.3);
      EXPECT_GE(served_["light"] + served_["heavy"], 10 * 60 * 95 / 100) << "the rate is used";
    });
  }
}

// What a caller gets in other organizations does not count in this one.
TEST_F(WeightsTest, HoldWithinAnOrganizationAlsoForACallerOfOtherOrganizations) {
  AdmissionOptions options;
  options.rates = {{60, absl::Seconds(1)}};
  options.organization_rates = {kTenASecond};
  Runs(options, [this] {
    Loops(20, {.caller = "a", .organization = "o"}, absl::Minutes(1));
    Loops(20, {.caller = "b", .organization = "o"}, absl::Minutes(1));
    for (const char* other : {"p", "q", "r"}) Loops(20, {.caller = "a", .organization = other}, absl::Minutes(1));
    time_.Pass(absl::Minutes(1));
    EXPECT_NEAR(RatioOf("ao", "bo"), 1, 0.1);
    EXPECT_GE(served_by_["ap"], 10 * 60 * 95 / 100);
  });
}

// A rate that has room for all does not decide: within it, "a" has had less than its share.
TEST_F(WeightsTest, HoldWithinUpstreamAlsoIfTheOrganizationHasRoom) {
  for (const int64_t room : {1000, 30, 15}) {
    SCOPED_TRACE(room);
    AdmissionOptions options;
    options.rates = {kTenASecond};
    options.organization_rates = {{room, absl::Seconds(1)}};
    Runs(options, [this] {
      Loops(20, {.caller = "b", .organization = "o"}, absl::Minutes(1));
      for (const char* other : {"o", "p", "q", "r"})
        Loops(10, {.caller = "a", .organization = other}, absl::Minutes(1));
      time_.Pass(absl::Minutes(1));
      EXPECT_NEAR(static_cast<double>(served_["a"]) / served_["b"], 1, 0.1);
    });
  }
}

// Both the organization and the operation are narrower than what is offered, and other callers use up the rest.
TEST_F(WeightsTest, HoldAtEachLevelAtOnce) {
  AdmissionOptions options;
  options.rates = {{40, absl::Seconds(1)}};
  options.organization_rates = {{20, absl::Seconds(1)}};
  options.operation_rates = {{{"/a"}, {kTenASecond}}};
  Runs(options, [this] {
    Loops(30, {.caller = "x", .organization = "o", .operation = "/a"}, absl::Minutes(1));
    Loops(30, {.caller = "y", .weight = 2, .organization = "o", .operation = "/a"}, absl::Minutes(1));
    Loops(80, {.caller = "z", .organization = "o", .operation = "/b"}, absl::Minutes(1));
    Loops(60, {.caller = "w", .organization = "p", .operation = "/b"}, absl::Minutes(1));
    time_.Pass(absl::Minutes(1));
    EXPECT_NEAR(RatioOf("yo/a", "xo/a"), 2, 0.2);
    EXPECT_GE(served_["x"] + served_["y"], 10 * 60 * 90 / 100) << "nobody shuts the operation out";
    EXPECT_GE(served_["z"], 10 * 60 * 80 / 100);
    EXPECT_GE(served_["w"], 20 * 60 * 80 / 100);
  });
}

TEST_F(WeightsTest, AHeavierCallerOvertakesTheWaitingCallsOfItsOrganization) {
  AdmissionOptions options;
  options.organization_rates = {kTenASecond};
  options.max_wait = absl::Seconds(2);
  Make(std::move(options));
  std::vector<std::shared_ptr<TestCall>> light;
  for (int i = 0; i < 40; ++i) light.push_back(Enter({.caller = "light", .organization = "o"}));
  time_.Pass(absl::Milliseconds(250));
  std::vector<std::shared_ptr<TestCall>> heavy;
  for (int i = 0; i < 10; ++i) heavy.push_back(Enter({.caller = "heavy", .weight = 3, .organization = "o"}));
  time_.Pass(absl::Seconds(5));
  for (const auto& call : heavy) EXPECT_TRUE(call->is_admitted());
  // The lighter calls that were overtaken, and whose time is over, get a refusal with a delay.
  int late = 0;
  for (const auto& call : light) {
    ASSERT_FALSE(call->waits());
    if (!call->is_refused() || call->ended == call->begun) continue;
    ++late;
    EXPECT_EQ(call->verdict->refused->why, AdmissionRefusal::kWaitTooLong);
    EXPECT_LE(call->ended - call->begun, absl::Seconds(2));
    EXPECT_GT(call->verdict->refused->retry_after, absl::ZeroDuration());
  }
  EXPECT_GT(late, 0);
  EXPECT_GE(admitted_.size(), 20u) << "no place is lost";
}

TEST_F(WeightsTest, AFloodLeavesTheOthersTheirShareOfEachKindOfRate) {
  AdmissionOptions organization;
  organization.rates = {{60, absl::Seconds(1)}};
  organization.organization_rates = {kTenASecond};
  AdmissionOptions operation;
  operation.rates = {{60, absl::Seconds(1)}};
  operation.operation_rates = {{{"/a"}, {kTenASecond}}};
  for (const AdmissionOptions& options : {organization, operation}) {
    Make(options);
    std::vector<std::shared_ptr<TestCall>> modest;
    for (int i = 0; i < 60 * 250; ++i) {
      kept_.push_back(Enter({.caller = "flood", .organization = "o", .operation = "/a"}));
      if (i % 62 == 61) modest.push_back(Enter({.caller = "modest", .organization = "o", .operation = "/a"}));
      time_.Pass(absl::Milliseconds(4));
    }
    time_.Pass(absl::Seconds(1));
    const auto admitted =
        std::count_if(modest.begin(), modest.end(), [](const auto& call) { return call->is_admitted(); });
    EXPECT_GE(admitted, static_cast<int64_t>(modest.size() * 95 / 100)) << "of 4 in a second, whose share is 5";
    kept_.clear();
  }
}

// The calls that wait for a narrow rate do not make the others wait.
TEST_F(WeightsTest, AFloodOfOneOperationDoesNotRefuseOtherCallsOfTheOrganization) {
  AdmissionOptions options;
  options.organization_rates = {{20, absl::Seconds(1)}};
  options.operation_rates = {{{"/a"}, {{1, absl::Seconds(1)}}}};
  options.max_wait = absl::Seconds(30);
  Make(std::move(options));
  for (int i = 0; i < 25; ++i) kept_.push_back(Enter({.caller = "flood", .organization = "o", .operation = "/a"}));
  std::vector<std::shared_ptr<TestCall>> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(Enter(
        {.caller = i % 2 == 0 ? "flood" : "b", .organization = "o", .operation = "/b", .time_left = absl::Seconds(1)}));
    if (i % 10 == 9) time_.Pass(absl::Milliseconds(600));  // most of ten calls at once must wait for a moment
  }
  time_.Pass(absl::Seconds(1));
  for (const auto& call : others) EXPECT_TRUE(call->is_admitted());
}

TEST_F(WeightsTest, ALimitOfCallsInFlightIsSharedByWeightToo) {
  AdmissionOptions options;
  options.max_in_flight_per_organization = 4;
  options.max_wait = absl::Seconds(2);
  Make(std::move(options));
  std::vector<std::shared_ptr<TestCall>> calls;
  on_sent_ = [this](Admission::Permit& permit) {
    time_.RunAfter(absl::Milliseconds(400), [&permit] { permit.End(); });  // ten in a second
  };
  for (int i = 0; i < 1000; ++i) {
    for (const char* caller : {"flood", "flood", "flood", "flood", "modest"}) {
      if (caller == std::string("modest") && i % 6 != 0) continue;
      calls.push_back(Enter({.caller = caller, .organization = "o"}));
    }
    time_.Pass(absl::Milliseconds(40));
  }
  time_.Pass(absl::Seconds(3));
  int modest = 0;
  int admitted = 0;
  for (const auto& call : calls) {
    if (call->caller != "modest") continue;
    ++modest;
    admitted += call->is_admitted() ? 1 : 0;
  }
  EXPECT_GE(admitted, modest * 95 / 100) << "of 4 in a second, whose share is 5";
}

}  // namespace
}  // namespace stampgate
