#include "gateway/operations/operation_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gateway/audit/testing.h"
#include "gateway/calls/trace_context.h"
#include "gateway/metrics/testing.h"
#include "gateway/operations/operation_call_testing.h"
#include "gateway/operations/testing.h"
#include "translate/operation_table.h"
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
using Kind = AttemptEnd::Kind;
using Lane = UpstreamClient::Lane;

// ---- How calls are sent ----

TEST_F(OperationCallTest, AQueryIsSignedSentAndAnswered) {
  const Call call = Start("GetPolicy", kGet);
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  const FakeUpstream::Sent sent = upstream_.sent()[0];
  EXPECT_FALSE(sent.is_get);
  EXPECT_EQ(sent.path, "/public/v1/query/get_policy");
  EXPECT_EQ(sent.body, kGetBody);
  EXPECT_EQ(sent.header_name, "X-Stamp");
  EXPECT_EQ(sent.options.lane, Lane::kQuery);
  EXPECT_EQ(sent.options.traceparent, "");
  EXPECT_EQ(call.replies.count(), 0);

  upstream_.End(sent.id, AnswerOf(200, kPolicy));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.GetPolicyResponse"), "policy.policy_id"), "p");
  EXPECT_THAT(LogEvents(), ElementsAre("call_ended"));
}

TEST_F(OperationCallTest, AResponseWithAMemberThatTheProtosDoNotHaveIsCounted) {
  const std::string series =
      R"(stampgate_unrecognized_total{kind="value",operation="/stampgate.v1.PolicyService/GetPolicy"})";
  EXPECT_EQ(Query(AnswerOf(200, kPolicy)), absl::OkStatus());
  EXPECT_EQ(ValueOf(registry(), series), "none");
  const std::string newer = absl::StrReplaceAll(kPolicy, {{"\"policyId\"", "\"newMember\":1,\"policyId\""}});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Query(AnswerOf(200, newer)), absl::OkStatus());
  EXPECT_EQ(ValueOf(registry(), series), "2");
}

TEST_F(OperationCallTest, ACallUsesItsTableUntilItEnds) {
  absl::StatusOr<std::unique_ptr<const OperationTable>> created =
      OperationTable::Create("Service", OperationSet::BuiltIn());
  ASSERT_TRUE(created.ok()) << created.status();
  std::shared_ptr<const OperationTable> table = *std::move(created);
  const std::weak_ptr<const OperationTable> former = table;
  Call call;
  auto handler = std::make_shared<OperationCall>(environment(), table, *table->Find(kGetPolicy),
                                                 TraceContext::Begin([] { return 7; }), call.replies.Callback());
  table = nullptr;
  Watch(handler, call.replies);
  handler->Start(caller(), "", BytesOf(*RequestOf(OperationOf("GetPolicy"), kGet)), absl::InfiniteDuration());
  handler = nullptr;
  EXPECT_FALSE(former.expired());
  upstream_.End(upstream_.sent().at(0).id, AnswerOf(200, kPolicy));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.GetPolicyResponse"), "policy.policy_id"), "p");
  EXPECT_TRUE(former.expired());
}

TEST_F(OperationCallTest, ASubmitHasATimestampAndUsesTheLaneOfSubmits) {
  const Call call = Start("CreatePolicies", kCreate);
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  const FakeUpstream::Sent sent = upstream_.sent()[0];
  EXPECT_EQ(sent.path, "/public/v1/submit/create_policies");
  EXPECT_EQ(sent.body, CreateBody(kNowMs));
  EXPECT_EQ(sent.options.lane, Lane::kSubmit);

  upstream_.End(sent.id, AnswerOf(200, kActivity));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.CreatePoliciesResponse"), "activity.id"), "a-1");
}

TEST_F(OperationCallTest, EqualSubmitsHaveDifferentTimestamps) {
  EXPECT_EQ(Submit(AnswerOf(200, kActivity)), absl::OkStatus());
  EXPECT_EQ(Submit(AnswerOf(200, kActivity)), absl::OkStatus());
  EXPECT_EQ(upstream_.sent()[1].body, CreateBody(kNowMs + 1));
}

TEST_F(OperationCallTest, ATimestampThatTheCallerHasSetIsKept) {
  Start("CreatePolicies", absl::StrCat("timestamp_ms: 7 ", kCreate));
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  EXPECT_EQ(upstream_.sent()[0].body, CreateBody(7));
  upstream_.End(1, AnswerOf(200, kActivity));
}

