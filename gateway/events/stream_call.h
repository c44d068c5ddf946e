// A call that responds with a stream of messages. Does not depend on gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_
#define STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace stampgate {

// At any time, only one step is in progress: the authorization of the caller, a read of the log, or a message to the
// caller. The call queues nothing, so a caller that reads slowly occupies the memory of one message.
class StreamCall {
 public:
  // Sends the messages of a call to the caller. The output must exist until End is called. The call does not use it
  // after End.
  class Output {
   public:
    virtual ~Output() = default;

    // Sends a message. When the message has been sent, the output calls OnSent, on another thread or after Send has
    // returned. Until then, the call does not call Send again.
    virtual void Send(const grpc::ByteBuffer& message) = 0;

    // Ends the call. The call runs End exactly once, when no other step is in progress. End can destroy this object and
    // the call.
    virtual void End(const absl::Status& status) = 0;
  };

  virtual ~StreamCall() = default;

  // Starts the call. Must be called once. `request` must stay valid until End is called.
  virtual void Start(const grpc::ByteBuffer& request) = 0;

  // Reports that the message of the last Send has been sent or, if `ok` is false, that the caller has left.
  virtual void OnSent(bool ok) = 0;

  // Reports that the caller has left. May be called on any thread, at any time after Start has been called. If the call
  // waits for events, Cancel ends the wait immediately. For each message that the call sends after Cancel, the output
  // must still call OnSent(false).
  virtual void Cancel() = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_STREAM_CALL_H_
