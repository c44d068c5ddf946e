#include "gateway/operations/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/operation_call.h"
#include "gateway/operations/testing.h"
#include "gateway/process/steady_now.h"
#include "translate/error.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;
using Kind = AttemptEnd::Kind;

constexpr char kQuery[] = R"pb(organization_id: "o" policy_id: "p")pb";
constexpr char kSubmit[] = R"pb(organization_id: "o"
                                parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } })pb";
constexpr char kTimed[] = R"pb(organization_id: "o"
                               parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } }
                               timestamp_ms: 1755500000000)pb";
constexpr char kKeyed[] = R"pb(organization_id: "o"
                               parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } }
                               idempotency_key: "key-1")pb";
constexpr char kPolicy[] = R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW","notes":""}})";
constexpr char kActivity[] = R"({"activity":{"id":"a-1","organizationId":"o","status":"ACTIVITY_STATUS_COMPLETED"}})";

TransportFailure Broken() { return {Cause::kBroken, /*body_sent=*/true, "the connection ended"}; }
TransportFailure Unreachable() { return {Cause::kUnreachable, /*body_sent=*/false, "refused"}; }

// The tests run whole calls, whose only unusual part is the dispatch.
class DispatchTest : public CallTest {
 protected:
  struct Call {
    std::weak_ptr<OperationCall> handler;
    Replies replies;

    absl::Status Wait() const { return replies.Wait(); }
    void Cancel() const {
      if (const std::shared_ptr<OperationCall> call = handler.lock()) call->Cancel();
    }
  };

  Call Start(absl::string_view method, const std::string& text) {
    Call call;
    auto handler = std::make_shared<OperationCall>(environment(), operations(), OperationOf(method),
                                                   TraceContext::Begin([] { return 7; }), call.replies.Callback());
    call.handler = handler;
    Watch(handler, call.replies);
    handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf(method), text)), absl::InfiniteDuration());
    return call;
  }
  void GrantGeneralQueries() {
    SetGrants(R"pb(grants {
                     classes: POLICY_CLASS_QUERY
                     general_operations { path: "get_new_thing" }
                     general_operations { path: "get_other_thing" }
                     all_organizations: true
                   })pb");
  }

  // Returns how a call ends that has no place within the rates.
  absl::Status Refused() {
    while (true) {
      const size_t sent = upstream_.sent().size();
      const Call call = Query();
      if (upstream_.sent().size() == sent) return call.Wait();
      End(sent + 1, AnswerOf(200, kPolicy));
      EXPECT_TRUE(call.Wait().ok());
    }
  }

  Call Query() { return Start("GetPolicy", kQuery); }
  Call GeneralQuery(absl::string_view path) {
    return Start("QueryOperation", absl::StrCat(R"pb(organization_id: "o" parameters: "{}" path: ")pb", path, "\""));
  }
  Call Submit(const std::string& text) { return Start("CreatePolicies", text); }

  // Ends the exchange of attempt number `attempt`, counted from 1.
  void End(size_t attempt, UpstreamOutcome outcome) {
    upstream_.End(upstream_.WaitForSent(attempt).id, std::move(outcome));
  }
};

TEST_F(DispatchTest, SendsTheSameBytesAgain) {
  UseRetries();
  const Call call = Query();
  End(1, Broken());
  End(2, AnswerOf(503, ""));
  End(3, AnswerOf(200, kPolicy));
  EXPECT_TRUE(call.Wait().ok());
  const std::vector<FakeUpstream::Sent> sent = upstream_.sent();
  ASSERT_THAT(sent, SizeIs(3));
  for (const FakeUpstream::Sent& attempt : sent) {
    EXPECT_EQ(attempt.body, sent.front().body);
    EXPECT_EQ(attempt.header_value, sent.front().header_value);
    EXPECT_EQ(attempt.path, sent.front().path);
  }
  EXPECT_EQ(signer_->signatures(), 1);
}

TEST_F(DispatchTest, ReturnsTheLastFailure) {
  UseRetries();
  const Call call = Query();
  End(1, AnswerOf(503, ""));
  End(2, AnswerOf(503, ""));
  End(3, Unreachable());
  EXPECT_EQ(ErrorReasonOf(call.Wait()), "UPSTREAM_UNREACHABLE");
}