TEST_F(OperationCallTest, ADiscoveryIsAGetWithoutAStamp) {
  const Call call = Start("GetWebhookKeySet", "");
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  const FakeUpstream::Sent sent = upstream_.sent()[0];
  EXPECT_TRUE(sent.is_get);
  EXPECT_EQ(sent.path, "/public/v1/discovery/webhooks/jwks");
  EXPECT_EQ(sent.options.lane, Lane::kQuery);
  EXPECT_EQ(signer_->signatures(), 0);
  upstream_.End(sent.id, AnswerOf(200, R"({"keys":[]})"));
  EXPECT_EQ(ValueAt(*call.replies.WaitFor("stampgate.v1.GetWebhookKeySetResponse"), "keys"), "0");
}

TEST_F(OperationCallTest, AClientsStampIsSentWithTheClientsBytes) {
  const std::string body = absl::StrCat(" ", kLoginBody);
  StartLogin(body, kStamp);
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  const FakeUpstream::Sent sent = upstream_.sent()[0];
  EXPECT_EQ(sent.path, "/public/v1/submit/stamp_login");
  EXPECT_EQ(sent.body, body);
  EXPECT_EQ(sent.header_name, "X-Stamp-WebAuthn");
  EXPECT_EQ(sent.header_value, kStamp);
  EXPECT_EQ(sent.options.lane, Lane::kSubmit);
  EXPECT_EQ(signer_->signatures(), 0);
  upstream_.End(sent.id, AnswerOf(200, kActivity));
}

TEST_F(OperationCallTest, TheTraceIsForwardedIfTheConfigEnablesIt) {
  forward_traceparent_ = true;
  EXPECT_EQ(Query(AnswerOf(200, kPolicy)), absl::OkStatus());
  EXPECT_THAT(upstream_.sent()[0].options.traceparent, HasSubstr("00-00000000000000070000000000000007-"));
}

TEST_F(OperationCallTest, WithoutAnAuditAndAStoreTheCallSignsOnTheThreadOfStart) {
  EXPECT_EQ(Query(AnswerOf(200, kPolicy)), absl::OkStatus());
  EXPECT_EQ(signer_->thread(), std::this_thread::get_id());
}

// ---- Refused calls, and the order of the checks ----

TEST_F(OperationCallTest, AStrangerIsRefusedAndNamedInTheAudit) {
  UseAudit();
  Call call;
  const absl::Status why = absl::UnauthenticatedError("a bearer token is required");
  Make("GetPolicy", call)->Start(why, "(spiffe://elsewhere/a)", BytesOf(std::string("\xff")), absl::Seconds(1));
  EXPECT_EQ(call.Wait(), why);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "caller"), "(spiffe://elsewhere/a)");
  EXPECT_EQ(Member(denials[0], "reason"), "a bearer token is required");
  EXPECT_EQ(Member(denials[0], "method"), "/stampgate.v1.PolicyService/GetPolicy");
}

TEST_F(OperationCallTest, BytesThatAreNoRequestAreRefused) {
  const absl::Status status = StartBytes("GetPolicy", BytesOf(std::string("\xff\xff"))).Wait();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr("is not a stampgate.v1.GetPolicyRequest message")));
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
  EXPECT_THAT(LogEvents(), ElementsAre("call_refused"));
}

TEST_F(OperationCallTest, AMethodWithoutAGrantIsDeniedBeforeTheRequestIsDecoded) {
  UseAudit();
  SetGrants("grants {methods: 'PolicyService/GetPolicy' organizations: 'o'}");
  const absl::Status status = StartBytes("CreatePolicies", BytesOf(std::string("\xff\xff"))).Wait();
  EXPECT_THAT(status, StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(DetailsOf(status).reason, "DENIED_BY_POLICY");
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "caller"), "payments");
  EXPECT_EQ(Member(denials[0], "organization_id"), "");
  EXPECT_EQ(Member(denials[0], "reason"), "no grant has class dangerous or names the method");
  EXPECT_EQ(Member(denials[0], "policy_version"), "policy-1");
}

