#include "gateway/events/service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/body_read.h"
#include "gateway/events/identity.h"
#include "gateway/events/method.h"
#include "gateway/events/query.h"
#include "gateway/events/query_reactor.h"
#include "gateway/events/response.h"
#include "gateway/events/stream_call.h"
#include "gateway/events/stream_reactor.h"
#include "gateway/events/subscription.h"

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
  const auto query = [&current](const char* method, decltype(ListEvents)& handle) {
    return new Unary(
        [&current, method, &handle](CallbackServerContext* context, const ByteBuffer* request, ByteBuffer* response) {
          const EventEnvironment& environment = *current;
          return StartQuery(environment, *context, method, response,
                            [&](CallIdentity identity, const TraceContext& trace, OnEventResponse on_response) {
                              handle(environment, std::move(identity), trace, *request, std::move(on_response));
                            });
        });
  };
  MarkMethodRawCallback(kSubscribeIndex,
                        new Streaming([&current](CallbackServerContext* context, const ByteBuffer* request) {
                          const EventEnvironment& environment = *current;
                          return StartStream(
                              environment, *context, *request, kSubscribe,
                              [&](CallIdentity identity, const TraceContext& trace, StreamCall::Output& output) {
                                return std::make_shared<Subscription>(environment, std::move(identity), trace, output);
                              },
                              [&](const absl::Status& why) { return SubscriptionRefusal(environment, *request, why); });
                        }));
  MarkMethodRawCallback(kListEventsIndex, query(kListEvents, ListEvents));
  MarkMethodRawCallback(kGetEventIndex, query(kGetEvent, GetEvent));
  MarkMethodRawCallback(
      kReadEventBodyIndex, new Streaming([&current](CallbackServerContext* context, const ByteBuffer* request) {
        const EventEnvironment& environment = *current;
        return StartStream(environment, *context, *request, kReadEventBody,
                           [&](CallIdentity identity, const TraceContext& trace, StreamCall::Output& output) {
                             return std::make_shared<EventBodyRead>(environment, std::move(identity), trace, output);
                           });
      }));
}

}  // namespace stampgate
