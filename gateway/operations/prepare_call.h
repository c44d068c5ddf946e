// One call of StampService.Prepare, which returns the body that a client will stamp.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_
#define STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/trace_context.h"
#include "gateway/memory/account.h"
#include "gateway/memory/held_bytes.h"
#include "gateway/operations/authorization.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/prepare.h"
#include "gateway/operations/unary_handler.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/request_translator.h"

namespace stampgate {

inline constexpr char kPrepare[] = "/stampgate.v1.StampService/Prepare";

// Handles one call. A shared_ptr must own this object. The call stamps nothing and sends nothing upstream. But its
// caller receives a body that a client can stamp, so the gateway authorizes and records this call like the call that it
// prepares.
class PrepareCall final : public UnaryHandler, public std::enable_shared_from_this<PrepareCall> {
 public:
  // `environment` must outlive this. `operations` are those whose requests the call can prepare. `holder` counts what
  // the call holds, and may be null.
  PrepareCall(const CallEnvironment& environment, std::shared_ptr<const OperationTable> operations,
              const TraceContext& trace, Reply reply, std::shared_ptr<MemoryHolder> holder = nullptr);

  void Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger, const grpc::ByteBuffer& request,
             absl::Duration time_left) override;

  // Does nothing, because the call waits for nothing except the audit log.
  void Cancel() override {}

 private:
  // The steps, in the order in which they run.
  absl::Status Authenticate(absl::StatusOr<KnownCaller> caller, const std::string& stranger);
  absl::Status Decode(const grpc::ByteBuffer& bytes);
  absl::Status CheckMethod();
  absl::Status DecodeInner();
  absl::Status CheckGrants();
  absl::Status Validate();
  absl::Status Authorize();
  absl::Status Render();
  void Record();
  void End(const absl::Status& status, const grpc::ByteBuffer& response = {});

  RequestedOperation Requested() const;

  const CallEnvironment& environment_;
  const std::shared_ptr<const OperationTable> operations_;
  Reply reply_;
  CallRecord record_;
  CallFacts facts_;
  KnownCaller caller_;
  RequestMemory memory_;
  v1::PrepareRequest request_;
  const Operation* operation_ = nullptr;   // the operation that the request names; set by Decode
  std::optional<ParsedMessage> prepared_;  // the request whose body is prepared; set by DecodeInner
  std::optional<CheckedRequest> checked_;
  Permission permission_;
  v1::PrepareResponse response_;
  HeldBytes held_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_