TEST_F(OperationCallTest, AGeneralOperationWithoutAnyGrantIsDeniedBeforeTheRequestIsDecoded) {
  UseAudit();
  SetGrants("grants {classes: POLICY_CLASS_QUERY organizations: 'o'}");
  const absl::Status status = StartBytes("SubmitOperation", BytesOf(std::string("\xff\xff"))).Wait();
  EXPECT_EQ(DetailsOf(status).reason, "DENIED_BY_POLICY");
  ASSERT_THAT(AuditLines("deny"), SizeIs(1));
}

TEST_F(OperationCallTest, AnOrganizationWithoutAGrantIsDeniedBeforeTheRulesAreChecked) {
  UseAudit();
  SetGrants("grants {methods: 'PolicyService/CreatePolicies' organizations: 'o'}");
  const absl::Status status = Start("CreatePolicies", R"pb(organization_id: "keyless")pb").Wait();
  EXPECT_EQ(DetailsOf(status).reason, "DENIED_BY_POLICY");
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "organization_id"), "keyless");
  EXPECT_EQ(Member(denials[0], "reason"), "no grant has this method for this organization");
}

TEST_F(OperationCallTest, ARequestThatCannotBeDecodedIsRefusedAsInvalidIfAGrantHasTheMethod) {
  SetGrants("grants {methods: 'PolicyService/CreatePolicies' organizations: 'o'}");
  const absl::Status status = StartBytes("CreatePolicies", BytesOf(std::string("\xff\xff"))).Wait();
  EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST");
}

TEST_F(OperationCallTest, ARequestThatBreaksARuleIsRefusedBeforeThePolicyChecksItsValues) {
  SetGrants(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}");
  const absl::Status status = Start("EarnWithdraw", R"pb(organization_id: "o"
                                                         parameters { amount_value: "11" })pb")
                                  .Wait();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(DetailsOf(status).violations, Not(IsEmpty()));
}

TEST_F(OperationCallTest, ValuesThatNoGrantAllowsAreDeniedAndNotRendered) {
  UseAudit();
  SetGrants(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}");
  const absl::Status status = Start("EarnWithdraw", kWithdraw).Wait();
  EXPECT_THAT(status, StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(timestamps_.next_ms(), 0u);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "reason"), "amount_value is not within amount_limits");
}

TEST_F(OperationCallTest, TheGuardsOfAMethodApplyToItsOperationThroughGeneralServiceToo) {
  UseAudit();
  SetGrants(
      "grants {general_operations {path: 'delete_wallets' activity_type: 'ACTIVITY_TYPE_DELETE_WALLETS'}"
      "        organizations: 'o'}");
  const auto remove = [this](const std::string& parameters) {
    return Start("SubmitOperation", absl::StrCat("organization_id: 'o' path: 'delete_wallets' activity_type: "
                                                 "'ACTIVITY_TYPE_DELETE_WALLETS' parameters: '",
                                                 parameters, "'"));
  };
  EXPECT_THAT(remove(R"({"walletIds":["w"],"deleteWithoutExport":true})").Wait(), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT(upstream_.sent(), IsEmpty());

  const Call call = remove(R"({"walletIds":["w"]})");
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  EXPECT_EQ(sent.path, "/public/v1/submit/delete_wallets");
  upstream_.End(sent.id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "reason"), "delete_without_export needs a grant that names it");
}

TEST_F(OperationCallTest, ASubmitWithoutTheKeyThatItsGrantRequiresIsRefusedBeforeAnythingIsStamped) {
  UseAudit();
  SetGrants(
      "grants {methods: 'PolicyService/CreatePolicies' organizations: 'o' require_idempotency_key: true}"
      "grants {general_operations {path: 'brew_tea' activity_type: 'ACTIVITY_TYPE_BREW_TEA'} organizations: 'o'"
      "        require_idempotency_key: true}");
  const std::string general =
      "organization_id: 'o' path: 'brew_tea' activity_type: 'ACTIVITY_TYPE_BREW_TEA' parameters: '{}'";
  // A timestamp does not count, because a caller that repeats a call often sets a new one.
  for (const auto& [method, request] : {std::pair("CreatePolicies", std::string(kCreate)),
                                        std::pair("CreatePolicies", absl::StrCat(kCreate, " timestamp_ms: 7")),
                                        std::pair("SubmitOperation", general)}) {
    const absl::Status status = Start(method, request).Wait();
    EXPECT_THAT(status, StatusIs(Code::kInvalidArgument)) << request;
    EXPECT_EQ(DetailsOf(status).reason, "INVALID_REQUEST") << request;
    EXPECT_THAT(DetailsOf(status).violations,
                ElementsAre(Pair("idempotency_key", "is required: the grant of this call has require_idempotency_key")))
        << request;
  }
  EXPECT_EQ(signer_->signatures(), 0);
  EXPECT_EQ(timestamps_.next_ms(), 0u);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(3));
  for (const std::string& denial : denials) {
    EXPECT_EQ(Member(denial, "reason"), "idempotency_key is not set, and the grant has require_idempotency_key");
  }
}

