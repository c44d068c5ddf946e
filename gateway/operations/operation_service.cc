#include "gateway/operations/operation_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <map>
#include <utility>

#include "gateway/operations/operation_call.h"
#include "gateway/operations/unary_call.h"

namespace stampgate {

void OperationService::Add(const CallEnvironment& environment, const Operation& operation) {
  using grpc::internal::CallbackUnaryHandler;
  using grpc::internal::RpcMethod;
  using grpc::internal::RpcServiceMethod;
  const int index = method_count_++;
  AddMethod(new RpcServiceMethod(operation.full_name.c_str(), RpcMethod::NORMAL_RPC, /*handler=*/nullptr));
  MarkMethodRawCallback(
      index, new CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                 [&environment, &operation](grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
                   return StartUnaryCall(environment, operation.full_name, context, request, response,
                                         [&](const TraceContext& trace, UnaryHandler::Reply reply) {
                                           return std::make_shared<OperationCall>(environment, operation, trace,
                                                                                  std::move(reply));
                                         });
                 }));
}

std::vector<std::unique_ptr<OperationService>> MakeOperationServices(const CallEnvironment& environment) {
  std::vector<std::unique_ptr<OperationService>> services;
  std::map<const google::protobuf::ServiceDescriptor*, OperationService*> by_descriptor;
  for (const Operation& operation : environment.operations.operations()) {
    OperationService*& service = by_descriptor[operation.method->service()];
    if (service == nullptr) service = services.emplace_back(std::make_unique<OperationService>()).get();
    service->Add(environment, operation);
  }
  return services;
}

}  // namespace stampgate
