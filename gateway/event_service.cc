#include "gateway/event_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include "gateway/event_body_call.h"
#include "gateway/event_call.h"
#include "gateway/subscription.h"

namespace stampgate {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::CallbackServerStreamingHandler;
using grpc::internal::CallbackUnaryHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// In the order of the proto.
enum Method { kSubscribe, kListEvents, kGetEvent, kReadEventBody };

}  // namespace

EventService::EventService(const EventEnvironment& environment) {
  using Unary = CallbackUnaryHandler<ByteBuffer, ByteBuffer>;
  using Streaming = CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>;
  const auto add = [this](const char* name, RpcMethod::RpcType type) {
    AddMethod(new RpcServiceMethod(name, type, /*handler=*/nullptr));
  };
  add("/stampgate.v1.EventService/Subscribe", RpcMethod::SERVER_STREAMING);
  add("/stampgate.v1.EventService/ListEvents", RpcMethod::NORMAL_RPC);
  add("/stampgate.v1.EventService/GetEvent", RpcMethod::NORMAL_RPC);
  add("/stampgate.v1.EventService/ReadEventBody", RpcMethod::SERVER_STREAMING);
  MarkMethodRawCallback(kSubscribe, new Streaming([&](CallbackServerContext*, const ByteBuffer* request) {
                          return StartSubscription(environment, request);
                        }));
  MarkMethodRawCallback(kListEvents,
                        new Unary([&](CallbackServerContext*, const ByteBuffer* request, ByteBuffer* response) {
                          return StartListEvents(environment, request, response);
                        }));
  MarkMethodRawCallback(kGetEvent,
                        new Unary([&](CallbackServerContext*, const ByteBuffer* request, ByteBuffer* response) {
                          return StartGetEvent(environment, request, response);
                        }));
  MarkMethodRawCallback(kReadEventBody, new Streaming([&](CallbackServerContext*, const ByteBuffer* request) {
                          return StartEventBodyCall(environment, request);
                        }));
}

}  // namespace stampgate
