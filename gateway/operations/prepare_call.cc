#include "gateway/operations/prepare_call.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "gateway/callers/denial.h"
#include "gateway/calls/request_message.h"
#include "stamp/request_body.h"
#include "stampgate/v1/stamp_service.pb.h"

namespace stampgate {

PrepareCall::PrepareCall(const CallEnvironment& environment, std::shared_ptr<const OperationTable> operations,
                         const TraceContext& trace, Reply reply, std::shared_ptr<MemoryHolder> holder)
    : environment_(environment),
      operations_(std::move(operations)),
      reply_(std::move(reply)),
      record_(environment.recorders, kPrepare, trace),
      held_(std::move(holder), MemoryAccount::kSmallCallBytes) {
  record_.spans().Begin(CallStage::kAuthenticate);
}

void PrepareCall::Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger,
                        const grpc::ByteBuffer& request, absl::Duration /*time_left*/) {
  absl::Status status = Authenticate(std::move(caller), stranger);
  if (status.ok()) record_.spans().Begin(CallStage::kTranslate);
  if (status.ok()) status = Decode(request);
  if (status.ok()) status = CheckMethod();
  if (status.ok()) status = DecodeInner();
  if (status.ok()) status = CheckGrants();
  if (status.ok()) status = Validate();
  if (status.ok()) record_.spans().Begin(CallStage::kDecide);
  if (status.ok()) status = Authorize();
  if (status.ok()) status = Render();
  if (!status.ok()) return End(status);
  Record();
}

absl::Status PrepareCall::Authenticate(absl::StatusOr<KnownCaller> caller, const std::string& stranger) {
  ABSL_RETURN_IF_ERROR(RecognizeCaller(caller, stranger, record_));
  caller_ = *std::move(caller);
  return absl::OkStatus();
}

absl::Status PrepareCall::Decode(const grpc::ByteBuffer& bytes) {
  memory_.Receive(bytes.Length());
  memory_.Count(bytes.Length());  // of the message in `request_`
  ABSL_RETURN_IF_ERROR(DecodeRequest(bytes, request_));
  const absl::StatusOr<const Operation*> operation = FindOperationOf(*operations_, request_);
  if (operation.ok()) operation_ = *operation;
  return operation.status();
}

absl::Status PrepareCall::CheckMethod() {
  return stampgate::CheckMethod(caller_, *operation_, RequestedOperation::Purpose::kPrepare, record_);
}

absl::Status PrepareCall::DecodeInner() {
  ABSL_ASSIGN_OR_RETURN(const ParsedMessage prepared, ParsePreparedRequest(*operation_, request_, memory_));
  prepared_ = prepared;
  facts_.organization_id = std::string(QuestionOf(*operation_, *prepared_).organization_id.value_or(""));
  return absl::OkStatus();
}

absl::Status PrepareCall::CheckGrants() { return stampgate::CheckGrants(caller_, Requested(), record_); }

absl::Status PrepareCall::Validate() {
  ABSL_ASSIGN_OR_RETURN(CheckedRequest checked,
                        CheckedRequest::CheckUnstamped(*operations_, *operation_, *prepared_, memory_));
  checked_ = std::move(checked);
  if (checked_->carried().has_value()) record_.NoteOwnMethod(checked_->carried()->operation->full_name);
  return absl::OkStatus();
}

absl::Status PrepareCall::Authorize() {
  ABSL_ASSIGN_OR_RETURN(Permission permission, stampgate::Authorize(caller_, Requested(), record_));
  permission_ = std::move(permission);
  return absl::OkStatus();
}

absl::Status PrepareCall::Render() {
  ABSL_ASSIGN_OR_RETURN(RenderedRequest rendered, (*std::move(checked_)).Render());
  ABSL_ASSIGN_OR_RETURN(PreparedBody prepared,
                        Prepare(*operation_, std::move(rendered), environment_.timestamps, environment_.now()));
  if (operation_->is_submit()) facts_.fingerprint = FingerprintOf(prepared.sha256);
  if (environment_.recorders.audit != nullptr) permission_.decision.body_sha256 = HexDigest(prepared.sha256);
  response_ = std::move(prepared.response);
  // The body is in the response and, when it is sent, in gRPC's bytes.
  return held_.Resize(request_.request().size() + memory_.arena().SpaceAllocated() + 2 * response_.body().size());
}

// Makes the audit log write the decision to allow the body, before the caller receives the body. So the limits of
// AuditLog also apply to Prepare calls, above all UnsentAllows: nothing else limits how many records they cause.
void PrepareCall::Record() {
  record_.spans().Begin(CallStage::kAudit);
  record_.audit().Allow(caller_, std::move(permission_.decision),
                        [call = shared_from_this()](const absl::Status& recorded) {
                          if (!recorded.ok()) return call->End(recorded);
                          call->End(recorded, EncodeResponse(call->response_));
                        });
}

void PrepareCall::End(const absl::Status& status, const grpc::ByteBuffer& response) {
  record_.End(status, [this] { return facts_; });
  // A caller can take long to read the response. Meanwhile, the call holds nothing else.
  checked_.reset();
  prepared_.reset();
  memory_.Free();
  v1::PrepareRequest().Swap(&request_);
  v1::PrepareResponse().Swap(&response_);
  UnaryResponse answer{response, std::move(held_)};
  static_cast<void>(answer.held.Resize(response.Length()));  // less than before
  std::exchange(reply_, nullptr)(status, std::move(answer));
}

RequestedOperation PrepareCall::Requested() const {
  const bool is_carried = checked_.has_value() && checked_->carried().has_value();
  return {*operation_, *prepared_, RequestedOperation::Purpose::kPrepare,
          is_carried ? checked_->carried()->request : *prepared_};
}

}  // namespace stampgate
