#include "gateway/operations/operation_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/secret/sha256.h"
#include "gateway/audit/testing.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/testing.h"
#include "gateway/metrics/testing.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "translate/answer_size.h"
#include "translate/operation_table.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using ::stampgate::testing::DetailsOf;
using ::stampgate::testing::OperationOf;
using ::stampgate::testing::RequestOf;
using ::stampgate::testing::StatusIs;
using ::stampgate::testing::ValueAt;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Code = absl::StatusCode;
using Kind = AttemptEnd::Kind;
using Lane = UpstreamClient::Lane;

constexpr char kGet[] = R"pb(organization_id: "o" policy_id: "p")pb";
constexpr char kGetPolicy[] = "/stampgate.v1.PolicyService/GetPolicy";
constexpr char kGetBody[] = R"({"organizationId":"o","policyId":"p"})";
constexpr char kPolicy[] = R"({"policy":{"policyId":"p","policyName":"n","effect":"EFFECT_ALLOW","notes":""}})";

constexpr char kCreate[] = R"pb(organization_id: "o"
                                parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } })pb";
constexpr char kKeyedCreate[] = R"pb(organization_id: "o"
                                     parameters { policies { policy_name: "n" effect: EFFECT_ALLOW notes: "" } }
                                     idempotency_key: "key-1")pb";
constexpr char kActivity[] = R"({"activity":{"id":"a-1","organizationId":"o","status":"ACTIVITY_STATUS_COMPLETED"}})";

// Returns the body that the gateway sends for kCreate and kKeyedCreate.
std::string CreateBody(uint64_t timestamp_ms) {
  return absl::StrCat(R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":")", timestamp_ms,
                      R"(","organizationId":"o","parameters":{"policies":[{"policyName":"n",)"
                      R"("effect":"EFFECT_ALLOW","notes":""}]}})");
}

constexpr char kWithdraw[] = R"pb(
  organization_id: "o"
  parameters { wrapper_address: "0xaa" sign_with: "s" chain_caip2: EARN_CHAIN_EIP155_1 amount_value: "11" })pb";

constexpr char kLoginBody[] = R"({"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"1755500000000",)"
                              R"("organizationId":"o","parameters":{"publicKey":"02ab"}})";

const std::string kStamp = absl::StrCat(R"({"authenticatorData":")", std::string(50, 'A'),
                                        R"(","clientDataJson":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",)",
                                        R"("credentialId":"YQ","signature":"MEUC"})");

TransportFailure Failure(Cause cause, bool body_sent) { return {cause, body_sent, "in the library's words"}; }

// Returns the outcome of an exchange that continues although the caller's time has ended.
TransportFailure Detached(Cause cause) { return {cause, /*body_sent=*/true, "", /*goes_on=*/true}; }

// Returns the store's answer that the store has begun an attempt.
CallStore::Begun Began(CallStore::AttemptId attempt) {
  CallStore::Begun begun;
  begun.attempt = attempt;
  return begun;
}

// Returns the store's answer that the store already has the key.
CallStore::Begun Known(KeyRecord record) {
  CallStore::Begun begun;
  begun.record = std::move(record);
  return begun;
}

class OperationCallTest : public CallTest {
 protected:
  struct Call {
    std::weak_ptr<OperationCall> handler;
    Replies replies;

    absl::Status Wait() const { return replies.Wait(); }
    // Cancels the call, as gRPC can do at any time. Does nothing if the call no longer exists.
    void Cancel() const {
      if (const std::shared_ptr<OperationCall> call = handler.lock()) call->Cancel();
    }
  };

  std::shared_ptr<OperationCall> Make(absl::string_view method, Call& call) {
    auto handler = std::make_shared<OperationCall>(environment(), operations(), OperationOf(method),
                                                   TraceContext::Begin([] { return 7; }), call.replies.Callback(),
                                                   memory_.holder());
    call.handler = handler;
    Watch(handler, call.replies);
    return handler;
  }

  Call StartBytes(absl::string_view method, const grpc::ByteBuffer& bytes,
                  absl::Duration time_left = absl::InfiniteDuration()) {
    Call call;
    Make(method, call)->Start(caller(), "", bytes, time_left);
    return call;
  }

  Call Start(absl::string_view method, const std::string& text_proto,
             absl::Duration time_left = absl::InfiniteDuration()) {
    return StartBytes(method, BytesOf(*RequestOf(OperationOf(method), text_proto)), time_left);
  }

  Call StartLogin(const std::string& body, const std::string& stamp) {
    return Start("StampLogin", absl::StrCat("client_stamp { body: '", absl::CEscape(body), "' web_authn: '",
                                            absl::CEscape(stamp), "' }"));
  }

  // Starts a query, ends its exchange with `outcome`, and returns the reply's status.
  absl::Status Query(UpstreamOutcome outcome) {
    const Call call = Start("GetPolicy", kGet);
    upstream_.End(upstream_.sent().back().id, std::move(outcome));
    return call.Wait();
  }

  // Starts a submit, ends its exchange with `outcome`, and returns the reply's status.
  absl::Status Submit(UpstreamOutcome outcome) {
    const Call call = Start("CreatePolicies", kCreate);
    upstream_.End(upstream_.sent().back().id, std::move(outcome));
    return call.Wait();
  }

  // Starts a submit with a new idempotency key. When StartKeyed returns, the store has begun attempt 5, and the body
  // was sent.
  Call StartKeyed() {
    UseStore();
    Call call = Start("CreatePolicies", kKeyedCreate);
    AnswerStore(Began(5));
    upstream_.WaitForSent();
    return call;
  }

  // Starts a submit with a new idempotency key, with an audit log. When StartDecided returns, the store has decided
  // that an attempt may begin, and has not written it.
  Call StartDecided() {
    UseAudit();
    UseStore();
    Call call = Start("CreatePolicies", kKeyedCreate);
    store_.Decide();
    return call;
  }

  // As StartDecided. When it returns, the audit log is writing the decision, until disk_.Release().
  Call StartDecidedAndHold() {
    UseAudit();
    UseStore();
    Call call = Start("CreatePolicies", kKeyedCreate);
    disk_.HoldSync();
    store_.Decide();
    disk_.WaitUntilHeld();
    return call;
  }

  // Returns the record that the store has for kKeyedCreate if it was first sent with `timestamp_ms`.
  static KeyRecord RecordAt(uint64_t timestamp_ms, AttemptEnd outcome) {
    const Operation& operation = OperationOf("CreatePolicies");
    return {.request_sha256 = DigestOfRequest(operation, *testing::Parsed(operation, kKeyedCreate)),
            .body_sha256 = Sha256(CreateBody(timestamp_ms)),
            .timestamp_ms = timestamp_ms,
            .outcome = std::move(outcome)};
  }

  TestMemory memory_;
};

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

// ---- Idempotency keys ----

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

// ---- Callers that leave, at every moment of a call ----

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
