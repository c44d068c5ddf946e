// Connects calls that respond with a stream of messages with gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_
#define STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/stream_call.h"

namespace stampgate {

// Makes a call, which sends its messages to `output`.
using MakeStreamCall = absl::FunctionRef<std::shared_ptr<StreamCall>(CallIdentity identity, const TraceContext& trace,
                                                                     StreamCall::Output& output)>;

// Starts the call of `method` that `make` makes, and returns its reactor, which deletes itself. If CallsInFlight::Begin
// refuses the call with `why`, the call ends with `refusal(why)`. Does not block.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartStream(
    const EventEnvironment& environment, grpc::CallbackServerContext& context, const grpc::ByteBuffer& request,
    const char* method, MakeStreamCall make,
    absl::FunctionRef<absl::Status(const absl::Status& why)> refusal = [](const absl::Status& why) { return why; });

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_
