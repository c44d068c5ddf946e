#include "gateway/operations/prepare_call.h"

#include <string>
#include <utility>

#include "gateway/callers/authenticator.h"
#include "gateway/callers/denial.h"
#include "gateway/callers/peer.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/refused_call.h"
#include "gateway/calls/request_message.h"
#include "gateway/calls/shutting_down.h"
#include "gateway/operations/prepare.h"
#include "stamp/fingerprint.h"
#include "stamp/secret/sha256.h"
#include "stampgate/v1/stamp_service.pb.h"
#include "translate/request_translator.h"

namespace stampgate {
namespace {

// Deletes itself when gRPC is done with it, which is after Finish.
class PrepareCall : public grpc::ServerUnaryReactor {
 public:
  PrepareCall(const CallEnvironment& environment, grpc::CallbackServerContext& context, grpc::ByteBuffer* response)
      : environment_(environment),
        context_(context),
        response_(response),
        trace_(TraceOf(context, environment.random)),
        record_(environment.recorders, kPrepare, trace_.trace_id()) {}

  void Start(const grpc::ByteBuffer& bytes) {
    Authenticate(environment_.access, context_, [this, &bytes](const absl::StatusOr<KnownCaller>& caller) {
      if (!caller.ok()) {
        record_.DenyStranger(StrangerName(PeerOf(context_)), caller.status());
        return End(caller.status());
      }
      record_.SetCaller(*caller);
      Decide(*caller, bytes);
    });
  }

 private:
  void Decide(const KnownCaller& caller, const grpc::ByteBuffer& bytes) {
    v1::PrepareRequest request;
    if (absl::Status status = DecodeRequest(bytes, environment_.max_request_bytes, request); !status.ok()) {
      return End(status);
    }
    absl::StatusOr<Preparation> preparation = ReadPreparation(environment_.operations, request);
    if (!preparation.ok()) return End(preparation.status());
    const Operation& operation = *preparation->operation;
    const Question question = QuestionOf(operation, *preparation->request);
    AuditDecision record = DecisionAbout(question);
    record.prepared_method = operation.full_name;
    facts_.organization_id = record.organization_id;
    // In the order of the call itself: its grants, its rules, its values.
    Caller::Decision decision = DecideByGrants(*caller.caller, operation, *preparation->request);
    if (!decision.allowed) return Refuse(caller, operation, std::move(record), std::move(decision.why));
    absl::StatusOr<RenderedRequest> rendered =
        TranslateUnstamped(environment_.operations, operation, *preparation->request);
    if (!rendered.ok()) return End(rendered.status());
    decision = caller.caller->Decide(question);
    if (!decision.allowed) return Refuse(caller, operation, std::move(record), std::move(decision.why));
    absl::StatusOr<v1::PrepareResponse> response =
        Prepare(operation, *rendered, environment_.timestamps, environment_.now());
    if (!response.ok()) return End(response.status());
    if (operation.is_submit()) facts_.fingerprint = Fingerprint(response->body());
    if (environment_.recorders.audit != nullptr) record.body_sha256 = HexSha256(response->body());
    Record(caller, std::move(record), *std::move(response));
  }

  void Refuse(const KnownCaller& caller, const Operation& operation, AuditDecision record, std::string why) {
    record.reason = std::move(why);
    record_.audit().Deny(caller, std::move(record));
    End(Denied(*caller.caller, operation.full_name));
  }

  // Has it recorded that the body may be stamped, before the caller gets it. That also bounds how many there are at
  // once, as AuditLog bounds the calls themselves.
  void Record(const KnownCaller& caller, AuditDecision record, v1::PrepareResponse response) {
    record_.audit().Allow(caller, std::move(record),
                          [this, response = std::move(response)](const absl::Status& recorded) {
                            if (recorded.ok()) *response_ = EncodeResponse(response);
                            End(recorded);
                          });
  }

  void End(const absl::Status& status) {
    record_.End(status, [this] { return facts_; });
    Finish(ToGrpcStatus(status));
  }

  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  const CallEnvironment& environment_;
  const grpc::CallbackServerContext& context_;
  grpc::ByteBuffer* const response_;
  const TraceContext trace_;
  CallRecord record_;
  CallFacts facts_;
};

}  // namespace

grpc::ServerUnaryReactor* StartPrepareCall(const CallEnvironment& environment, grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment, *context, kPrepare, ShuttingDown());
  }
  auto* call = new PrepareCall(environment, *context, response);
  call->Start(*request);
  return call;
}

}  // namespace stampgate
