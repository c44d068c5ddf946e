// Tests the status that a caller gets for each outcome of upstream, and outcomes that arrive after the reply.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/audit/testing.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "translate/answer_size.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;
using Kind = AttemptEnd::Kind;

// ---- Upstream's outcomes ----

TEST_F(OperationCallTest, EveryOutcomeOfAQueryHasItsStatus) {
  const struct {
    UpstreamOutcome outcome;
    Code code;
    const char* reason;
  } rows[] = {
      {AnswerOf(200, kPolicy), Code::kOk, ""},
      {AnswerOf(200, "<html>"), Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
      {AnswerOf(200, "{}"), Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
      {AnswerOf(400, R"({"message":"bad"})"), Code::kInvalidArgument, "HTTP_400"},
      {AnswerOf(401, "{}"), Code::kInternal, "GATEWAY_CREDENTIAL_REJECTED"},
      {AnswerOf(403, "{}"), Code::kPermissionDenied, "HTTP_403"},
      {AnswerOf(404, "{}"), Code::kNotFound, "HTTP_404"},
      {AnswerOf(429, "{}"), Code::kResourceExhausted, "HTTP_429"},
      {AnswerOf(500, "{}"), Code::kInternal, "HTTP_500"},
      {AnswerOf(503, "{}"), Code::kUnavailable, "UPSTREAM_UNAVAILABLE"},
      {Failure(Cause::kNoSlot, false), Code::kResourceExhausted, "UPSTREAM_BUSY"},
      {Failure(Cause::kUnreachable, false), Code::kUnavailable, "UPSTREAM_UNREACHABLE"},
      {Failure(Cause::kTls, false), Code::kUnavailable, "UPSTREAM_UNREACHABLE"},
      {Failure(Cause::kTimeout, true), Code::kDeadlineExceeded, "UPSTREAM_TIMEOUT"},
      {Failure(Cause::kCancelled, true), Code::kCancelled, "CANCELLED"},
      {Failure(Cause::kBroken, true), Code::kUnavailable, "UPSTREAM_UNAVAILABLE"},
      {Failure(Cause::kTooLarge, true), Code::kInternal, "UPSTREAM_ANSWER_UNREADABLE"},
      {Failure(Cause::kShutdown, false), Code::kUnavailable, "SHUTTING_DOWN"},
  };
  for (const auto& row : rows) {
    const absl::Status status = Query(row.outcome);
    EXPECT_THAT(status, StatusIs(row.code));
    EXPECT_EQ(DetailsOf(status).reason, row.reason) << status;
  }
}

TEST_F(OperationCallTest, EveryOutcomeOfASubmitHasItsStatus) {
  const struct {
    UpstreamOutcome outcome;
    Code code;
    const char* reason;
  } rows[] = {
      {AnswerOf(200, kActivity), Code::kOk, ""},
      {AnswerOf(200, R"({"activity":{"id":"a","status":"ACTIVITY_STATUS_PENDING"}})"), Code::kOk, ""},
      {AnswerOf(200, "<html>"), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {AnswerOf(400, "{}"), Code::kInvalidArgument, "HTTP_400"},
      {AnswerOf(401, "{}"), Code::kInternal, "GATEWAY_CREDENTIAL_REJECTED"},
      {AnswerOf(408, "{}"), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {AnswerOf(500, "{}"), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {AnswerOf(503, "{}"), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kNoSlot, false), Code::kResourceExhausted, "UPSTREAM_BUSY"},
      {Failure(Cause::kUnreachable, false), Code::kUnavailable, "UPSTREAM_UNREACHABLE"},
      {Failure(Cause::kTimeout, false), Code::kDeadlineExceeded, "UPSTREAM_TIMEOUT"},
      {Failure(Cause::kTimeout, true), Code::kDeadlineExceeded, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kCancelled, true), Code::kCancelled, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kBroken, true), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kTooLarge, true), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kShutdown, true), Code::kUnknown, "OUTCOME_UNKNOWN"},
      {Failure(Cause::kShutdown, false), Code::kUnavailable, "SHUTTING_DOWN"},
  };
  for (const auto& row : rows) {
    const absl::Status status = Submit(row.outcome);
    EXPECT_THAT(status, StatusIs(row.code));
    EXPECT_EQ(DetailsOf(status).reason, row.reason) << status;
    if (row.reason == std::string("OUTCOME_UNKNOWN")) {
      EXPECT_EQ(DetailsOf(status).metadata["fingerprint"], RequestBody(upstream_.sent().back().body).Fingerprint());
    }
  }
}

