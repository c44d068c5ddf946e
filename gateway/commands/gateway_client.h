// A client of a running gateway, for the commands that ask one.
#ifndef STAMPGATE_GATEWAY_COMMANDS_GATEWAY_CLIENT_H_
#define STAMPGATE_GATEWAY_COMMANDS_GATEWAY_CLIENT_H_

#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Where a gateway is, and as which caller the client calls it.
struct GatewayAddress {
  std::string address = {};      // host:port
  std::string ca = {};           // the file with the certificate of the gateway's CA; if empty, the client uses no TLS
  std::string certificate = {};  // the file of the caller's certificate, or empty
  std::string key = {};          // the file of its private key; needed with `certificate`
  std::string token = {};        // the file of the caller's bearer token, or empty
};

// Thread-compatible.
class GatewayClient {
 public:
  using Response = std::unique_ptr<google::protobuf::Message>;

  // Reads the files. Connects with the first call. Errors: kInvalidArgument if the options do not fit together; those
  // of ReadPublicFile and ReadSecretFile, with the path.
  static absl::StatusOr<GatewayClient> Create(const GatewayAddress& gateway);

  // Calls a unary method of the program's own API, such as "SubscriptionService/Seek", and waits for the response.
  // `request` is the request in the text format of Protocol Buffers. Errors: that of the call, and kUnavailable if the
  // gateway does not respond within 30 s; their messages begin with the name of the code.
  absl::StatusOr<Response> Call(absl::string_view method, const std::string& request);

 private:
  GatewayClient(std::shared_ptr<grpc::Channel> channel, std::string token)
      : channel_(std::move(channel)), token_(std::move(token)) {}

  std::shared_ptr<grpc::Channel> channel_;
  std::string token_;
  // Behind a pointer, so that the client can be moved. Must outlive the responses.
  std::unique_ptr<google::protobuf::DynamicMessageFactory> messages_ =
      std::make_unique<google::protobuf::DynamicMessageFactory>();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_COMMANDS_GATEWAY_CLIENT_H_
