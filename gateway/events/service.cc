#include "gateway/events/service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include "gateway/events/method.h"
#include "gateway/events/query_reactor.h"
#include "gateway/events/stream_reactor.h"

namespace stampgate {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::CallbackServerStreamingHandler;
using grpc::internal::CallbackUnaryHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// The indexes of the methods, in the order of the proto.
enum Method { kSubscribeIndex, kListEventsIndex, kGetEventIndex, kReadEventBodyIndex };

}  // namespace

EventService::EventService(const std::atomic<const EventEnvironment*>& current) {
  using Unary = CallbackUnaryHandler<ByteBuffer, ByteBuffer>;
  using Streaming = CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>;
  const auto add = [this](const char* name, RpcMethod::RpcType type) {
    AddMethod(new RpcServiceMethod(name, type, /*handler=*/nullptr));
  };
  add(kSubscribe, RpcMethod::SERVER_STREAMING);
  add(kListEvents, RpcMethod::NORMAL_RPC);
  add(kGetEvent, RpcMethod::NORMAL_RPC);
  add(kReadEventBody, RpcMethod::SERVER_STREAMING);
  MarkMethodRawCallback(kSubscribeIndex,
                        new Streaming([&current](CallbackServerContext* context, const ByteBuffer* request) {
                          return StartSubscription(*current, context, request);
                        }));
  MarkMethodRawCallback(kListEventsIndex, new Unary([&current](CallbackServerContext* context,
                                                               const ByteBuffer* request, ByteBuffer* response) {
                          return StartListEvents(*current, context, request, response);
                        }));
  MarkMethodRawCallback(kGetEventIndex, new Unary([&current](CallbackServerContext* context, const ByteBuffer* request,
                                                             ByteBuffer* response) {
                          return StartGetEvent(*current, context, request, response);
                        }));
  MarkMethodRawCallback(kReadEventBodyIndex,
                        new Streaming([&current](CallbackServerContext* context, const ByteBuffer* request) {
                          return StartBodyRead(*current, context, request);
                        }));
}

}  // namespace stampgate
