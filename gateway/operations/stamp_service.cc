#include "gateway/operations/stamp_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <memory>
#include <utility>

#include "gateway/operations/prepare_call.h"
#include "gateway/operations/unary_call.h"

namespace stampgate {

StampService::StampService(const CallEnvironment& environment) {
  using grpc::internal::CallbackUnaryHandler;
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  AddMethod(new RpcServiceMethod(kPrepare, RpcMethod::NORMAL_RPC, /*handler=*/nullptr));
  MarkMethodRawCallback(0, new CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                               [&environment](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
                                 return StartUnaryCall(environment, kPrepare, context, request, response,
                                                       [&](const TraceContext& trace, UnaryHandler::Reply reply) {
                                                         return std::make_shared<PrepareCall>(environment, trace,
                                                                                              std::move(reply));
                                                       });
                               }));
}

}  // namespace stampgate
