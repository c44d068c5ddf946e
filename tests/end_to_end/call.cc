// A C++ client of the gateway: reads a message from standard input, sends it to a unary method, and prints the status
// of the call as lines of JSON. Tests use this client to check how gRPC's C++ library reports the gateway's responses.
//
//   call ADDRESS /PACKAGE.SERVICE/METHOD DEADLINE_MS [METADATA_NAME VALUE]...
//
// The first line is the status, as {"code", "message"}. After an error, the second line is {"bytes"}, the size of
// grpc-status-details-bin, and the third line is the google.rpc.Status in grpc-status-details-bin. Exits with 0 for
// every status.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace {

void Print(const google::protobuf::Message& message) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json).ok()) json = "\"unreadable\"";
  std::cout << json << "\n";
}

using Metadata = std::vector<std::pair<std::string, std::string>>;

grpc::Status Call(const std::string& address, const std::string& method, const std::string& request, int deadline_ms,
                  const Metadata& metadata) {
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  // Connects before the call, so that connecting takes no time of the deadline.
  channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10));
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  const grpc::Slice slice(request);
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::ByteBuffer received;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, method, sent, &queue);
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
  int deadline_ms = 0;
  if (argc < 4 || argc % 2 != 0 || !absl::SimpleAtoi(argv[3], &deadline_ms)) {
    std::cerr << "usage: call ADDRESS METHOD DEADLINE_MS [METADATA_NAME VALUE]... <MESSAGE\n";
    return 2;
  }
  // Refers to a message of the error details, so that the program links all of these messages. The JSON printer finds
  // them by their names.
  static_cast<void>(google::rpc::BadRequest::descriptor());

  const std::string request(std::istreambuf_iterator<char>(std::cin), {});
  Metadata metadata;
  for (int i = 4; i < argc; i += 2) metadata.emplace_back(argv[i], argv[i + 1]);
  const grpc::Status status = Call(argv[1], argv[2], request, deadline_ms, metadata);
  google::rpc::Status line;
  line.set_code(status.error_code());
  line.set_message(status.error_message());
  Print(line);
  if (status.ok()) return 0;
  const std::string details = status.error_details();
  std::cout << "{\"bytes\":" << details.size() << "}\n";
  google::rpc::Status rich;
  if (rich.ParseFromString(details)) Print(rich);
  return 0;
}
