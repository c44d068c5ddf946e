#include "gateway/subscriptions/calls/service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <memory>
#include <utility>

#include "gateway/calls/trace_context.h"
#include "gateway/events/identity.h"
#include "gateway/events/query_reactor.h"
#include "gateway/events/response.h"
#include "gateway/events/stream_call.h"
#include "gateway/events/stream_reactor.h"
#include "gateway/subscriptions/calls/consume_call.h"
#include "gateway/subscriptions/calls/method.h"
#include "gateway/subscriptions/calls/parked_calls.h"
#include "gateway/subscriptions/calls/settle_call.h"
#include "gateway/subscriptions/calls/state_calls.h"

namespace stampgate {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::CallbackServerStreamingHandler;
using grpc::internal::CallbackUnaryHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

}  // namespace

SubscriptionService::SubscriptionService(const std::atomic<const SubscriptionEnvironment*>& current) {
  int index = 0;
  const auto add = [this, &index](const char* method, RpcMethod::RpcType type, grpc::internal::MethodHandler* handler) {
    AddMethod(new RpcServiceMethod(method, type, /*handler=*/nullptr));
    MarkMethodRawCallback(index++, handler);
  };
  const auto add_query = [&](const char* method, decltype(Settle)& handle) {
    add(method, RpcMethod::NORMAL_RPC,
        new CallbackUnaryHandler<ByteBuffer, ByteBuffer>([&current, method, &handle](CallbackServerContext* context,
                                                                                     const ByteBuffer* request,
                                                                                     ByteBuffer* response) {
          const SubscriptionEnvironment& environment = *current;
          return StartQuery(environment.events, *context, method, response,
                            [&](CallIdentity identity, const TraceContext& trace, OnEventResponse on_response) {
                              handle(environment, std::move(identity), trace, *request, std::move(on_response));
                            });
        }));
  };
  // In the order of the proto.
  add(kConsume, RpcMethod::SERVER_STREAMING,
      new CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
          [&current](CallbackServerContext* context, const ByteBuffer* request) {
            const SubscriptionEnvironment& environment = *current;
            return StartStream(environment.events, *context, *request, kConsume,
                               [&](CallIdentity identity, const TraceContext& trace, StreamCall::Output& output) {
                                 return std::make_shared<ConsumeCall>(environment, std::move(identity), trace, output);
                               });
          }));
  add_query(kSettle, Settle);
  add_query(kGetSubscription, GetSubscription);
  add_query(kListSubscriptions, ListSubscriptions);
  add_query(kListParked, ListParked);
  add_query(kRetryParked, RetryParked);
  add_query(kSkipParked, SkipParked);
  add_query(kSeek, SeekSubscription);
  add_query(kDeleteSubscription, DeleteSubscription);
}

}  // namespace stampgate
