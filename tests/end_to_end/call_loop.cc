// A C++ client that calls the gateway in loops until the gateway has ended.
//
//   call_loop ADDRESS /PACKAGE.SERVICE/METHOD CONNECTIONS CALLS_PER_CONNECTION
//
// Reads a message from standard input and sends it repeatedly, in CALLS_PER_CONNECTION concurrent loops on each
// connection. Prints a line "calling" when every connection has had a response. A loop ends with the first UNAVAILABLE
// without details, which the client's library creates. Finally prints how many calls ended with each name and reason,
// as lines of JSON: {"name", "reason", "count"}.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/synchronization/blocking_counter.h"
#include "base/threads/mutex.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace {

// Maps the name of a code and the reason in ErrorInfo to the number of calls that ended with them. Without an
// ErrorInfo, the reason is empty.
using Endings = std::map<std::pair<std::string, std::string>, int>;

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::ErrorInfo info;
  if (!rich.ParseFromString(status.error_details())) return "";
  for (const google::protobuf::Any& detail : rich.details()) {
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "";
}

grpc::Status Call(grpc::GenericStub& stub, const std::string& method, const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::ByteBuffer received;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  int connections = 0;
  int calls = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[3], &connections) || !absl::SimpleAtoi(argv[4], &calls)) {
    std::cerr << "usage: call_loop ADDRESS METHOD CONNECTIONS CALLS_PER_CONNECTION <MESSAGE\n";
    return 2;
  }
  const std::string method = argv[2];
  const std::string bytes(std::istreambuf_iterator<char>(std::cin), {});
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);

  stampgate::Mutex mutex;
  Endings endings;
  absl::BlockingCounter answered(connections * calls);
  std::vector<std::thread> threads;
  for (int i = 0; i < connections; ++i) {
    // Without this option, channels with the same target would share a connection.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto stub = std::make_shared<grpc::GenericStub>(
        grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments));
    for (int j = 0; j < calls; ++j) {
      threads.emplace_back([&, stub] {
        for (bool first = true;; first = false) {
          const grpc::Status status = Call(*stub, method, request);
          if (first) answered.DecrementCount();
          const std::string reason = ReasonOf(status);
          const auto name = absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code()));
          {
            const stampgate::MutexLock lock(mutex);
            ++endings[{name, reason}];
          }
          if (status.error_code() == grpc::StatusCode::UNAVAILABLE && reason.empty()) return;
        }
      });
    }
  }
  answered.Wait();
  std::cout << "calling" << std::endl;
  for (std::thread& thread : threads) thread.join();
  for (const auto& [ending, count] : endings) {
    std::cout << R"({"name":")" << ending.first << R"(","reason":")" << ending.second << R"(","count":)" << count
              << "}\n";
  }
  return 0;
}
