#include "gateway/operations/prepare_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/audit/testing.h"
#include "gateway/audit/unsent_allows.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "stampgate/v1/stamp_service.pb.h"
#include "translate/error.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Code = absl::StatusCode;

constexpr char kResponse[] = "stampgate.v1.PrepareResponse";

// The gateway has no key for this organization. A Prepare call needs no key.
constexpr char kLogin[] = R"pb(organization_id: "keyless"
                               parameters { public_key: "02ab" })pb";
constexpr char kLoginBody[] = R"({"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"1755500000000",)"
                              R"("organizationId":"keyless","parameters":{"publicKey":"02ab"}})";

class PrepareCallTest : public CallTest {
 protected:
  Replies StartBytes(const grpc::ByteBuffer& bytes) {
    Replies replies;
    auto handler = std::make_shared<PrepareCall>(environment(), operations(), TraceContext::Begin([] { return 7; }),
                                                 replies.Callback());
    Watch(handler, replies);
    handler->Start(caller(), "", bytes, absl::InfiniteDuration());
    return replies;
  }

  Replies Start(const std::string& service, const std::string& method, const std::string& text_proto) {
    v1::PrepareRequest request;
    request.set_method(absl::StrCat(service, "/", method));
    request.set_request(RequestOf(OperationOf(method), text_proto)->SerializeAsString());
    return StartBytes(BytesOf(request));
  }

  Replies StartLogin() { return Start("AuthenticationService", "StampLogin", kLogin); }

  void TearDown() override {
    EXPECT_EQ(signer_->signatures(), 0);
    EXPECT_THAT(upstream_.sent(), IsEmpty());
    CallTest::TearDown();
  }
};

TEST_F(PrepareCallTest, ReturnsTheBodyOfASubmit) {
  const auto response = StartLogin().WaitFor(kResponse);
  EXPECT_EQ(ValueAt(*response, "body"), kLoginBody);
  EXPECT_EQ(ValueAt(*response, "path"), "/public/v1/submit/stamp_login");
  EXPECT_EQ(ValueAt(*response, "timestamp_ms"), absl::StrCat(kNowMs));
  EXPECT_EQ(ValueAt(*response, "webauthn_challenge"), RequestBody(kLoginBody).HexDigest());
  EXPECT_THAT(LogEvents(), ElementsAre("call_ended"));
}

TEST_F(PrepareCallTest, TheAuditRecordsTheBodyBeforeTheCallerReceivesIt) {
  UseAudit();
  disk_.HoldSync();
  const Replies replies = StartLogin();
  disk_.WaitUntilHeld();
  EXPECT_EQ(replies.count(), 0);
  disk_.Release();
  EXPECT_EQ(replies.Wait(), absl::OkStatus());
  const RequestBody body(kLoginBody);
  const std::vector<std::string> allows = AuditLines("allow");
  ASSERT_THAT(allows, SizeIs(1));
  EXPECT_EQ(Member(allows[0], "method"), kPrepare);
  EXPECT_EQ(Member(allows[0], "prepared_method"), "/stampgate.v1.AuthenticationService/StampLogin");
  EXPECT_EQ(Member(allows[0], "organization_id"), "keyless");
  EXPECT_EQ(Member(allows[0], "body_sha256"), body.HexDigest());
  EXPECT_EQ(Member(allows[0], "key"), "");
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "code"), "OK");
  EXPECT_EQ(Member(outcomes[0], "fingerprint"), body.Fingerprint());
}

TEST_F(PrepareCallTest, TheOutcomeOfAPreparedQueryHasNoFingerprint) {
  UseAudit();
  const auto response =
      Start("PolicyService", "GetPolicy", R"pb(organization_id: "o" policy_id: "p")pb").WaitFor(kResponse);
  EXPECT_EQ(ValueAt(*response, "body"), R"({"organizationId":"o","policyId":"p"})");
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "fingerprint"), "");
}

TEST_F(PrepareCallTest, IfTheAuditCannotRecordTheBodyTheCallerReceivesNothing) {
  UseAudit();
  disk_.Fail(FaultyCalls::Call::kWrite, ENOSPC);
  EXPECT_EQ(DetailsOf(StartLogin().Wait()).reason, "AUDIT_UNAVAILABLE");
  disk_.Mend();
  EXPECT_THAT(AuditLines("outcome"), IsEmpty());
}

