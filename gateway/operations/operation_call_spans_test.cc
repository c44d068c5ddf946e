// Tests the stages and the spans of a call of an operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "gateway/telemetry/traced_call.h"
#include "gateway/telemetry/tracer.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;

constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class OperationCallSpansTest : public CallTest {
 protected:
  OperationCallSpansTest() {
    tracer_ = &own_tracer_;
    forward_traceparent_ = true;
  }

  Tracer::Options Options() {
    Tracer::Options options;
    options.max_queued = 10;
    options.random = [this] { return ++next_; };
    options.now = absl::UnixEpoch;
    options.steady_now = [] { return Tracer::SteadyTime(); };
    options.on_drop = [] {};
    return options;
  }

  Replies Start(absl::string_view method, const std::string& request, const std::string& traceparent = kTraceparent) {
    Replies replies;
    auto call = std::make_shared<OperationCall>(environment(), operations(), OperationOf(method),
                                                *TraceContext::Parse(traceparent), replies.Callback());
    Watch(call, replies);
    call->Start(caller(), "", BytesOf(*RequestOf(OperationOf(method), request)), absl::InfiniteDuration());
    return replies;
  }

  // Returns the only call that has ended.
  TracedCall Ended() {
    const auto calls = own_tracer_.Take(10);
    EXPECT_THAT(calls, SizeIs(1));
    return calls.empty() ? TracedCall() : *calls[0];
  }

  static std::vector<CallStage> StagesOf(const TracedCall& call) {
    std::vector<CallStage> stages;
    for (const TracedStep& step : call.steps) stages.push_back(step.step);
    return stages;
  }

  std::atomic<uint64_t> next_ = 0;
  Tracer own_tracer_{Options()};
};

TEST_F(OperationCallSpansTest, AnAnsweredCallHasEveryStage) {
  UseAudit();
  const Replies replies = Start("GetPolicy", kGet);
  upstream_.End(upstream_.WaitForSent().id, AnswerOf(200, kPolicy));
  EXPECT_EQ(replies.Wait(), absl::OkStatus());
  const TracedCall call = Ended();
  EXPECT_THAT(StagesOf(call), ElementsAre(CallStage::kAuthenticate, CallStage::kTranslate, CallStage::kDecide,
                                          CallStage::kTranslate, CallStage::kAudit, CallStage::kSign, CallStage::kQueue,
                                          CallStage::kUpstream, CallStage::kMap));
  EXPECT_EQ(call.caller, "payments");
  EXPECT_EQ(call.code, absl::StatusCode::kOk);
  EXPECT_EQ(call.http_method, "POST");
  EXPECT_EQ(call.url_template, "/public/v1/query/get_policy");
  EXPECT_EQ(call.steps[7].http_status, 200);
}

TEST_F(OperationCallSpansTest, UpstreamReceivesTheIdOfTheSpanOfTheExchange) {
  const Replies replies = Start("GetPolicy", kGet);
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  upstream_.End(sent.id, AnswerOf(200, kPolicy));
  EXPECT_EQ(replies.Wait(), absl::OkStatus());
  const TracedCall call = Ended();
  for (const TracedStep& step : call.steps) {
    if (step.step != CallStage::kUpstream) continue;
    EXPECT_EQ(sent.options.traceparent,
              absl::StrCat("00-0af7651916cd43dd8448eb211c80319c-", absl::Hex(step.span_id, absl::kZeroPad16), "-01"));
  }
}

TEST_F(OperationCallSpansTest, ACallThatIsNotSampledHasNoSpansAndUpstreamReceivesItsFlag) {
  const std::string traceparent = std::string(kTraceparent).replace(53, 2, "00");
  const Replies replies = Start("GetPolicy", kGet, traceparent);
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  EXPECT_FALSE(sent.options.on_slot);
  EXPECT_TRUE(sent.options.traceparent.ends_with("-00"));
  upstream_.End(sent.id, AnswerOf(200, kPolicy));
  EXPECT_EQ(replies.Wait(), absl::OkStatus());
  EXPECT_THAT(own_tracer_.Take(10), IsEmpty());
}

TEST_F(OperationCallSpansTest, ADeniedCallEndsInTheStageThatDeniesIt) {
  const Replies replies = Start("GetPolicy", R"pb(organization_id: "keyless" policy_id: "p")pb");
  EXPECT_EQ(replies.Wait().code(), absl::StatusCode::kPermissionDenied);
  const TracedCall call = Ended();
  EXPECT_THAT(StagesOf(call), ElementsAre(CallStage::kAuthenticate, CallStage::kTranslate, CallStage::kDecide));
  EXPECT_EQ(call.code, absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(call.error_reason, "ORGANIZATION_NOT_SERVED");
}

TEST_F(OperationCallSpansTest, ASubmitThatContinuesAfterTheReplyIsExportedWhenItsExchangeHasEnded) {
  const Replies replies = Start("CreatePolicies", kCreate);
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  upstream_.End(sent.id, TransportFailure{Cause::kTimeout, true, "", /*goes_on=*/true});
  EXPECT_FALSE(replies.Wait().ok());
  EXPECT_THAT(own_tracer_.Take(10), IsEmpty());
  upstream_.EndLate(sent.id, AnswerOf(200, kActivity));
  const TracedCall call = Ended();
  ASSERT_GE(call.steps.size(), 2u);
  EXPECT_EQ(call.steps[call.steps.size() - 2].http_status, 200);
  EXPECT_NE(call.code, absl::StatusCode::kOk);
}

TEST_F(OperationCallSpansTest, AnInvalidCallEndsInTheStageThatRefusesIt) {
  const Replies replies = Start("GetPolicy", R"pb(organization_id: "o")pb");
  EXPECT_EQ(replies.Wait().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(StagesOf(Ended()), ElementsAre(CallStage::kAuthenticate, CallStage::kTranslate));
}

}  // namespace
}  // namespace stampgate
