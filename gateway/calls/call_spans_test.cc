#include "gateway/calls/call_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "translate/error.h"

namespace stampgate {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Cause = TransportFailure::Cause;

constexpr char kMethod[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kNotSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

HttpAnswer AnswerWith(int status) {
  HttpAnswer answer;
  answer.status = status;
  return answer;
}

class CallSpansTest : public testing::Test {
 protected:
  Tracer::Options Options() {
    Tracer::Options options;
    options.sampling_ratio = 1;
    options.max_queued = 10;
    options.random = [this] { return next_++; };
    options.now = [] { return absl::FromUnixSeconds(1000); };
    options.steady_now = [this] { return now_; };
    options.on_drop = [] {};
    return options;
  }

  void Pass(int milliseconds) { now_ += std::chrono::milliseconds(milliseconds); }

  // Returns the only call that has ended.
  TracedCall Ended() {
    const auto calls = tracer_.Take(10);
    EXPECT_THAT(calls, SizeIs(1));
    return calls.empty() ? TracedCall() : *calls[0];
  }

  uint64_t next_ = 100;
  Tracer::SteadyTime now_ = Tracer::SteadyTime() + std::chrono::hours(1);
  Tracer tracer_{Options()};
  const TraceContext trace_ = *TraceContext::Parse(kSampled);
};

TEST_F(CallSpansTest, ACallWithoutATracerIsNotSampled) {
  CallSpans spans(nullptr, trace_, kMethod);
  EXPECT_FALSE(spans.sampled());
  spans.Begin(CallStage::kAuthenticate);
  EXPECT_EQ(spans.NextUpstreamSpan(), 0u);
  spans.EndUpstream(HttpAnswer());
  spans.Answer(absl::OkStatus());
  spans.End();
}

TEST_F(CallSpansTest, ACallIsQueuedWhenItHasEnded) {
  CallSpans spans(&tracer_, trace_, kMethod);
  spans.SetCaller("payments");
  spans.Begin(CallStage::kAuthenticate);
  Pass(2);
  spans.Begin(CallStage::kTranslate);
  Pass(3);
  spans.Answer(absl::OkStatus());
  EXPECT_THAT(tracer_.Take(10), IsEmpty());
  spans.End();
  const TracedCall call = Ended();
  EXPECT_EQ(call.trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(call.parent_id, 0xb7ad6b7169203331u);
  EXPECT_EQ(call.method, kMethod);
  EXPECT_EQ(call.caller, "payments");
  EXPECT_EQ(call.begun, absl::FromUnixSeconds(1000));
  EXPECT_EQ(call.replied, absl::Milliseconds(5));
  EXPECT_EQ(call.ended, absl::Milliseconds(5));
  ASSERT_THAT(call.steps, SizeIs(2));
  EXPECT_EQ(call.steps[1].step, CallStage::kTranslate);
  EXPECT_EQ(call.steps[1].begun, absl::Milliseconds(2));
  EXPECT_FALSE(spans.sampled());
}

TEST_F(CallSpansTest, TheCallersFlagDecides) {
  CallSpans spans(&tracer_, *TraceContext::Parse(kNotSampled), kMethod);
  EXPECT_FALSE(spans.sampled());
}

TEST_F(CallSpansTest, ACallWithoutACallersTraceHasNoParent) {
  CallSpans spans(&tracer_, TraceContext::Begin([] { return 7; }), kMethod);
  ASSERT_TRUE(spans.sampled());
  spans.End();
  EXPECT_EQ(Ended().parent_id, 0u);
}

TEST_F(CallSpansTest, TheSpanOfTheExchangeHasTheAnnouncedId) {
  CallSpans spans(&tracer_, trace_, kMethod);
  spans.SetRequest("POST", "/path");
  spans.Begin(CallStage::kQueue);
  const uint64_t id = spans.NextUpstreamSpan();
  EXPECT_EQ(spans.NextUpstreamSpan(), id);
  spans.Begin(CallStage::kUpstream);
  EXPECT_NE(spans.NextUpstreamSpan(), id);
  spans.EndUpstream(AnswerWith(200));
  spans.End();
  const TracedCall call = Ended();
  ASSERT_THAT(call.steps, SizeIs(3));
  EXPECT_EQ(call.steps[1].span_id, id);
  EXPECT_EQ(call.steps[1].http_status, 200);
  EXPECT_EQ(call.steps[2].step, CallStage::kMap);
  EXPECT_EQ(call.http_method, "POST");
  EXPECT_EQ(call.url_template, "/path");
}

TEST_F(CallSpansTest, AnExchangeThatContinuesEndsLater) {
  CallSpans spans(&tracer_, trace_, kMethod);
  spans.Begin(CallStage::kUpstream);
  Pass(5);
  spans.EndUpstream(TransportFailure{Cause::kTimeout, true, "", /*goes_on=*/true});
  spans.Answer(absl::DeadlineExceededError(""));
  Pass(20);
  spans.EndUpstream(AnswerWith(200));
  spans.End();
  const TracedCall call = Ended();
  EXPECT_EQ(call.code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call.replied, absl::Milliseconds(5));
  EXPECT_EQ(call.ended, absl::Milliseconds(25));
  ASSERT_THAT(call.steps, SizeIs(2));
  EXPECT_EQ(call.steps[0].http_status, 200);
  EXPECT_EQ(call.steps[0].failure, "");
  EXPECT_EQ(call.steps[1].begun, absl::Milliseconds(25));
}

TEST_F(CallSpansTest, AFailedExchangeStatesItsFailure) {
  CallSpans spans(&tracer_, trace_, kMethod);
  spans.Begin(CallStage::kUpstream);
  spans.EndUpstream(TransportFailure{Cause::kTls, false, "detail", /*goes_on=*/false});
  spans.End();
  const TracedCall call = Ended();
  EXPECT_EQ(call.steps[0].failure, "tls");
  EXPECT_EQ(call.steps[0].http_status, 0);
}

TEST_F(CallSpansTest, AReasonOfUpstreamIsNotExported) {
  Error error = GatewayError(absl::StatusCode::kNotFound, v1::ERROR_REASON_INVALID_REQUEST, "");
  CallSpans ours(&tracer_, trace_, kMethod);
  ours.Answer(ToStatus(error));
  ours.End();
  EXPECT_EQ(Ended().error_reason, "INVALID_REQUEST");
  error.domain = std::string(kUpstreamDomain);
  CallSpans upstreams(&tracer_, trace_, kMethod);
  upstreams.Answer(ToStatus(error));
  upstreams.End();
  EXPECT_EQ(Ended().error_reason, "UPSTREAM");
}

TEST_F(CallSpansTest, TheNumberOfStepsIsBounded) {
  CallSpans spans(&tracer_, trace_, kMethod);
  for (size_t i = 0; i < CallSpans::kMaxSteps + 5; ++i) spans.Begin(CallStage::kQueue);
  spans.End();
  EXPECT_THAT(Ended().steps, SizeIs(CallSpans::kMaxSteps));
}

}  // namespace
}  // namespace stampgate
