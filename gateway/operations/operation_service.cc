#include "gateway/operations/operation_service.h"

#include <grpc/support/time.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/peer_of_call.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/call_trace.h"
#include "gateway/calls/grpc_status.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/operation_call.h"
#include "gateway/operations/prepare_call.h"
#include "gateway/operations/unary_handler.h"
#include "translate/error.h"

namespace stampgate {
namespace {

// Returns how long the caller still waits, or infinity if the caller has set no deadline. Uses the monotonic clock,
// because the wall clock can be set.
absl::Duration TimeLeft(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(GPR_CLOCK_MONOTONIC));
  if (gpr_time_cmp(left, gpr_inf_future(GPR_TIMESPAN)) == 0) return absl::InfiniteDuration();
  return absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

// Returns the status for a call that gRPC itself has ended before its request had arrived. The server does not learn
// with which status gRPC has ended it.
absl::Status EndedByGrpc(absl::Duration time_left) {
  if (time_left <= absl::ZeroDuration()) {
    return ToStatus(GatewayError(absl::StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE_TOO_SHORT,
                                 "the deadline passed before the request had arrived"));
  }
  return ToStatus(
      GatewayError(absl::StatusCode::kCancelled, v1::ERROR_REASON_CANCELLED,
                   "the call ended before its request had arrived: the caller has left, or gRPC has refused the "
                   "request, which is compressed, is larger than calls.max_request_bytes, or has invalid metadata"));
}

// Connects a call of gRPC with its handler. gRPC needs this object until OnDone. The handler can live longer, because
// an exchange with upstream can continue after the reply.
//
// To gRPC, each call of a generic service is a stream. This class reads one message, and sends the response and the
// status together.
class UnaryCall final : public grpc::ServerGenericBidiReactor {
 public:
  // `operation` is an operation of `operations`, or null for a call of StampService.Prepare.
  UnaryCall(const CallEnvironment& environment, std::shared_ptr<const OperationTable> operations,
            const Operation* operation, grpc::CallbackServerContext& context)
      : environment_(environment),
        operations_(std::move(operations)),
        operation_(operation),
        context_(context),
        trace_(TraceOf(context, environment.random)) {
    StartRead(&request_);
  }

 private:
  enum class Counted { kNone, kAdmitted, kRefused };

  absl::string_view method() const {
    if (operation_ == nullptr) return kPrepare;
    return operation_->full_name;
  }

  // Until the request has been read, the call does not count as a call in flight, and it has no handler. So a caller
  // that sends only the head of a call occupies little memory.
  void OnReadDone(bool ok) override { ok ? Handle() : StartSendInitialMetadata(); }

  // Runs if the call has no whole request. If metadata can be sent, the caller has ended its side without a message.
  // The handler refuses this like any other invalid request. Otherwise gRPC has ended the call, and the caller reads
  // gRPC's status.
  void OnSendInitialMetadataDone(bool ok) override {
    if (ok) return Handle();
    Refuse(StrangerName(PeerOf(context_)), EndedByGrpc(TimeLeft(context_)));
  }

  void Handle() {
    const absl::Status admitted = environment_.in_flight.Begin(context_);
    counted_ = admitted.ok() ? Counted::kAdmitted : Counted::kRefused;
    if (!admitted.ok()) return Refuse(StrangerName(PeerOf(context_)), admitted);
    handler_ = MakeHandler();
    CancelIfSecond();
    Authenticate(environment_.access, context_, [this](absl::StatusOr<KnownCaller> caller) {
      const std::shared_ptr<UnaryHandler> handler = handler_;  // the reply can delete this object
      if (caller.ok()) {
        const std::string& name = caller->caller->name();
        const absl::Status counted = environment_.in_flight.SetCaller(context_, name, handler);
        if (!counted.ok()) return Refuse(name, counted);
      }
      const std::string stranger = caller.ok() ? "" : StrangerName(PeerOf(context_));
      // Freed when Start returns, because the handler has a copy in one piece.
      grpc::ByteBuffer request;
      request.Swap(&request_);
      handler->Start(std::move(caller), stranger, request, TimeLeft(context_));
    });
  }

  std::shared_ptr<UnaryHandler> MakeHandler() {
    auto reply = [this](const absl::Status& status, UnaryResponse response) {
      if (!status.ok()) return Finish(ToGrpcStatus(status));
      response_ = std::move(response);
      StartWriteAndFinish(&response_.message, grpc::WriteOptions(), grpc::Status::OK);
    };
    if (operation_ == nullptr) {
      return std::make_shared<PrepareCall>(environment_, operations_, trace_, std::move(reply), HolderOf(context_));
    }
    return std::make_shared<OperationCall>(environment_, operations_, *operation_, trace_, std::move(reply),
                                           HolderOf(context_));
  }

  // Ends the call without its handler.
  void Refuse(const std::string& caller, const absl::Status& status) {
    CallRecord(environment_.recorders, method(), trace_).EndRefused(caller, status);
    Finish(ToGrpcStatus(status));
  }

  void OnCancel() override { CancelIfSecond(); }

  // Cancels the handler when both have happened: the caller has left, and the handler exists.
  void CancelIfSecond() {
    if (first_happened_.exchange(true)) handler_->Cancel();
  }

  void OnDone() override {
    if (counted_ == Counted::kAdmitted) environment_.in_flight.End(context_);
    if (counted_ == Counted::kRefused) environment_.in_flight.EndRefused();
    delete this;
  }

  // Lets gRPC run OnCancel on its current thread. Otherwise gRPC would queue it, which takes CPU time. OnCancel must be
  // short and must not block: it only queues a task.
  bool InternalInlineable() override { return true; }

  const CallEnvironment& environment_;
  const std::shared_ptr<const OperationTable> operations_;
  const Operation* const operation_;
  grpc::CallbackServerContext& context_;
  const TraceContext trace_;
  grpc::ByteBuffer request_;
  UnaryResponse response_;  // until gRPC has sent it
  Counted counted_ = Counted::kNone;
  std::shared_ptr<UnaryHandler> handler_;  // null until the request has been read
  std::atomic<bool> first_happened_ = false;
};

}  // namespace

grpc::ServerGenericBidiReactor* OperationService::CreateReactor(grpc::GenericCallbackServerContext* context) {
  std::shared_ptr<const OperationTable> operations = environment_.access.Get()->operations;
  const Operation* operation = operations->Find(context->method());
  // If the result is null, gRPC itself ends the call with UNIMPLEMENTED.
  if (operation == nullptr && context->method() != kPrepare) return nullptr;
  return new UnaryCall(environment_, std::move(operations), operation, *context);
}

}  // namespace stampgate