// Nothing else limits how many records such calls write.
TEST_F(PrepareCallTest, ACallerThatPreparesManyBodiesIsRefusedBeforeTheirRecordsFillTheDisk) {
  UseAudit();
  int prepared = 0;
  absl::Status refused;
  for (int i = 0; i < 3000 && refused.ok(); ++i) {
    refused = Start("PolicyService", "GetPolicy", R"pb(organization_id: "o" policy_id: "p")pb").Wait();
    prepared += refused.ok() ? 1 : 0;
  }
  EXPECT_THAT(refused, StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(ErrorReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_THAT(refused.message(), HasSubstr("caller payments has made too many calls"));
  EXPECT_GT(DetailsOf(refused).retry_delay.value_or(absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_GE(prepared, UnsentAllows::kBurst);
  EXPECT_THAT(AuditLines("allow"), SizeIs(static_cast<size_t>(prepared))) << "nothing is allowed without a record";
}

TEST_F(PrepareCallTest, AStrangerIsRefusedAndNamedInTheAudit) {
  UseAudit();
  Replies replies;
  auto handler = std::make_shared<PrepareCall>(environment(), operations(), TraceContext::Begin([] { return 7; }),
                                               replies.Callback());
  Watch(handler, replies);
  const absl::Status why = absl::UnauthenticatedError("a bearer token is required");
  handler->Start(why, "(nobody)", BytesOf(std::string("\xff")), absl::Seconds(1));
  handler = nullptr;
  EXPECT_EQ(replies.Wait(), why);
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "caller"), "(nobody)");
}

TEST_F(PrepareCallTest, BytesThatAreNoRequestAreRefused) {
  EXPECT_THAT(StartBytes(BytesOf(std::string("\xff"))).Wait(), StatusIs(Code::kInvalidArgument));
  v1::PrepareRequest request;
  request.set_method("StampService/Prepare");
  EXPECT_THAT(DetailsOf(StartBytes(BytesOf(request)).Wait()).violations,
              ElementsAre(Pair("method", HasSubstr("must"))));
}

TEST_F(PrepareCallTest, AMethodWithoutAGrantIsDeniedBeforeTheInnerRequestIsDecoded) {
  UseAudit();
  SetGrants("grants {methods: 'PolicyService/GetPolicy' organizations: 'o'}");
  v1::PrepareRequest request;
  request.set_method("PolicyService/CreatePolicies");
  request.set_request("\xff\xff");
  const absl::Status status = StartBytes(BytesOf(request)).Wait();
  EXPECT_EQ(DetailsOf(status).reason, "DENIED_BY_POLICY");
  EXPECT_EQ(DetailsOf(status).metadata["method"], "PolicyService/CreatePolicies");
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "prepared_method"), "/stampgate.v1.PolicyService/CreatePolicies");
  EXPECT_EQ(Member(denials[0], "reason"), "no grant has class dangerous or names the method");
}

TEST_F(PrepareCallTest, AGrantThatRequiresAnIdempotencyKeyAllowsABodyForAClientWithoutOne) {
  SetGrants(
      "grants {methods: 'AuthenticationService/StampLogin' organizations: 'keyless' require_idempotency_key: true}");
  EXPECT_EQ(ValueAt(*StartLogin().WaitFor(kResponse), "body"), kLoginBody);
}

TEST_F(PrepareCallTest, ARequestThatBreaksARuleIsRefusedBeforeThePolicyChecksItsValues) {
  SetGrants(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}");
  const absl::Status status = Start("EarnService", "EarnWithdraw", R"pb(organization_id: "o"
                                                                        parameters { amount_value: "11" })pb")
                                  .Wait();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(DetailsOf(status).violations, Not(IsEmpty()));
}

TEST_F(PrepareCallTest, ValuesThatNoGrantAllowsAreDenied) {
  UseAudit();
  SetGrants(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}");
  const absl::Status status = Start("EarnService", "EarnWithdraw",
                                    R"pb(organization_id: "o"
                                         parameters {
                                           wrapper_address: "0xaa"
                                           sign_with: "s"
                                           chain_caip2: EARN_CHAIN_EIP155_1
                                           amount_value: "11"
                                         })pb")
                                  .Wait();
  EXPECT_THAT(status, StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(timestamps_.next_ms(), 0u);
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "reason"), "amount_value is not within amount_limits");
}

TEST_F(PrepareCallTest, ASubmitThatGetsNoTimestampIsRefused) {
  timestamps_.SetMark(0);
  EXPECT_EQ(DetailsOf(StartLogin().Wait()).reason, "TIMESTAMPS_EXHAUSTED");
}

TEST_F(PrepareCallTest, ACancelledCallStillReplies) {
  UseAudit();
  disk_.HoldSync();
  Replies replies;
  auto handler = std::make_shared<PrepareCall>(environment(), operations(), TraceContext::Begin([] { return 7; }),
                                               replies.Callback());
  Watch(handler, replies);
  v1::PrepareRequest request;
  request.set_method("AuthenticationService/StampLogin");
  request.set_request(RequestOf(OperationOf("StampLogin"), kLogin)->SerializeAsString());
  handler->Start(caller(), "", BytesOf(request), absl::Seconds(1));
  handler->Cancel();
  handler = nullptr;
  disk_.Release();
  EXPECT_EQ(replies.Wait(), absl::OkStatus());
}

}  // namespace
}  // namespace stampgate
