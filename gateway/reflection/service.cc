#include "gateway/reflection/service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <utility>

#include "gateway/reflection/reactor.h"

namespace stampgate {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::CallbackBidiHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// The full names of the methods, in the order of kReflectionServices.
constexpr const char* kMethods[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
};

// When a caller with too many streams may try again.
constexpr absl::Duration kRetryDelay = absl::Seconds(10);

// An idle stream is open for at most a tenth longer than the timeout.
constexpr int kLooksInTimeout = 10;

}  // namespace

ReflectionService::ReflectionService(Options options)
    : streams_(options.streams),
      quota_({.max = options.max_streams,
              .max_per_caller = options.max_streams_per_caller,
              .what = "reflection streams",
              .reason = v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
              .retry_delay = kRetryDelay}),
      environment_{.access = options.access,
                   .recorders = options.recorders,
                   .in_flight = options.in_flight,
                   .streams = streams_,
                   .quota = quota_,
                   .end_of_streams = options.end_of_streams,
                   .random = std::move(options.random)},
      expiry_("reflection", options.streams.idle_timeout / kLooksInTimeout, [this] { streams_.EndDue(); }) {
  int index = 0;
  for (const char* method : kMethods) {
    AddMethod(new RpcServiceMethod(method, RpcMethod::BIDI_STREAMING, /*handler=*/nullptr));
    MarkMethodRawCallback(
        index++, new CallbackBidiHandler<ByteBuffer, ByteBuffer>([this, method](CallbackServerContext* context) {
          return StartReflection(environment_, context, method);
        }));
  }
}

}  // namespace stampgate