TEST_F(OperationCallTest, AGrantThatRequiresAKeyAllowsQueriesAndStampsOfClientsWithoutOne) {
  SetGrants(
      "grants {methods: ['PolicyService/GetPolicy', 'AuthenticationService/StampLogin'] organizations: 'o'"
      "        require_idempotency_key: true}");
  EXPECT_EQ(Query(AnswerOf(200, kPolicy)), absl::OkStatus());
  const Call call = StartLogin(kLoginBody, kStamp);
  const FakeUpstream::Sent sent = upstream_.sent().back();
  EXPECT_EQ(sent.path, "/public/v1/submit/stamp_login");
  upstream_.End(sent.id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
}

TEST_F(OperationCallTest, TheDestinationsOfAGrantApplyToAnOperationThroughGeneralServiceToo) {
  UseAudit();
  SetGrants(
      "grants {general_operations {path: 'eth_send_transaction' activity_type: "
      "'ACTIVITY_TYPE_ETH_SEND_TRANSACTION_V2'} organizations: 'o' destinations: '0xaa'}");
  const auto send = [this](const std::string& calls) {
    return Start("SubmitOperation",
                 absl::StrCat("organization_id: 'o' path: 'eth_send_transaction' activity_type: "
                              "'ACTIVITY_TYPE_ETH_SEND_TRANSACTION_V2' parameters: '{\"from\":\"0xff\",\"caip2\":"
                              "\"eip155:1\",\"calls\":[",
                              calls, "]}'"));
  };
  EXPECT_THAT(send(R"({"to":"0xbb"})").Wait(), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT(send(R"({"to":"0xaa"},{"to":"0xbb","data":"0x"})").Wait(), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT(upstream_.sent(), IsEmpty());

  const Call call = send(R"({"to":"0xAA"})");
  const FakeUpstream::Sent sent = upstream_.WaitForSent();
  EXPECT_EQ(sent.path, "/public/v1/submit/eth_send_transaction");
  upstream_.End(sent.id, AnswerOf(200, kActivity));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(2));
  for (const std::string& denial : denials) EXPECT_EQ(Member(denial, "reason"), "to is not one of destinations");
}

TEST_F(OperationCallTest, ThePolicyDeniesACallBeforeItsDeadlineIsChecked) {
  SetGrants(
      "grants {methods: 'EarnService/EarnWithdraw' organizations: 'o'"
      "        amount_limits {chain: 'eip155:1' max_amount: '10'}}");
  EXPECT_THAT(Start("EarnWithdraw", kWithdraw, absl::Milliseconds(1)).Wait(), StatusIs(Code::kPermissionDenied));
}

TEST_F(OperationCallTest, ACallWithATooShortDeadlineIsRefused) {
  const absl::Status status = Start("GetPolicy", kGet, absl::Milliseconds(60)).Wait();
  EXPECT_THAT(status, StatusIs(Code::kDeadlineExceeded, HasSubstr("more than 60 ms ahead")));
  EXPECT_EQ(DetailsOf(status).reason, "DEADLINE_TOO_SHORT");
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, UpstreamsDeadlineIsTheCallersMinusTheMarginWithinTheGatewaysLimits) {
  const struct {
    absl::Duration time_left;
    absl::Duration expected;
  } rows[] = {{absl::Seconds(5), absl::Milliseconds(4940)},
              {absl::Seconds(20), absl::Milliseconds(19'850)},
              {absl::Hours(1), absl::Seconds(60)},
              {absl::InfiniteDuration(), absl::Seconds(30)}};
  for (const auto& row : rows) {
    const auto before = UpstreamClient::Clock::now();
    Start("GetPolicy", kGet, row.time_left);
    const auto after = UpstreamClient::Clock::now();
    const FakeUpstream::Sent sent = upstream_.sent().back();
    EXPECT_GE(sent.options.deadline, before + absl::ToChronoNanoseconds(row.expected)) << row.time_left;
    EXPECT_LE(sent.options.deadline, after + absl::ToChronoNanoseconds(row.expected)) << row.time_left;
    upstream_.End(sent.id, AnswerOf(200, kPolicy));
  }
}

TEST_F(OperationCallTest, ACallForAnOrganizationWithoutAKeyIsRefusedAfterItsDeadlineIsChecked) {
  UseAudit();
  const std::string request = R"pb(organization_id: "keyless" policy_id: "p")pb";
  EXPECT_EQ(DetailsOf(Start("GetPolicy", request, absl::Milliseconds(1)).Wait()).reason, "DEADLINE_TOO_SHORT");
  const absl::Status status = Start("GetPolicy", request).Wait();
  EXPECT_THAT(status, StatusIs(Code::kPermissionDenied));
  EXPECT_EQ(DetailsOf(status).reason, "ORGANIZATION_NOT_SERVED");
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "reason"), "no key signs for this organization");
  EXPECT_EQ(Member(denials[0], "key"), "");
}

TEST_F(OperationCallTest, ASubmitThatGetsNoTimestampIsRefused) {
  timestamps_.SetMark(0);
  const absl::Status status = Start("CreatePolicies", kCreate).Wait();
  EXPECT_THAT(status, StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(DetailsOf(status).reason, "TIMESTAMPS_EXHAUSTED");
  EXPECT_EQ(DetailsOf(status).retry_delay, absl::Seconds(1));
  EXPECT_EQ(signer_->signatures(), 0);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, AMethodThatUpstreamAcceptsOnlyWithAClientsStampRequiresTheStamp) {
  const absl::Status status = Start("StampLogin", R"pb(organization_id: "o"
                                                       parameters { public_key: "02ab" })pb")
                                  .Wait();
  EXPECT_THAT(status, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(DetailsOf(status).violations, ElementsAre(Pair("client_stamp", HasSubstr("is required"))));
}

// CheckGrants does not know the organization of this call, which is in the body that the client stamped. So it cannot
// deny the call because of the organization.
TEST_F(OperationCallTest, AMalformedClientStampIsRefusedBeforeThePolicyDecides) {
  UseAudit();
  SetGrants("grants {classes: POLICY_CLASS_LOGIN organizations: 'another'}");
  const absl::Status broken = StartLogin(kLoginBody, "no stamp").Wait();
  EXPECT_THAT(broken, StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(DetailsOf(broken).violations, ElementsAre(Pair("client_stamp.web_authn", HasSubstr("must"))));
  EXPECT_THAT(StartLogin(kLoginBody, kStamp).Wait(), StatusIs(Code::kPermissionDenied));
  const std::vector<std::string> denials = AuditLines("deny");
  ASSERT_THAT(denials, SizeIs(1));
  EXPECT_EQ(Member(denials[0], "organization_id"), "o");
  EXPECT_THAT(denials[0], HasSubstr(R"("client_stamped":true)"));
}

// ---- Signing ----

TEST_F(OperationCallTest, ACallWhoseSignatureFailsEndsUnsent) {
  UseAudit();
  signer_->Fail(absl::UnavailableError("the key of hush-hush is away"));
  const absl::Status status = Start("GetPolicy", kGet).Wait();
  EXPECT_THAT(status, StatusIs(Code::kInternal, "the request could not be signed"));
  EXPECT_EQ(DetailsOf(status).reason, "SIGNING_FAILED");
  EXPECT_THAT(status.ToString(), Not(HasSubstr("hush")));
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "reason"), "SIGNING_FAILED");
}

TEST_F(OperationCallTest, ACallIsSentOnceALateSignatureArrives) {
  signer_->Hold();
  const Call call = Start("GetPolicy", kGet);
  EXPECT_THAT(upstream_.sent(), IsEmpty());
  EXPECT_EQ(call.replies.count(), 0);
  signer_->Answer("30");
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  upstream_.End(1, AnswerOf(200, kPolicy));
  EXPECT_EQ(call.Wait(), absl::OkStatus());
}

TEST_F(OperationCallTest, AKeyedSubmitWhoseSignatureFailsIsStoredAsNotSent) {
  UseStore();
  signer_->Fail(absl::InternalError("no"));
  const Call call = Start("CreatePolicies", kKeyedCreate);
  AnswerStore(Began(5));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "SIGNING_FAILED");
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].first, 5u);
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kNotSent);
}

