// Tests callers that leave, at every moment of a call of an operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "gateway/audit/testing.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;

TEST_F(OperationCallTest, ACallThatItsCallerLeavesBeforeTheStartIsNotSent) {
  Call call;
  const std::shared_ptr<OperationCall> handler = Make("GetPolicy", call);
  handler->Cancel();
  handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf("GetPolicy"), kGet)), absl::Seconds(1));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, ACallThatItsCallerLeavesWhileTheDecisionIsWrittenIsNotSent) {
  UseAudit();
  disk_.HoldSync();
  const Call call = Start("GetPolicy", kGet);
  disk_.WaitUntilHeld();
  call.Cancel();
  disk_.Release();
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  EXPECT_THAT(AuditLines("outcome"), SizeIs(1));
}

TEST_F(OperationCallTest, ACallThatItsCallerLeavesWhileTheBodyIsSignedIsNotSent) {
  signer_->Hold();
  const Call call = Start("GetPolicy", kGet);
  call.Cancel();
  EXPECT_EQ(call.replies.count(), 0);
  signer_->Answer("30");
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, AKeyedSubmitThatItsCallerLeavesWhileTheStoreBeginsItIsNotSent) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  call.Cancel();
  AnswerStore(Began(5));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].first, 5u);
  EXPECT_EQ(store_.ends()[0].second.kind, AttemptEnd::Kind::kNotSent);
}

TEST_F(OperationCallTest, ACallerThatLeavesWhileTheExchangeBeginsCancelsItOnce) {
  Call call;
  const std::shared_ptr<OperationCall> handler = Make("GetPolicy", call);
  upstream_.while_posting = [&](UpstreamClient::CallId) { handler->Cancel(); };
  handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf("GetPolicy"), kGet)), absl::Seconds(1));
  EXPECT_THAT(upstream_.cancelled(), ElementsAre(1));
  upstream_.End(1, Failure(Cause::kCancelled, false));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
}

TEST_F(OperationCallTest, ACallerThatLeavesWhileADiscoveryBeginsCancelsTheExchange) {
  Call call;
  const std::shared_ptr<OperationCall> handler = Make("GetWebhookKeySet", call);
  upstream_.while_posting = [&](UpstreamClient::CallId) { handler->Cancel(); };
  handler->Start(caller(), "", BytesOf(std::string()), absl::Seconds(1));
  EXPECT_THAT(upstream_.cancelled(), ElementsAre(1));
  upstream_.End(1, Failure(Cause::kCancelled, false));
}

TEST_F(OperationCallTest, ACallerThatLeavesDuringTheExchangeCancelsIt) {
  const Call call = Start("CreatePolicies", kCreate);
  EXPECT_THAT(upstream_.cancelled(), IsEmpty());
  call.Cancel();
  EXPECT_THAT(upstream_.cancelled(), ElementsAre(1));
  upstream_.End(1, Detached(Cause::kCancelled));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  upstream_.EndLate(1, AnswerOf(200, kActivity));
  EXPECT_THAT(LogEvents(), ElementsAre("call_ended", "late_outcome"));
}

TEST_F(OperationCallTest, ACallerThatLeavesAfterTheReplyChangesNothing) {
  Call call;
  const std::shared_ptr<OperationCall> handler = Make("CreatePolicies", call);
  handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf("CreatePolicies"), kCreate)), absl::Seconds(1));
  upstream_.End(1, Detached(Cause::kTimeout));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kDeadlineExceeded));
  handler->Cancel();
  upstream_.EndLate(1, AnswerOf(200, kActivity));
  handler->Cancel();
  EXPECT_EQ(call.replies.count(), 1);
  EXPECT_THAT(call.Wait(), StatusIs(Code::kDeadlineExceeded));
}

TEST_F(OperationCallTest, AnOutcomeThatArrivesBeforePostReturnsEndsTheCall) {
  upstream_.while_posting = [&](UpstreamClient::CallId id) { upstream_.End(id, AnswerOf(200, kPolicy)); };
  EXPECT_EQ(Start("GetPolicy", kGet).Wait(), absl::OkStatus());
  EXPECT_THAT(upstream_.cancelled(), IsEmpty());
}

TEST_F(OperationCallTest, ACallEndsIfItsCallerLeavesAndItsOutcomeArrivesBeforePostReturns) {
  Call call;
  const std::shared_ptr<OperationCall> handler = Make("GetPolicy", call);
  upstream_.while_posting = [&](UpstreamClient::CallId id) {
    handler->Cancel();
    upstream_.End(id, AnswerOf(200, kPolicy));
  };
  handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf("GetPolicy"), kGet)), absl::Seconds(1));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  EXPECT_THAT(upstream_.cancelled(), IsEmpty());  // the exchange has ended
}

TEST_F(OperationCallTest, ADrainEndsExchangesAndLaterCalls) {
  const Call before = Start("CreatePolicies", kCreate);
  upstream_.Shutdown(absl::ZeroDuration());
  EXPECT_EQ(DetailsOf(before.Wait()).reason, "SHUTTING_DOWN");
  EXPECT_EQ(DetailsOf(Start("GetPolicy", kGet).Wait()).reason, "SHUTTING_DOWN");
}

TEST_F(OperationCallTest, ADrainEndsAnExchangeThatContinuesAfterTheReply) {
  const Call call = Start("CreatePolicies", kCreate);
  upstream_.End(1, Detached(Cause::kTimeout));
  upstream_.Shutdown(absl::ZeroDuration());
  EXPECT_THAT(LogEvents(), ElementsAre("call_ended", "late_outcome"));
}

}  // namespace
}  // namespace stampgate
