// Connects the streams of server reflection with gRPC's server.
#ifndef STAMPGATE_GATEWAY_REFLECTION_REACTOR_H_
#define STAMPGATE_GATEWAY_REFLECTION_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>

#include "gateway/reflection/environment.h"

namespace stampgate {

// The longest request, in bytes. A question consists of names, which are much shorter.
inline constexpr size_t kMaxReflectionRequestBytes = 4096;

// Starts a stream and returns its reactor, which deletes itself. Does not block. `method` is the full name of the
// method, and must stay valid.
//
// The stream answers one request after the other: it reads the next request when gRPC has accepted the last response.
// When the caller ends its side or the stream is idle, the stream ends with OK. Errors: those of Authenticate and of
// OpenStreams::Open; RESOURCE_EXHAUSTED if too many streams of the caller or of all callers are open, or too many calls
// of the caller are in flight; INVALID_ARGUMENT (INVALID_REQUEST) if a request is too long or is not a message;
// UNAVAILABLE (SHUTTING_DOWN).
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartReflection(const ReflectionEnvironment& environment,
                                                                             grpc::CallbackServerContext* context,
                                                                             const char* method);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_REACTOR_H_
