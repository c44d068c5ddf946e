#include "gateway/commands/gateway_client.h"

#include <google/protobuf/text_format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/secret/file.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(30);

absl::Status OfFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// Returns the content of a file, or nothing if the path is empty.
absl::StatusOr<std::string> Read(const std::string& path) {
  if (path.empty()) return "";
  absl::StatusOr<std::string> content = ReadPublicFile(path);
  if (!content.ok()) return OfFile(path, content.status());
  return content;
}

// Returns a copy of a secret in usual memory: gRPC holds such copies anyway, and the process ends soon.
absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  if (path.empty()) return "";
  const absl::StatusOr<SecretBytes> content = ReadSecretFile(path);
  if (!content.ok()) return OfFile(path, content.status());
  return std::string(content->text());
}

absl::Status ToError(const grpc::Status& status) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  return absl::Status(code, absl::StrCat(absl::StatusCodeToString(code), ": ", status.error_message()));
}

}  // namespace

absl::StatusOr<GatewayClient> GatewayClient::Create(const GatewayAddress& gateway) {
  if (gateway.ca.empty() && !(gateway.certificate.empty() && gateway.key.empty() && gateway.token.empty())) {
    return absl::InvalidArgumentError("--certificate, --key and --token need --ca");
  }
  if (gateway.certificate.empty() != gateway.key.empty()) {
    return absl::InvalidArgumentError("--certificate and --key need each other");
  }
  grpc::SslCredentialsOptions options;
  ABSL_ASSIGN_OR_RETURN(options.pem_root_certs, Read(gateway.ca));
  ABSL_ASSIGN_OR_RETURN(options.pem_cert_chain, Read(gateway.certificate));
  ABSL_ASSIGN_OR_RETURN(options.pem_private_key, ReadSecret(gateway.key));
  ABSL_ASSIGN_OR_RETURN(const std::string token, ReadSecret(gateway.token));
  const auto credentials = gateway.ca.empty() ? grpc::InsecureChannelCredentials() : grpc::SslCredentials(options);
  return GatewayClient(grpc::CreateChannel(gateway.address, credentials),
                       std::string(absl::StripAsciiWhitespace(token)));
}

absl::StatusOr<GatewayClient::Response> GatewayClient::Call(absl::string_view method, const std::string& request) {
  const std::string full_name = absl::StrCat("/stampgate.v1.", method);
  const ApiMethod& called = *OperationSet::BuiltIn()->FindMethod(full_name);
  const Response input(messages_->GetPrototype(called.method->input_type())->New());
  if (!google::protobuf::TextFormat::ParseFromString(request, input.get())) {
    return absl::InvalidArgumentError("an argument is not valid UTF-8");
  }
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
  if (!token_.empty()) context.AddMetadata("authorization", absl::StrCat("Bearer ", token_));
  const grpc::Slice slice(input->SerializeAsString());
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::CompletionQueue queue;
  const auto call = grpc::GenericStub(channel_).PrepareUnaryCall(&context, full_name, sent, &queue);
  call->StartCall();
  grpc::ByteBuffer received;
  grpc::Status status;
  call->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool is_ok = false;
  queue.Next(&tag, &is_ok);
  if (!status.ok()) return ToError(status);
  grpc::Slice bytes;
  Response response(messages_->GetPrototype(called.method->output_type())->New());
  if (!received.DumpToSingleSlice(&bytes).ok() || !response->ParseFromArray(bytes.begin(), bytes.size())) {
    return absl::InternalError("INTERNAL: the response is not of this API");
  }
  return response;
}

}  // namespace stampgate
