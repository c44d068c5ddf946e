// Tests submits with idempotency keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;
using Kind = AttemptEnd::Kind;

TEST_F(OperationCallTest, ANewKeyIsStoredBeforeAnythingIsSigned) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  ASSERT_THAT(store_.submits(), SizeIs(1));
  const KeyedSubmit& submit = store_.submits()[0];
  EXPECT_EQ(submit.caller, "payments");
  EXPECT_EQ(submit.key, "key-1");
  EXPECT_EQ(submit.request_sha256, RecordAt(kNowMs, {}).request_sha256);
  EXPECT_EQ(submit.body_sha256, Sha256(CreateBody(kNowMs)));
  EXPECT_EQ(submit.timestamp_ms, kNowMs);
  EXPECT_TRUE(submit.begins);
  EXPECT_EQ(signer_->signatures(), 0);
  EXPECT_THAT(upstream_.sent(), IsEmpty());

  AnswerStore(Began(5));
  EXPECT_EQ(upstream_.WaitForSent().body, CreateBody(kNowMs));
  EXPECT_NE(signer_->thread(), std::this_thread::get_id());  // the test's thread acts as the store's thread
  upstream_.End(1, AnswerOf(200, kActivity));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.CreatePoliciesResponse"), "activity.id"), "a-1");
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].first, 5u);
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kDone);
  EXPECT_EQ(store_.ends()[0].second.activity_id, "a-1");
  EXPECT_EQ(store_.ends()[0].second.activity_status, "ACTIVITY_STATUS_COMPLETED");
}

TEST_F(OperationCallTest, TheStoreKeepsTheCodeAndReasonThatTheCallerGetsForARefusal) {
  const Call call = StartKeyed();
  upstream_.End(1, AnswerOf(404, R"({"code":5,"message":"m","turnkeyErrorCode":"ORGANIZATION_NOT_FOUND"})"));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kNotFound));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kRefused);
  EXPECT_EQ(store_.ends()[0].second.code, Code::kNotFound);
  EXPECT_EQ(store_.ends()[0].second.domain, "upstream");
  EXPECT_EQ(store_.ends()[0].second.reason, "ORGANIZATION_NOT_FOUND");
}

TEST_F(OperationCallTest, AnUnknownOutcomeIsStoredAsUnknown) {
  const Call call = StartKeyed();
  upstream_.End(1, Failure(Cause::kBroken, /*body_sent=*/true));
  const absl::Status status = call.Wait();
  EXPECT_EQ(DetailsOf(status).reason, "OUTCOME_UNKNOWN");
  EXPECT_THAT(std::string(status.message()), HasSubstr("repeat it with its idempotency_key"));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kUnknown);
}

TEST_F(OperationCallTest, AnAttemptThatSentNoByteIsStoredAsNotSent) {
  const Call call = StartKeyed();
  upstream_.End(1, Failure(Cause::kUnreachable, /*body_sent=*/false));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kUnavailable));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
}

TEST_F(OperationCallTest, AKeyOfAnotherRequestIsRefused) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  KeyRecord record = RecordAt(kNowMs - 1000, {.kind = Kind::kDone, .activity_id = "a-9"});
  record.request_sha256[0] ^= 1;
  AnswerStore(Known(record));
  const absl::Status status = call.Wait();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(DetailsOf(status).reason, "IDEMPOTENCY_KEY_REUSED");
  EXPECT_THAT(store_.submits(), SizeIs(1));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, ARepeatedRequestSendsTheSameBytesAgain) {
  UseStore();
  const uint64_t first_ms = kNowMs - 600'000;
  const Call call = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kUnknown})));
  ASSERT_THAT(store_.submits(), SizeIs(2));
  EXPECT_EQ(store_.submits()[1].body_sha256, Sha256(CreateBody(first_ms)));
  EXPECT_EQ(store_.submits()[1].timestamp_ms, first_ms);
  EXPECT_TRUE(store_.submits()[1].begins);
  AnswerStore(Began(6));
  EXPECT_EQ(upstream_.WaitForSent().body, CreateBody(first_ms));
  upstream_.End(1, Failure(Cause::kTimeout, /*body_sent=*/true));
  const absl::Status status = call.Wait();
  EXPECT_EQ(DetailsOf(status).metadata["timestamp_ms"], absl::StrCat(first_ms));
  EXPECT_EQ(DetailsOf(status).metadata["fingerprint"], RequestBody(CreateBody(first_ms)).Fingerprint());
}

