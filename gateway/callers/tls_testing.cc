#include "gateway/callers/tls_testing.h"

#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace stampgate {
namespace {

constexpr int kHangSeconds = 60;
constexpr size_t kFrameHeaderBytes = 9;
constexpr char kSettingsFrame = 4;

void Must(bool done) {
  if (!done) std::abort();
}

class TellPeer : public grpc::ServerGenericBidiReactor {
 public:
  explicit TellPeer(const std::string& peer) {
    const grpc::Slice slice(peer);
    answer_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer answer_;
};

std::string TextOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.Valid() || !buffer.DumpToSingleSlice(&slice).ok()) return "";
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

void Use(SSL_CTX* context, const TestIdentity& identity) {
  BIO* certificate_bio = BIO_new_mem_buf(identity.certificate.data(), static_cast<int>(identity.certificate.size()));
  BIO* key_bio = BIO_new_mem_buf(identity.key.data(), static_cast<int>(identity.key.size()));
  X509* certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  Must(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1);
  EVP_PKEY_free(key);
  X509_free(certificate);
  BIO_free(key_bio);
  BIO_free(certificate_bio);
}

}  // namespace

grpc::ServerGenericBidiReactor* PeerServer::Service::CreateReactor(grpc::GenericCallbackServerContext* context) {
  ++calls;
  return new TellPeer(Describe(PeerOf(*context)));
}

PeerServer::PeerServer(std::shared_ptr<grpc::ServerCredentials> credentials, const std::string& host) {
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(host + ":0", std::move(credentials), &port_);
  builder.RegisterCallbackGenericService(&service_);
  server_ = builder.BuildAndStart();
  Must(server_ != nullptr && port_ > 0);
}

PeerServer::~PeerServer() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string Describe(const Peer& peer) {
  if (peer.plaintext_loopback) return "loopback";
  if (!peer.spiffe_id.empty()) return absl::StrCat("spiffe ", peer.spiffe_id);
  if (!peer.dns_names.empty()) return absl::StrCat("dns ", absl::StrJoin(peer.dns_names, ","));
  return "stranger";
}

PeerClient::PeerClient(int port, const std::string& authorities, const std::optional<TestIdentity>& identity) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authorities;
  if (identity) {
    options.pem_cert_chain = identity->certificate;
    options.pem_private_key = identity->key;
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(absl::StrCat("ipv4:127.0.0.1:", port), grpc::SslCredentials(options), arguments);
}

PeerClient::PeerClient(const std::string& target)
    : channel_(grpc::CreateChannel(target, grpc::InsecureChannelCredentials())) {}

PeerClient::Answer PeerClient::Call() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kHangSeconds));
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> status;
  grpc::GenericStub stub(channel_);
  stub.UnaryCall(&context, "/test/WhoAmI", {}, &request, &response,
                 [&](grpc::Status result) { status.set_value(std::move(result)); });
  Answer answer{status.get_future().get(), ""};
  answer.peer = TextOf(response);
  return answer;
}

int ConnectTcp(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = kHangSeconds, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Must(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  return fd;
}

RawTlsClient::RawTlsClient(int port, const std::optional<TestIdentity>& identity, const Options& options)
    : context_(SSL_CTX_new(TLS_client_method())), socket_(ConnectTcp(port)) {
  std::signal(SIGPIPE, SIG_IGN);            // OpenSSL writes even to sockets that the peer has closed
  SSL_CTX_set_security_level(context_, 0);  // with a higher level, the client itself would refuse TLS 1.1
  SSL_CTX_set_min_proto_version(context_, options.min_version);
  SSL_CTX_set_max_proto_version(context_, options.max_version);
  if (identity) Use(context_, *identity);
  ssl_ = SSL_new(context_);
  if (!options.protocols.empty()) {
    std::string offer;
    for (const absl::string_view protocol : absl::StrSplit(options.protocols, ',')) {
      absl::StrAppend(&offer, std::string(1, static_cast<char>(protocol.size())), protocol);
    }
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned int>(offer.size()));
  }
  if (options.session != nullptr) SSL_set_session(ssl_, options.session);
  SSL_set_fd(ssl_, socket_);
  handshaken_ = SSL_connect(ssl_) == 1;
  ERR_clear_error();
}

RawTlsClient::~RawTlsClient() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
  close(socket_);
}

bool RawTlsClient::HearsHttp2() {
  std::string frame;
  while (handshaken_ && frame.size() < kFrameHeaderBytes) {
    char bytes[kFrameHeaderBytes];
    const int got = SSL_read(ssl_, bytes, static_cast<int>(kFrameHeaderBytes - frame.size()));
    if (got <= 0) break;
    frame.append(bytes, static_cast<size_t>(got));
  }
  ERR_clear_error();
  return frame.size() == kFrameHeaderBytes && frame[3] == kSettingsFrame;
}

bool RawTlsClient::Send(absl::string_view bytes) {
  const bool sent = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  ERR_clear_error();
  return sent;
}

std::string RawTlsClient::server_serial() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_);
  return certificate == nullptr ? "" : SerialOf(certificate);
}

std::string RawTlsClient::protocol() const {
  const unsigned char* chosen;
  unsigned int size;
  SSL_get0_alpn_selected(ssl_, &chosen, &size);
  return std::string(reinterpret_cast<const char*>(chosen), size);
}

}  // namespace stampgate
