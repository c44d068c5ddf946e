// A gRPC callback server that reads a message and returns another, without other work. Its CPU for a call is the gRPC
// part of the minimum cost of a call to the gateway. It registers its methods and configures its connections like the
// gateway.
//
//   echo_server /package.Service/Method=BYTES...    makes each method respond with BYTES bytes

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdio>
#include <list>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace stampgate::bench {
namespace {

class EchoService : public grpc::Service {
 public:
  // Adds the method that `argument` describes. Returns false if it is not METHOD=BYTES.
  bool Add(absl::string_view argument) {
    using grpc::internal::CallbackUnaryHandler;
    using grpc::internal::RpcMethod;
    using grpc::internal::RpcServiceMethod;
    const size_t equals = argument.find('=');
    size_t bytes = 0;
    if (equals == absl::string_view::npos || !absl::SimpleAtoi(argument.substr(equals + 1), &bytes)) return false;
    const Answer& answer =
        answers_.emplace_back(Answer{std::string(argument.substr(0, equals)), grpc::Slice(std::string(bytes, 'x'))});
    AddMethod(new RpcServiceMethod(answer.method.c_str(), RpcMethod::NORMAL_RPC, /*handler=*/nullptr));
    MarkMethodRawCallback(
        static_cast<int>(answers_.size()) - 1,
        new CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
            [&answer](grpc::CallbackServerContext* context, const grpc::ByteBuffer*, grpc::ByteBuffer* response) {
              *response = grpc::ByteBuffer(&answer.slice, 1);
              grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
              reactor->Finish(grpc::Status::OK);
              return reactor;
            }));
    return true;
  }

 private:
  struct Answer {
    std::string method;
    grpc::Slice slice;
  };

  std::list<Answer> answers_;  // a list, because gRPC keeps pointers to the elements
};

int Main(int argc, char** argv) {
  EchoService service;
  for (int i = 1; i < argc; ++i) {
    if (!service.Add(argv[i])) {
      std::fprintf(stderr, "echo_server: not METHOD=BYTES: %s\n", argv[i]);
      return 2;
    }
  }
  // The settings of gateway/server/grpc_port_options.cc that affect the CPU of a call.
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(8 << 20);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) { return stampgate::bench::Main(argc, argv); }