TEST_F(OperationCallTest, ARepeatedRequestAsksTheStoreAtMostTwice) {
  UseStore();
  const uint64_t first_ms = kNowMs - 600'000;
  const Call call = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kUnknown})));
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kUnknown})));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "OUTCOME_NOT_STORED");
  EXPECT_THAT(store_.submits(), SizeIs(2));
}

TEST_F(OperationCallTest, ASubmitThatIsTooOldToRepeatIsAnsweredFromTheStore) {
  UseStore();
  const uint64_t first_ms = kNowMs - 3'300'000;
  const Call done = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kDone, .activity_id = "a-9", .activity_status = "x"})));
  EXPECT_EQ(ValueAt(*done.replies.WaitFor("stampgate.v1.CreatePoliciesResponse"), "activity.id"), "a-9");
  const Call unknown = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Known(RecordAt(first_ms, {.kind = Kind::kUnknown})));
  const absl::Status status = unknown.Wait();
  EXPECT_EQ(DetailsOf(status).reason, "OUTCOME_NOT_STORED");
  EXPECT_EQ(DetailsOf(status).metadata["fingerprint"], RequestBody(CreateBody(first_ms)).Fingerprint());
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  EXPECT_EQ(signer_->signatures(), 0);
}

TEST_F(OperationCallTest, AKeyThatTheStoreMayHaveLostIsRefused) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  CallStore::Begun uncertain;
  uncertain.unknown_until = absl::Hours(2);
  AnswerStore(uncertain);
  const absl::Status status = call.Wait();
  EXPECT_EQ(DetailsOf(status).reason, "IDEMPOTENCY_KEY_UNCERTAIN");
  EXPECT_EQ(DetailsOf(status).retry_delay, absl::Hours(2));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, AStoreThatFailsEndsTheCall) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "IDEMPOTENCY_UNAVAILABLE");
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, WithoutAStoreAKeyIsRefused) {
  const absl::Status status = Start("CreatePolicies", kKeyedCreate).Wait();
  EXPECT_THAT(status, StatusIs(Code::kFailedPrecondition));
  EXPECT_EQ(DetailsOf(status).reason, "IDEMPOTENCY_NOT_CONFIGURED");
}

TEST_F(OperationCallTest, IfNoTimestampIsFreeAKeyedCallCanOnlyRepeatAnEarlierSubmit) {
  UseStore();
  timestamps_.SetMark(0);
  const Call unknown = Start("CreatePolicies", kKeyedCreate);
  ASSERT_THAT(store_.submits(), SizeIs(1));
  EXPECT_FALSE(store_.submits()[0].begins);
  AnswerStore(CallStore::Begun());
  EXPECT_EQ(DetailsOf(unknown.Wait()).reason, "TIMESTAMPS_EXHAUSTED");

  // The earlier submit already has a timestamp, so the call can repeat it.
  const Call known = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Known(RecordAt(kNowMs - 5, {.kind = Kind::kUnknown})));
  ASSERT_THAT(store_.submits(), SizeIs(3));
  EXPECT_TRUE(store_.submits()[2].begins);
  AnswerStore(Began(7));
  EXPECT_EQ(upstream_.WaitForSent().body, CreateBody(kNowMs - 5));
  upstream_.End(1, AnswerOf(200, kActivity));
  EXPECT_EQ(known.Wait(), absl::OkStatus());
}

TEST_F(OperationCallTest, ATimestampThatIsTooOldIsRefusedForANewKey) {
  UseStore();
  const Call call = Start("CreatePolicies", absl::StrCat("timestamp_ms: 1 ", kKeyedCreate));
  ASSERT_THAT(store_.submits(), SizeIs(1));
  EXPECT_FALSE(store_.submits()[0].begins);
  AnswerStore(CallStore::Begun());
  EXPECT_THAT(DetailsOf(call.Wait()).violations, ElementsAre(Pair("timestamp_ms", HasSubstr("55 minutes"))));
}

TEST_F(OperationCallTest, ADrainEndsACallThatWaitsForTheStore) {
  UseStore();
  const Call call = Start("CreatePolicies", kKeyedCreate);
  waits_.EndAll();
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "IDEMPOTENCY_UNAVAILABLE");
  AnswerStore(Began(5));  // arrives after the call has ended
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

}  // namespace
}  // namespace stampgate