TEST_F(OperationCallTest, IfUpstreamRefusesAClientsStampTheCallIsUnauthenticated) {
  const Call call = StartLogin(kLoginBody, kStamp);
  upstream_.End(1, AnswerOf(401, R"({"message":"the stamp )" + std::string(50, 'A') + R"( is wrong"})"));
  const absl::Status status = call.Wait();
  EXPECT_THAT(status, StatusIs(Code::kUnauthenticated));
  EXPECT_EQ(DetailsOf(status).domain, "upstream");
}

TEST_F(OperationCallTest, AnAnswerThatIsTooLargeForClientsIsAnError) {
  const std::string notes(kMaxAnswerBytes, 'n');
  const absl::Status status =
      Query(AnswerOf(200, absl::StrCat(R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW",)",
                                       R"("notes":")", notes, R"("}})")));
  EXPECT_THAT(status, StatusIs(Code::kOutOfRange));
  EXPECT_EQ(DetailsOf(status).reason, "ANSWER_TOO_LARGE");
}

TEST_F(OperationCallTest, ASubmitWhoseAnswerIsTooLargeIsRecordedAsCarriedOut) {
  UseAudit();
  const Call call = StartKeyed();
  upstream_.End(1, AnswerOf(200, absl::StrCat(R"({"activity":{"id":"a-1","status":"ACTIVITY_STATUS_COMPLETED",)",
                                              R"("canApprove":")", std::string(kMaxAnswerBytes, 'n'), R"("}})")));
  const absl::Status status = call.Wait();
  EXPECT_EQ(DetailsOf(status).reason, "ANSWER_TOO_LARGE");
  EXPECT_EQ(DetailsOf(status).metadata["activity_id"], "a-1");
  EXPECT_EQ(DetailsOf(status).metadata["timestamp_ms"], absl::StrCat(kNowMs));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kDone);
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "reason"), "ANSWER_TOO_LARGE");
  EXPECT_EQ(Member(outcomes[0], "activity_id"), "a-1");
}

// ---- Late outcomes ----

TEST_F(OperationCallTest, ALateOutcomeIsRecordedAfterTheReply) {
  UseAudit();
  const Call call = StartKeyed();
  upstream_.End(1, Detached(Cause::kTimeout));
  const absl::Status status = call.Wait();
  EXPECT_THAT(status, StatusIs(Code::kDeadlineExceeded));
  EXPECT_EQ(DetailsOf(status).reason, "OUTCOME_UNKNOWN");
  EXPECT_THAT(store_.ends(), IsEmpty());
  EXPECT_FALSE(call.handler.expired());

  upstream_.EndLate(1, AnswerOf(200, kActivity));
  EXPECT_EQ(call.replies.count(), 1);
  EXPECT_THAT(LogEvents(), ElementsAre("call_ended", "late_outcome"));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kDone);
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
  EXPECT_EQ(Member(outcomes[0], "activity_id"), "a-1");
  EXPECT_EQ(Member(outcomes[0], "fingerprint"), RequestBody(upstream_.sent()[0].body).Fingerprint());
}

TEST_F(OperationCallTest, ALateFailureIsRecordedAsUnknown) {
  UseAudit();
  const Call call = StartKeyed();
  upstream_.End(1, Detached(Cause::kCancelled));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kCancelled));
  upstream_.EndLate(1, Failure(Cause::kShutdown, /*body_sent=*/true));
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kUnknown);
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "reason"), "OUTCOME_UNKNOWN");
}

// The exchange timeout ends the exchange itself, even if the caller would have waited longer. The upstream client then
// reports no late outcome.
TEST_F(OperationCallTest, AnExchangeThatEndsWithItsCallIsRecordedWithTheReply) {
  UseAudit();
  const Call call = StartKeyed();
  upstream_.End(1, Failure(Cause::kTimeout, /*body_sent=*/true));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "OUTCOME_UNKNOWN");
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kUnknown);
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "reason"), "OUTCOME_UNKNOWN");
}

}  // namespace
}  // namespace stampgate
