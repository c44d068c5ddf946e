// The interface of objects that handle one unary call, independent of gRPC's server.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_
#define STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/memory/held_bytes.h"

namespace stampgate {

// The bytes of a response message, and the memory that they hold until gRPC has sent them.
struct UnaryResponse {
  grpc::ByteBuffer message = {};
  HeldBytes held = {};
};

// Handles one call. operation_service.h connects a handler with gRPC; tests call a handler directly.
class UnaryHandler : public Dismissable {
 public:
  // Receives the status of the call and, if the status is OK, the response.
  using Reply = absl::AnyInvocable<void(const absl::Status& status, UnaryResponse response)>;

  // Handles the call. Calls exactly once the Reply that the constructor received: before Start returns, or later on
  // another thread. Never blocks. Must be called only once.
  //
  // `caller` is the authenticated caller, or an error that states why the caller is not known. In the error case,
  // `stranger` names the peer (see StrangerName). `request` must stay valid until Start returns. `time_left` is how
  // long the caller still waits, or infinity if the caller has set no deadline.
  virtual void Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger, const grpc::ByteBuffer& request,
                     absl::Duration time_left) = 0;

  // Reports that the caller has left. May be called on any thread and at any time, even before Start and after the
  // reply. Never blocks.
  virtual void Cancel() = 0;

  // Most calls end in time. Those override it that can wait longer.
  void Dismiss() override {}
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_
