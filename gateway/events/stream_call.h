// A call that responds with a stream of messages, without gRPC.
#ifndef STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_
#define STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace stampgate {

// One operation is in progress at any time: the caller's authorization, a read of the log, or a message to the caller.
// Nothing is queued, so a caller that reads slowly costs one message.
class StreamCall {
 public:
  // The caller's end. It must outlive End, and the call does not use it afterwards.
  class Output {
   public:
    virtual ~Output() = default;

    // Sends a message; OnSent follows, on another thread or after this has returned. Not called before the OnSent of
    // the message before.
    virtual void Send(const grpc::ByteBuffer& message) = 0;

    // Ends the call. Called exactly once, when no other operation is in progress. It may destroy this and the call.
    virtual void End(const absl::Status& status) = 0;
  };

  virtual ~StreamCall() = default;

  // Called once. `request` must stay until the end.
  virtual void Start(const grpc::ByteBuffer& request) = 0;

  // The message of the last Send has been sent or, if not `ok`, the caller has gone.
  virtual void OnSent(bool ok) = 0;

  // The caller has gone. Called on any thread, at any time after Start has been called. It ends a wait at once.
  // Messages that are sent from then on must end with OnSent(false).
  virtual void Cancel() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_
