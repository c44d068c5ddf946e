// Tests what a call of an operation writes to the audit log, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <latch>
#include <string>
#include <vector>

#include "base/secret/sha256.h"
#include "gateway/audit/testing.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Code = absl::StatusCode;
using Kind = AttemptEnd::Kind;

// ---- The audit ----

TEST_F(OperationCallTest, TheDecisionIsOnTheDiskBeforeAnythingIsSigned) {
  UseAudit();
  disk_.HoldSync();
  const Call call = Start("CreatePolicies", kCreate);
  disk_.WaitUntilHeld();
  EXPECT_EQ(signer_->signatures(), 0);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  disk_.Release();
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  upstream_.End(sent.id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());

  const RequestBody body(sent.body);
  const std::vector<std::string> allows = AuditLines("allow");
  ASSERT_THAT(allows, SizeIs(1));
  EXPECT_EQ(Member(allows[0], "caller"), "payments");
  EXPECT_EQ(Member(allows[0], "method"), "/stampgate.v1.PolicyService/CreatePolicies");
  EXPECT_EQ(Member(allows[0], "organization_id"), "o");
  EXPECT_EQ(Member(allows[0], "key"), "main");
  EXPECT_EQ(Member(allows[0], "body_sha256"), body.HexDigest());
  EXPECT_EQ(Member(allows[0], "request_id"), "00000000000000070000000000000007");
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
  EXPECT_EQ(Member(outcomes[0], "activity_id"), "a-1");
  EXPECT_EQ(Member(outcomes[0], "activity_status"), "ACTIVITY_STATUS_COMPLETED");
  EXPECT_EQ(Member(outcomes[0], "fingerprint"), body.Fingerprint());
}

TEST_F(OperationCallTest, CallsThatTheGatewayDoesNotSignAreRecordedWithoutAKey) {
  UseAudit();
  const Call login = StartLogin(kLoginBody, kStamp);
  upstream_.End(upstream_.WaitForSent().id, AnswerOf(200, kActivity));
  EXPECT_EQ(login.Wait(), absl::OkStatus());
  const Call discovery = Start("GetWebhookKeySet", "");
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, R"({"keys":[]})"));
  EXPECT_EQ(discovery.Wait(), absl::OkStatus());

  const std::vector<std::string> allows = AuditLines("allow");
  ASSERT_THAT(allows, SizeIs(2));
  EXPECT_THAT(allows[0], HasSubstr(R"("client_stamped":true)"));
  EXPECT_EQ(Member(allows[0], "body_sha256"), RequestBody(kLoginBody).HexDigest());
  for (const std::string& allow : allows) EXPECT_EQ(Member(allow, "key"), "");
  EXPECT_EQ(Member(allows[1], "body_sha256"), "");
}

TEST_F(OperationCallTest, ASlowSignatureDoesNotDelayTheDecisionOfAnotherCall) {
  UseAudit();
  std::latch may_sign(1);
  signer_->slow = true;
  signer_->while_signing = [&may_sign] { may_sign.wait(); };
  const Call signing = Start("GetPolicy", kGet);
  const Call other = Start("GetWebhookKeySet", "");
  const FakeUpstream::Sent sent = upstream_.WaitForSent();  // at this time, the signer still waits in Sign
  EXPECT_TRUE(sent.is_get);
  upstream_.End(sent.id, AnswerOf(200, R"({"keys":[]})"));
  EXPECT_EQ(other.Wait(), absl::OkStatus());

  may_sign.count_down();
  upstream_.End(upstream_.WaitForSent(2).id, AnswerOf(200, kPolicy));
  EXPECT_EQ(signing.Wait(), absl::OkStatus());
}

TEST_F(OperationCallTest, IfTheDecisionCannotBeRecordedNothingIsSigned) {
  UseAudit();
  UseStore();
  disk_.Fail(FaultyCalls::Call::kWrite, ENOSPC);
  const Call call = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Began(5));
  const absl::Status status = call.Wait();
  EXPECT_THAT(status, StatusIs(Code::kUnavailable));
  EXPECT_EQ(DetailsOf(status).reason, "AUDIT_UNAVAILABLE");
  EXPECT_EQ(signer_->signatures(), 0);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  disk_.Mend();
  EXPECT_THAT(AuditLines("outcome"), IsEmpty());
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
}

TEST_F(OperationCallTest, ADrainEndsACallWhoseDecisionIsNotOnTheDisk) {
  UseAudit();
  disk_.HoldSync();
  const Call call = Start("GetPolicy", kGet);
  disk_.WaitUntilHeld();
  waits_.EndAll();
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "AUDIT_UNAVAILABLE");
  disk_.Release();
  // The audit log writes decisions in their order, and a call continues when its decision is written. When this second
  // call has continued, the decision about the first call is written too.
  Start("GetWebhookKeySet", "");
  EXPECT_TRUE(upstream_.WaitForSent().is_get);
  upstream_.End(1, AnswerOf(200, R"({"keys":[]})"));
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_EQ(Member(outcomes[0], "reason"), "AUDIT_UNAVAILABLE");
  EXPECT_EQ(signer_->signatures(), 0);
}