TEST_F(DispatchTest, WithoutRetriesSendsARequestOnce) {
  const Call call = Query();
  End(1, AnswerOf(503, ""));
  EXPECT_EQ(ErrorReasonOf(call.Wait()), "UPSTREAM_UNAVAILABLE");
  EXPECT_THAT(upstream_.sent(), SizeIs(1));
}

TEST_F(DispatchTest, SendsASubmitAgainAfterBytesWereSentOnlyIfTheCallerHasFixedItsBytes) {
  UseRetries();
  const Call call = Submit(kSubmit);
  End(1, Broken());
  EXPECT_EQ(ErrorReasonOf(call.Wait()), "OUTCOME_UNKNOWN");
  const Call timed = Submit(kTimed);
  End(2, Broken());
  End(3, AnswerOf(200, kActivity));
  EXPECT_TRUE(timed.Wait().ok());
  EXPECT_EQ(upstream_.sent()[1].body, upstream_.sent()[2].body);
}

TEST_F(DispatchTest, ARefusalDoesNotHideAnEarlierUnknownOutcome) {
  UseRetries();
  for (const UpstreamOutcome& second :
       std::vector<UpstreamOutcome>{AnswerOf(403, ""), AnswerOf(429, ""), Unreachable()}) {
    const size_t sent = upstream_.sent().size();
    const Call call = Submit(kTimed);
    End(sent + 1, Broken());
    End(sent + 2, second);
    EXPECT_EQ(ErrorReasonOf(call.Wait()), "OUTCOME_UNKNOWN");
  }
}

TEST_F(DispatchTest, ARefusalAfterAnAttemptThatSentNothingIsTheOutcome) {
  UseRetries();
  const Call call = Submit(kSubmit);
  End(1, Unreachable());
  End(2, AnswerOf(403, ""));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kPermissionDenied));
}

TEST_F(DispatchTest, TheStoreLearnsTheOutcomeOfAllAttempts) {
  UseRetries();
  UseStore();
  const Call call = Submit(kKeyed);
  CallStore::Begun begun;
  begun.attempt = 5;
  AnswerStore(begun);
  End(1, Broken());
  End(2, AnswerOf(403, ""));
  EXPECT_EQ(ErrorReasonOf(call.Wait()), "OUTCOME_UNKNOWN");
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends().front().second.kind, Kind::kUnknown);
}

TEST_F(DispatchTest, ACallerThatLeavesBetweenTwoAttemptsEndsTheCall) {
  UseRetries();
  // The random number of this fixture makes the delay short. Whether the caller leaves before or after the second
  // attempt begins, the call ends.
  const Call call = Submit(kTimed);
  End(1, Broken());
  call.Cancel();
  if (upstream_.sent().size() == 2)
    upstream_.End(upstream_.sent()[1].id, TransportFailure{Cause::kCancelled, true, ""});
  EXPECT_EQ(ErrorReasonOf(call.Wait()), "OUTCOME_UNKNOWN");
}

