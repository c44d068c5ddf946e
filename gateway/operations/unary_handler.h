// What handles one unary call, without gRPC's server.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_
#define STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"

namespace stampgate {

// One call. unary_call.h connects it with gRPC; a test calls it directly.
class UnaryHandler {
 public:
  // Receives the call's status and, if that is OK, the bytes of the response message.
  using Reply = absl::AnyInvocable<void(const absl::Status& status, const grpc::ByteBuffer& response)>;

  virtual ~UnaryHandler() = default;

  // Handles the call, and calls the Reply that it was made with exactly once: before this returns, or later on another
  // thread. Never blocks. Called once.
  //
  // `caller` is the caller, or why it is not known; then `stranger` names the peer (see StrangerName). `request` may be
  // used until the reply. `time_left` is how long the caller still waits; infinite if it has set no deadline.
  virtual void Start(absl::StatusOr<KnownCaller> caller, const std::string& stranger, const grpc::ByteBuffer& request,
                     absl::Duration time_left) = 0;

  // The caller has left. Called at any time, before Start or after the reply too, on any thread. Never blocks.
  virtual void Cancel() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_UNARY_HANDLER_H_
