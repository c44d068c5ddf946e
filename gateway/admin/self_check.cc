#include "gateway/admin/self_check.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gateway/tls/handshake_failures.h"
#include "stamp/secret/openssl_ptr.h"
#include "webhooks/http/listen_address.h"

namespace stampgate {
namespace {

using Clock = std::chrono::steady_clock;
using SslCtxPtr = std::unique_ptr<SSL_CTX, OpensslDeleter<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslDeleter<SSL_free>>;

absl::Status Failed(absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("the gRPC port does not respond: ", why));
}

bool IsV6(const ListenAddress& address) { return address.ip.find(':') != std::string::npos; }

// Returns the address at which this process can reach a server that listens at `text`.
absl::StatusOr<ListenAddress> ParseReachable(const std::string& text) {
  absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
  if (!address.ok()) return address;
  if (!IsV6(*address)) {
    if (address->ip == "0.0.0.0") address->ip = "127.0.0.1";
    return address;
  }
  in6_addr v6{};
  inet_pton(AF_INET6, address->ip.c_str(), &v6);
  if (IN6_IS_ADDR_UNSPECIFIED(&v6)) address->ip = "::1";
  return address;
}

// Begins to connect. Returns the socket, or -1 after an error.
int Connect(const ListenAddress& address) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (IsV6(address)) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.ip.c_str(), &v6->sin6_addr);
    size = sizeof(*v6);
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    inet_pton(AF_INET, address.ip.c_str(), &v4->sin_addr);
    size = sizeof(*v4);
  }
  const int socket = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  if (connect(socket, reinterpret_cast<const sockaddr*>(&storage), size) == 0 || errno == EINPROGRESS) return socket;
  close(socket);
  return -1;
}

bool WaitFor(int socket, int16_t events, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd wanted{socket, events, 0};
  return left > 0 && poll(&wanted, 1, static_cast<int>(left)) == 1;
}

}  // namespace

absl::Status CheckPlaintextPort(const std::string& address, absl::Duration timeout) {
  const absl::StatusOr<ListenAddress> server = ParseReachable(address);
  if (!server.ok()) return server.status();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // opens a new connection
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const std::string target = IsV6(*server) ? absl::StrCat("ipv6:[", server->ip, "]:", server->port)
                                           : absl::StrCat("ipv4:", server->ip, ":", server->port);
  grpc::GenericStub stub(grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  // An empty message asks for the health of the whole server.
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status.ok() ? absl::OkStatus()
                     : Failed(absl::StrCat("its health check ended with code ", status.error_code()));
}

absl::Status CheckTlsPort(const std::string& address, absl::Duration timeout) {
  const absl::StatusOr<ListenAddress> server = ParseReachable(address);
  if (!server.ok()) return server.status();
  const Clock::time_point deadline = Clock::now() + absl::ToChronoMilliseconds(timeout);
  const int socket = Connect(*server);
  if (socket < 0) return Failed("no connection");
  const absl::Cleanup end = [socket] { close(socket); };

  ERR_clear_error();
  const SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Failed("no memory");
  // The check sends no secret, so the server's certificate need not be verified.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  // OpenSSL calls this function when the server has requested a client certificate. The result -1 stops the handshake.
  SSL_CTX_set_client_cert_cb(context.get(), [](SSL*, X509**, EVP_PKEY**) { return -1; });
  const SslPtr ssl(SSL_new(context.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket) != 1) return Failed("no memory");
  if (!WaitFor(socket, POLLOUT, deadline)) return Failed("no connection in time");
  const absl::Cleanup disregard = [&ssl] { DisregardHandshake(*ssl); };  // before the connection is closed
  for (;;) {
    const int result = SSL_connect(ssl.get());
    if (result == 1) return Failed("it accepts callers without a certificate");
    switch (SSL_get_error(ssl.get(), result)) {
      case SSL_ERROR_WANT_X509_LOOKUP:
        return absl::OkStatus();
      case SSL_ERROR_WANT_READ:
        if (!WaitFor(socket, POLLIN, deadline)) return Failed("no TLS handshake in time");
        break;
      case SSL_ERROR_WANT_WRITE:
        if (!WaitFor(socket, POLLOUT, deadline)) return Failed("no TLS handshake in time");
        break;
      default:
        ERR_clear_error();
        return Failed("the TLS handshake failed");
    }
  }
}

}  // namespace stampgate
