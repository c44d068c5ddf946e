// A small gRPC program, with which `install --check` finds out whether the compiler and the libraries of a package root
// fit each other. Makes one call over loopback to a server of its own; exits with 0 if the response is right.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/proto_utils.h"

namespace {

using google::protobuf::Timestamp;
using Stub = grpc::TemplatedGenericStub<Timestamp, Timestamp>;

// Answers each call with the bytes of its request.
class EchoReactor : public grpc::ServerGenericBidiReactor {
 public:
  EchoReactor() { StartRead(&bytes_); }
  void OnReadDone(bool ok) override {
    if (ok) {
      StartWriteAndFinish(&bytes_, {}, grpc::Status::OK);
    } else {
      Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the call has no message"));
    }
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer bytes_;
};

class EchoService : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new EchoReactor;
  }
};

}  // namespace

int main() {
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;

  const std::string address = absl::StrCat("127.0.0.1:", port);
  Stub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  Timestamp request, response;
  request.set_seconds(1'700'000'000);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/probe/Echo", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag;
  bool ok;
  if (!queue.Next(&tag, &ok) || !ok || !status.ok() || response.seconds() != request.seconds()) {
    std::fprintf(stderr, "the call fails: %d %s\n", status.error_code(), status.error_message().c_str());
    return 1;
  }
  return 0;
}
