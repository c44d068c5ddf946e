// A fixture for the tests of OperationCall: starts calls of a query, a submit and a login, and ends their exchanges.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_TESTING_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_TESTING_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/secret/sha256.h"
#include "gateway/audit/testing.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/testing.h"
#include "gateway/operations/operation_call.h"
#include "gateway/operations/testing.h"
#include "stamp/request_body.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"

namespace stampgate {

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
inline std::string CreateBody(uint64_t timestamp_ms) {
  return absl::StrCat(R"({"type":"ACTIVITY_TYPE_CREATE_POLICIES","timestampMs":")", timestamp_ms,
                      R"(","organizationId":"o","parameters":{"policies":[{"policyName":"n",)"
                      R"("effect":"EFFECT_ALLOW","notes":""}]}})");
}

constexpr char kWithdraw[] = R"pb(
  organization_id: "o"
  parameters { wrapper_address: "0xaa" sign_with: "s" chain_caip2: EARN_CHAIN_EIP155_1 amount_value: "11" })pb";

constexpr char kLoginBody[] = R"({"type":"ACTIVITY_TYPE_STAMP_LOGIN","timestampMs":"1755500000000",)"
                              R"("organizationId":"o","parameters":{"publicKey":"02ab"}})";

inline const std::string kStamp = absl::StrCat(R"({"authenticatorData":")", std::string(50, 'A'),
                                               R"(","clientDataJson":"eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",)",
                                               R"("credentialId":"YQ","signature":"MEUC"})");

inline TransportFailure Failure(TransportFailure::Cause cause, bool body_sent) {
  return {cause, body_sent, "in the library's words"};
}

// Returns the outcome of an exchange that continues although the caller's time has ended.
inline TransportFailure Detached(TransportFailure::Cause cause) {
  return {cause, /*body_sent=*/true, "", /*goes_on=*/true};
}

// Returns the store's answer that the store has begun an attempt.
inline CallStore::Begun Began(CallStore::AttemptId attempt) {
  CallStore::Begun begun;
  begun.attempt = attempt;
  return begun;
}

// Returns the store's answer that the store already has the key.
inline CallStore::Begun Known(KeyRecord record) {
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
    auto handler = std::make_shared<OperationCall>(environment(), operations(), testing::OperationOf(method),
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
    return StartBytes(method, BytesOf(*testing::RequestOf(testing::OperationOf(method), text_proto)), time_left);
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
    const Operation& operation = testing::OperationOf("CreatePolicies");
    return {.request_sha256 = DigestOfRequest(operation, *testing::Parsed(operation, kKeyedCreate)),
            .body_sha256 = Sha256(CreateBody(timestamp_ms)),
            .timestamp_ms = timestamp_ms,
            .outcome = std::move(outcome)};
  }

  TestMemory memory_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_CALL_TESTING_H_