// ---- The audit log and the call store together ----

TEST_F(OperationCallTest, TheDecisionIsWrittenWhileTheStoreWrites) {
  const Call call = StartDecidedAndHold();
  AnswerStore(Began(5));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  disk_.Release();
  upstream_.WaitForSent();
  upstream_.End(upstream_.sent()[0].id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  EXPECT_THAT(AuditLines("allow"), ElementsAre(HasSubstr(HexDigest(Sha256(CreateBody(kNowMs))))));
}

TEST_F(OperationCallTest, ADecisionIsNotEnoughToSendBeforeTheStoreHasWritten) {
  const Call call = StartDecided();
  RunTasks();
  EXPECT_THAT(AuditLines("allow"), SizeIs(1));
  RunTasks();
  EXPECT_EQ(signer_->signatures(), 0);
  AnswerStore(Began(5));
  upstream_.WaitForSent();
  upstream_.End(upstream_.sent()[0].id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
}

TEST_F(OperationCallTest, AStoreThatFailsAfterItsDecisionEndsTheRecordedCall) {
  const Call call = StartDecided();
  AnswerStore(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "IDEMPOTENCY_UNAVAILABLE");
  EXPECT_THAT(AuditLines("outcome"),
              ElementsAre(AllOf(HasSubstr("IDEMPOTENCY_UNAVAILABLE"), Not(HasSubstr("attempts")))));
  EXPECT_EQ(signer_->signatures(), 0);
}

TEST_F(OperationCallTest, ADecisionThatFailsEndsTheAttemptOfTheStore) {
  UseAudit();
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  disk_.Fail(FaultyCalls::Call::kWrite, ENOSPC);
  store_.Decide();
  AnswerStore(Began(5));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "AUDIT_UNAVAILABLE");
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
  disk_.Mend();
}

// Another gateway can begin the same submit after this gateway's store has decided, and before it has committed.
TEST_F(OperationCallTest, ADecisionAboutABodyThatIsNotSentEndsBeforeTheNextOne) {
  UseAudit();
  UseStore();
  const uint64_t first_ms = kNowMs - 5;
  const Call call = Start("CreatePolicies", kKeyedCreate);
  store_.Decide();
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kUnknown})));
  store_.WaitForSubmits(2);
  RunTasks();
  store_.Decide();
  AnswerStore(Began(6));
  upstream_.WaitForSent();
  upstream_.End(upstream_.sent()[0].id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  EXPECT_THAT(AuditLines("allow"), ElementsAre(HasSubstr(HexDigest(Sha256(CreateBody(kNowMs)))),
                                               HasSubstr(HexDigest(Sha256(CreateBody(first_ms))))));
  EXPECT_THAT(AuditLines("outcome"),
              ElementsAre(AllOf(HasSubstr("ABORTED"), Not(HasSubstr("attempts"))), HasSubstr("\"OK\"")));
}

TEST_F(OperationCallTest, ADecisionIsNotEndedWithTheOutcomeOfAnotherBody) {
  UseAudit();
  UseStore();
  const KeyRecord other = RecordAt(kNowMs - 5, {.kind = Kind::kDone, .activity_id = "a-9", .activity_status = "x"});
  const Call call = Start("CreatePolicies", kKeyedCreate);
  store_.Decide();
  AnswerStore(Known(other));
  store_.WaitForSubmits(2);
  RunTasks();
  AnswerStore(Known(other));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  EXPECT_THAT(AuditLines("outcome"), ElementsAre(AllOf(HasSubstr("ABORTED"), Not(HasSubstr("a-9")))));
}

TEST_F(OperationCallTest, AStoreThatHangsKeepsNoCallThatHasEnded) {
  UseAudit();
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  waits_.EndAll();
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "IDEMPOTENCY_UNAVAILABLE");
  RunTasks();
  EXPECT_TRUE(call.handler.expired());
  store_.Decide();
  AnswerStore(Began(5));
}

TEST_F(OperationCallTest, ADrainEndsACallThatWaitsForTheStoreAndTheAuditLog) {
  const Call call = StartDecidedAndHold();
  waits_.EndAll();
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "IDEMPOTENCY_UNAVAILABLE");
  AnswerStore(Began(5));  // arrives after the call has ended
  disk_.Release();
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
  EXPECT_EQ(signer_->signatures(), 0);
}

}  // namespace
}  // namespace stampgate