// ---- Memory ----

TEST_F(OperationCallTest, ACallHoldsItsRequestAndItsBodyAndThenOnlyItsResponse) {
  const auto free = static_cast<int64_t>(MemoryAccount::kSmallCallBytes);
  const Call call =
      Start("GetPolicy", absl::StrCat("organization_id: 'o' policy_id: '", std::string(60'000, 'p'), "'"));
  EXPECT_GE(memory_.held(), 2 * 60'000 - free);  // the request counts as long as the call
  upstream_.End(1, AnswerOf(200, absl::StrCat(R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW",)",
                                              R"("notes":")", std::string(20'000, 'n'), R"("}})")));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kOk));
  EXPECT_GE(memory_.held(), 20'000 - free);
  EXPECT_LE(memory_.held(), 21'000 - free);
}

TEST_F(OperationCallTest, ACallWithoutMemoryForItsBodySendsNothing) {
  memory_.TakeAllBut(30'000);
  const Call call =
      Start("GetPolicy", absl::StrCat("organization_id: 'o' policy_id: '", std::string(60'000, 'p'), "'"));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "TOO_MUCH_MEMORY");
  EXPECT_THAT(upstream_.sent(), IsEmpty());
}

TEST_F(OperationCallTest, ASubmitReservesItsResponseBeforeItIsSent) {
  const Call call =
      Start("CreatePolicies", absl::StrCat("organization_id: 'o' parameters { policies { policy_name: 'n' ",
                                           "effect: EFFECT_ALLOW notes: '", std::string(50'000, 'n'), "' } }"));
  // The request, the body, and three times as much for the response.
  EXPECT_GE(memory_.held(), 5 * 50'000 - static_cast<int64_t>(MemoryAccount::kSmallCallBytes));
  upstream_.End(1, AnswerOf(200, kActivity));
}

TEST_F(OperationCallTest, AQueryWithoutMemoryForItsResponseCanBeRepeated) {
  memory_.TakeAllBut(30'000);
  const absl::Status status =
      Query(AnswerOf(200, absl::StrCat(R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW",)",
                                       R"("notes":")", std::string(60'000, 'n'), R"("}})")));
  EXPECT_THAT(status, StatusIs(Code::kResourceExhausted));
  EXPECT_EQ(DetailsOf(status).reason, "TOO_MUCH_MEMORY");
}

TEST_F(OperationCallTest, OfASubmitWithoutMemoryForItsResponseTheOutcomeIsUnknownToItsCaller) {
  memory_.TakeAllBut(30'000);
  UseAudit();
  const Call call = StartKeyed();
  upstream_.End(1, AnswerOf(200, absl::StrCat(R"({"activity":{"id":"a-1","status":"ACTIVITY_STATUS_COMPLETED",)",
                                              R"("canApprove":")", std::string(60'000, 'n'), R"("}})")));
  EXPECT_THAT(call.Wait(), StatusIs(Code::kUnknown));
  EXPECT_EQ(DetailsOf(call.Wait()).reason, "OUTCOME_UNKNOWN");
  EXPECT_EQ(DetailsOf(call.Wait()).metadata["timestamp_ms"], absl::StrCat(kNowMs));
  // The key and the audit log have the outcome all the same.
  ASSERT_THAT(store_.ends(), SizeIs(1));
  EXPECT_EQ(store_.ends()[0].second.kind, Kind::kDone);
  const std::vector<std::string> outcomes = AuditLines("outcome");
  ASSERT_THAT(outcomes, SizeIs(1));
  EXPECT_EQ(Member(outcomes[0], "activity_id"), "a-1");
}

TEST_F(OperationCallTest, UpstreamsClientReservesTheResponseForTheConnectionOfTheCall) {
  const Call call = Start("GetPolicy", "organization_id: 'o' policy_id: 'p'");
  ASSERT_THAT(upstream_.sent(), SizeIs(1));
  EXPECT_EQ(upstream_.sent()[0].options.holder, memory_.holder());
  upstream_.End(1, AnswerOf(200, "{}"));
}

}  // namespace
}  // namespace stampgate
