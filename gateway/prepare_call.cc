#include "gateway/prepare_call.h"

#include <utility>

#include "gateway/authenticator.h"
#include "gateway/call_audit.h"
#include "gateway/call_metrics.h"
#include "gateway/denial.h"
#include "gateway/grpc_status.h"
#include "gateway/prepare.h"
#include "gateway/refused_call.h"
#include "gateway/request_message.h"
#include "gateway/shutting_down.h"
#include "stampgate/v1/stamp_service.pb.h"

namespace stampgate {
namespace {

// Deletes itself when gRPC is done with it, which is after Finish.
class PrepareCall : public grpc::ServerUnaryReactor {
 public:
  PrepareCall(const CallEnvironment& environment, const grpc::CallbackServerContext& context,
              grpc::ByteBuffer* response)
      : environment_(environment),
        context_(context),
        response_(response),
        audit_(environment.audit, environment.disk_waits, kPrepare),
        metrics_(environment.metrics, kPrepare) {}

  void Start(const grpc::ByteBuffer& bytes) {
    Authenticate(environment_.access, context_, [this, &bytes](const absl::StatusOr<KnownCaller>& caller) {
      if (!caller.ok()) audit_.DenyStranger(context_, caller.status());
      const absl::Status status = caller.ok() ? Answer(*caller, bytes) : caller.status();
      metrics_.End(status);
      Finish(ToGrpcStatus(status));
    });
  }

 private:
  absl::Status Answer(const KnownCaller& caller, const grpc::ByteBuffer& bytes) {
    v1::PrepareRequest request;
    if (absl::Status status = DecodeRequest(bytes, environment_.max_request_bytes, request); !status.ok()) {
      return status;
    }
    absl::StatusOr<Preparation> preparation = ReadPreparation(environment_.operations, request);
    if (!preparation.ok()) return preparation.status();
    const Question question = QuestionOf(*preparation->operation, *preparation->request);
    Caller::Decision decision = caller.caller->Decide(question);
    if (!decision.allowed) {
      AuditDecision denied = DecisionAbout(question);
      denied.prepared_method = preparation->operation->full_name;
      denied.reason = std::move(decision.why);
      audit_.Deny(caller, std::move(denied));
      return Denied();
    }
    absl::StatusOr<v1::PrepareResponse> response = Prepare(*preparation, environment_.timestamps, environment_.now());
    if (response.ok()) *response_ = EncodeResponse(*response);
    return response.status();
  }

  void OnDone() override {
    environment_.in_flight.End(context_);
    delete this;
  }

  const CallEnvironment& environment_;
  const grpc::CallbackServerContext& context_;
  grpc::ByteBuffer* const response_;
  CallAudit audit_;
  CallMetrics metrics_;
};

}  // namespace

grpc::ServerUnaryReactor* StartPrepareCall(const CallEnvironment& environment, grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  if (!environment.in_flight.Begin(*context)) {
    return new RefusedCall<grpc::ServerUnaryReactor>(environment.in_flight, environment.metrics, kPrepare,
                                                     ShuttingDown());
  }
  auto* call = new PrepareCall(environment, *context, response);
  call->Start(*request);
  return call;
}

}  // namespace stampgate
