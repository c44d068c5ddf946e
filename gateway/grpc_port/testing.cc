#include "gateway/grpc_port/testing.h"

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
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gateway/callers/peer_of_call.h"

namespace stampgate {
namespace {

constexpr int kHangSeconds = 60;
constexpr size_t kFrameHeaderBytes = 9;
constexpr char kSettingsFrame = 4;
constexpr unsigned char kGoAwayFrame = 7;

void Must(bool done) {
  if (!done) std::abort();
}

// OpenSSL writes even to sockets that the peer has closed.
void IgnoreSigpipe() { std::signal(SIGPIPE, SIG_IGN); }

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

class HoldCall : public grpc::ServerGenericBidiReactor {
 public:
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
};

class CancelCall : public grpc::ServerGenericBidiReactor {
 public:
  CancelCall(const grpc::GenericCallbackServerContext& context, std::promise<std::string>& peer)
      : context_(context), peer_(peer) {
    context.TryCancel();
  }
  void OnCancel() override {
    peer_.set_value(Describe(PeerOf(context_)));
    Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  const grpc::GenericCallbackServerContext& context_;
  std::promise<std::string>& peer_;
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
  if (context->method() == kHeldMethod) return new HoldCall;
  if (context->method() == kCancelledMethod) return new CancelCall(*context, cancelled_peer);
  return new TellPeer(Describe(PeerOf(*context)));
}

std::string Http2Call(absl::string_view path, uint32_t stream) {
  const auto text = [](absl::string_view value) {
    return absl::StrCat(std::string(1, static_cast<char>(value.size())), value);
  };
  // ":method: POST", ":scheme: https", and literals with the indices of :path, :authority, content-type and no name.
  const std::string fields = absl::StrCat("\x83\x87\x04", text(path), "\x01", text("test"), "\x0f\x10",
                                          text("application/grpc"), std::string(1, '\0'), text("te"), text("trailers"));
  std::string frame = Http2Frame(fields.size(), 1, 4, stream);
  frame.replace(frame.size() - fields.size(), fields.size(), fields);
  return frame;
}

PeerServer::PeerServer(GrpcPort::Options options) {
  IgnoreSigpipe();
  if (options.address.empty()) options.address = "127.0.0.1:0";
  if (!options.is_caller) options.is_caller = [](const Peer&) { return true; };
  grpc::ServerBuilder builder;
  absl::StatusOr<std::unique_ptr<GrpcPort>> port = GrpcPort::Create(options, loops_, builder);
  Must(port.ok());
  grpc_port_ = *std::move(port);
  Must(absl::SimpleAtoi(grpc_port_->address().substr(grpc_port_->address().rfind(':') + 1), &port_));
  builder.RegisterCallbackGenericService(&service_);
  server_ = builder.BuildAndStart();
  Must(server_ != nullptr);
  grpc_port_->Open();
}

PeerServer::~PeerServer() {
  grpc_port_->StopListening();
  server_->Shutdown(std::chrono::system_clock::now());
  server_ = nullptr;
}

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

PeerClient::Answer PeerClient::Call(const std::string& method) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kHangSeconds));
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> status;
  grpc::GenericStub stub(channel_);
  stub.UnaryCall(&context, method, {}, &request, &response,
                 [&](grpc::Status result) { status.set_value(std::move(result)); });
  Answer answer{status.get_future().get(), ""};
  answer.peer = TextOf(response);
  return answer;
}

std::string Http2Frame(size_t size, char type, char flags, uint32_t stream) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(size >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + std::string(size, '\x82');
}

std::string Http2LongHeaders(size_t size, char flags, uint32_t stream) {
  constexpr char kHeaders = 1;
  // A field that is not added to the table, with the name "x" and a value of 2,097,278 bytes.
  const std::string field = "\x10\x01x\x7f\xff\xff\x7f";
  return Http2Frame(size, kHeaders, flags, stream).replace(kFrameHeaderBytes, field.size(), field);
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
  IgnoreSigpipe();
  SSL_CTX_set_security_level(context_, 0);  // with a higher level, the client itself would refuse TLS 1.1
  SSL_CTX_set_min_proto_version(context_, options.min_version);
  SSL_CTX_set_max_proto_version(context_, options.max_version);
  if (!options.groups.empty()) Must(SSL_CTX_set1_groups_list(context_, options.groups.c_str()) == 1);
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
  std::string& frame = received_;
  while (handshaken_ && frame.size() < kFrameHeaderBytes) {
    char bytes[kFrameHeaderBytes];
    const int got = SSL_read(ssl_, bytes, static_cast<int>(kFrameHeaderBytes - frame.size()));
    if (got <= 0) break;
    frame.append(bytes, static_cast<size_t>(got));
  }
  ERR_clear_error();
  return frame.size() == kFrameHeaderBytes && frame[3] == kSettingsFrame;
}

std::string RawTlsClient::ReadGoAway() {
  std::string all = std::move(received_);
  char bytes[4096];
  for (int got = 0; (got = SSL_read(ssl_, bytes, sizeof(bytes))) > 0;) all.append(bytes, static_cast<size_t>(got));
  ERR_clear_error();
  std::string text;
  for (size_t at = 0; at + kFrameHeaderBytes <= all.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(all[at + i]); };
    const size_t size = size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2);
    const std::string payload = all.substr(at + kFrameHeaderBytes, size);
    if (byte(3) == kGoAwayFrame && payload.size() >= 8) {
      text = absl::StrCat(static_cast<int>(payload[7]), " ", payload.substr(8));
    }
    at += kFrameHeaderBytes + size;
  }
  return text;
}

bool RawTlsClient::Send(absl::string_view bytes) {
  const bool sent = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  ERR_clear_error();
  return sent;
}

void RawTlsClient::EndWrites() {
  SSL_shutdown(ssl_);
  shutdown(socket_, SHUT_WR);
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