TEST_F(DispatchTest, ARefusedCallIsNeitherSignedNorStoredNorAllowed) {
  UseStore();
  UseAudit();
  UseRates({{1, absl::Hours(1)}});
  const Call first = Query();
  End(1, AnswerOf(200, kPolicy));
  EXPECT_TRUE(first.Wait().ok());
  const Call second = Submit(kKeyed);
  const absl::Status refused = second.Wait();
  EXPECT_THAT(refused, StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(ErrorReasonOf(refused), "QUOTA_EXHAUSTED");
  EXPECT_THAT(store_.submits(), IsEmpty());
  EXPECT_EQ(timestamps_.next_ms(), 0u) << "a refused submit uses no timestamp";
  EXPECT_EQ(signer_->signatures(), 1);
  EXPECT_THAT(AuditLines("allow"), SizeIs(1));
}

TEST_F(DispatchTest, ARefusalNamesTheQuotaThatIsUsedUp) {
  UseRates({{60, absl::Seconds(1)}, {2, absl::Hours(24)}});
  const absl::Status refused = Refused();
  EXPECT_THAT(refused,
              StatusIs(Code::kResourceExhausted, "the gateway has no call left of upstream's quota of 2 calls in 24h"));
  EXPECT_EQ(DetailsOf(refused).metadata.at("limit"), "quota");
  EXPECT_GT(DetailsOf(refused).retry_delay.value_or(absl::ZeroDuration()), absl::Hours(23));
}

TEST_F(DispatchTest, ARefusalNamesTheRateOfTheOrganizationOrOfTheOperation) {
  AdmissionOptions options;
  options.rates = {{60, absl::Seconds(1)}};
  options.organization_rates = {{1, absl::Seconds(10)}};
  UseAdmission(options);
  const absl::Status refused = Refused();
  EXPECT_THAT(refused, StatusIs(Code::kResourceExhausted,
                                "the call would wait too long for a place within the organization's rate of 1 calls "
                                "in 10s"));
  EXPECT_EQ(DetailsOf(refused).metadata.at("limit"), "rate");
}

TEST_F(DispatchTest, AnOperationOfGeneralServiceHasTheRatesOfItsPath) {
  AdmissionOptions options;
  options.operation_rates = {{{"/public/v1/query/get_policy"}, {{1, absl::Hours(24)}}},
                             {{"/public/v1/query/get_new_thing"}, {{1, absl::Hours(24)}}}};
  UseAdmission(options);
  GrantGeneralQueries();
  const absl::Status typed = Refused();
  EXPECT_THAT(typed, StatusIs(Code::kResourceExhausted,
                              "the gateway has no call left of the operation's quota of 1 calls in 24h"));
  const size_t sent = upstream_.sent().size();
  const Call first = GeneralQuery("get_new_thing");
  End(sent + 1, AnswerOf(200, "{}"));
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_EQ(ErrorReasonOf(GeneralQuery("get_new_thing").Wait()), "QUOTA_EXHAUSTED");
  const Call other = GeneralQuery("get_other_thing");
  End(sent + 2, AnswerOf(200, "{}"));
  EXPECT_TRUE(other.Wait().ok());
}

TEST_F(DispatchTest, AnOperationThatUpstreamRefusesIsSlowedAloneAlsoInGeneralService) {
  UseRates({{60, absl::Seconds(1)}});
  GrantGeneralQueries();
  const Call accepted = GeneralQuery("get_other_thing");
  End(1, AnswerOf(200, "{}"));
  EXPECT_TRUE(accepted.Wait().ok());
  const Call first = GeneralQuery("get_new_thing");
  HttpAnswer limited = AnswerOf(429, "");
  limited.retry_after = absl::Seconds(30);
  End(2, limited);
  EXPECT_EQ(ErrorReasonOf(first.Wait()), "HTTP_429");
  const absl::Status refused = GeneralQuery("get_new_thing").Wait();
  EXPECT_THAT(refused,
              StatusIs(Code::kResourceExhausted,
                       "the call would wait too long for a place within the operation's rate, because upstream "
                       "has refused requests"));
  EXPECT_GE(DetailsOf(refused).retry_delay.value_or(absl::ZeroDuration()), absl::Seconds(25));
  const Call other = GeneralQuery("get_other_thing");
  End(3, AnswerOf(200, "{}"));
  EXPECT_TRUE(other.Wait().ok());
}

TEST_F(DispatchTest, ACallThatWaitsIsSentLater) {
  UseRates({{100, absl::Seconds(1)}});
  std::vector<Call> calls;
  for (int i = 0; i < 25; ++i) calls.push_back(Query());  // twenty of them begin at once
  for (size_t i = 1; i <= calls.size(); ++i) End(i, AnswerOf(200, kPolicy));
  for (const Call& call : calls) EXPECT_TRUE(call.Wait().ok());
}

TEST_F(DispatchTest, ACallerThatLeavesTheQueueSendsNothing) {
  UseRates({{1, absl::Milliseconds(150)}});
  const Call first = Query();
  const Call second = Query();
  second.Cancel();
  EXPECT_THAT(second.Wait(), StatusIs(Code::kCancelled));
  End(1, AnswerOf(200, kPolicy));
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_THAT(upstream_.sent(), SizeIs(1));
}

TEST_F(DispatchTest, ACallThatWaitsForItsPlaceEndsWithTheDrain) {
  UseAudit();
  UseRates({{1, absl::Seconds(1)}}, /*max_wait=*/absl::Seconds(30));
  const Call first = Query();
  const Call second = Query();
  EXPECT_EQ(second.replies.count(), 0);
  environment().admission.Drain(SteadyNow());
  const absl::Status ended = second.Wait();
  EXPECT_THAT(ended, StatusIs(Code::kUnavailable));
  EXPECT_EQ(ErrorReasonOf(ended), "SHUTTING_DOWN");
  EXPECT_GT(DetailsOf(ended).retry_delay.value_or(absl::ZeroDuration()), absl::ZeroDuration());
  End(1, AnswerOf(200, kPolicy));
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_THAT(AuditLines("allow"), SizeIs(1));
}

// The breaker has been open for longer than the time between two probes, and no place is free.
TEST_F(DispatchTest, AProbeThatGetsNoPlaceIsNotLost) {
  UseRetries();
  UseRates({{1, absl::Hours(1)}});
  const Call first = Query();
  End(1, AnswerOf(200, kPolicy));
  EXPECT_TRUE(first.Wait().ok());
  const absl::Time opened = SteadyNow() - 2 * Breaker::kProbeInterval;
  for (int i = 0; i < 20; ++i) environment().query_breaker->Count(AnswerOf(503, ""), absl::ZeroDuration(), opened);
  EXPECT_EQ(ErrorReasonOf(Query().Wait()), "QUOTA_EXHAUSTED");
  EXPECT_EQ(ErrorReasonOf(Query().Wait()), "QUOTA_EXHAUSTED");
}

TEST_F(DispatchTest, AProbeThatIsSentIsTheOnlyOne) {
  UseRetries();
  const absl::Time opened = SteadyNow() - 2 * Breaker::kProbeInterval;
  for (int i = 0; i < 20; ++i) environment().query_breaker->Count(AnswerOf(503, ""), absl::ZeroDuration(), opened);
  const Call probe = Query();
  EXPECT_EQ(ErrorReasonOf(Query().Wait()), "UPSTREAM_FAILING");
  End(1, AnswerOf(200, kPolicy));
  EXPECT_TRUE(probe.Wait().ok());
  const Call next = Query();
  End(2, AnswerOf(200, kPolicy));
  EXPECT_TRUE(next.Wait().ok());
}

TEST_F(DispatchTest, QueriesDoNotOpenTheBreakerOfSubmits) {
  UseRetries();
  for (int i = 0; i < 20; ++i) environment().query_breaker->Count(AnswerOf(503, ""), absl::ZeroDuration(), SteadyNow());
  EXPECT_EQ(ErrorReasonOf(Query().Wait()), "UPSTREAM_FAILING");
  const Call submit = Submit(kSubmit);
  End(1, AnswerOf(200, kActivity));
  EXPECT_TRUE(submit.Wait().ok());
}

// A call without a place has not tried to reach upstream. retries_test.mjs lets calls wait for long.
TEST_F(DispatchTest, ACallThatGetsNoPlaceDoesNotCountForTheBreaker) {
  UseRetries();
  upstream_.gives_slots = false;
  for (size_t i = 1; i <= 30; ++i) {
    const Call call = Submit(kSubmit);
    End(i, TransportFailure{Cause::kBroken, /*body_sent=*/true, "the request cannot be sent"});
    EXPECT_FALSE(call.Wait().ok());
  }
  upstream_.gives_slots = true;
  const Call call = Submit(kSubmit);
  End(31, AnswerOf(200, kActivity));
  EXPECT_TRUE(call.Wait().ok());
}

TEST_F(DispatchTest, AnOpenBreakerRefusesACallBeforeItIsSigned) {
  UseRetries();
  for (int i = 0; i < 20; ++i)
    environment().submit_breaker->Count(AnswerOf(503, ""), absl::ZeroDuration(), SteadyNow());
  const Call call = Submit(kSubmit);
  const absl::Status refused = call.Wait();
  EXPECT_THAT(refused, StatusIs(Code::kUnavailable));
  EXPECT_EQ(ErrorReasonOf(refused), "UPSTREAM_FAILING");
  EXPECT_EQ(signer_->signatures(), 0);
}

}  // namespace
}  // namespace stampgate
