#include "gateway/upstream/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

std::string TakeText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, size);
  BIO_free(bio);
  return text;
}

size_t BodySize(absl::string_view head) {
  const std::string lower = absl::AsciiStrToLower(head);
  const size_t at = lower.find("\r\ncontent-length:");
  if (at == std::string::npos) return 0;
  const size_t begin = at + 17;
  size_t size = 0;
  if (!absl::SimpleAtoi(lower.substr(begin, lower.find("\r\n", begin) - begin), &size)) std::abort();
  return size;
}

}  // namespace

TestCertificate MakeCertificate(const std::string& host, bool expired) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), expired ? -3600 : 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("stampgate test"), -1, -1,
                             0);
  X509_set_issuer_name(certificate, name);
  const std::string subject = absl::StrCat(host == "127.0.0.1" ? "IP:" : "DNS:", host);
  for (const auto& [nid, value] :
       {std::pair(NID_subject_alt_name, subject.c_str()), std::pair(NID_basic_constraints, "critical,CA:TRUE")}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate, key, EVP_sha256());
  BIO* certificate_pem = BIO_new(BIO_s_mem());
  BIO* key_pem = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_pem, certificate);
  PEM_write_bio_PrivateKey(key_pem, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {TakeText(certificate_pem), TakeText(key_pem)};
}

bool ScriptedServer::Connection::ReadMore() {
  char buffer[16384];
  const ssize_t count =
      ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof(buffer)) : recv(socket_, buffer, sizeof(buffer), 0);
  if (count <= 0) return false;
  unread_.append(buffer, count);
  return true;
}

std::optional<std::string> ScriptedServer::Connection::ReadRequest() {
  size_t end;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore()) return std::nullopt;
  }
  const size_t size = end + 4 + BodySize(absl::string_view(unread_).substr(0, end + 2));
  while (unread_.size() < size) {
    if (!ReadMore()) return std::nullopt;
  }
  std::string request = unread_.substr(0, size);
  unread_.erase(0, size);
  MutexLock lock(server_->mutex_);
  server_->requests_.push_back(request);
  return request;
}

bool ScriptedServer::Connection::ReadUntil(absl::string_view end) {
  while (unread_.find(std::string(end)) == std::string::npos) {
    if (!ReadMore()) return false;
  }
  return true;
}

std::string ScriptedServer::Connection::ReadSome() {
  if (unread_.empty()) ReadMore();
  return std::exchange(unread_, "");
}

void ScriptedServer::Connection::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                          : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // in some tests, the peer closes the connection
    bytes.remove_prefix(count);
  }
}

void ScriptedServer::Connection::WriteTogether(const std::vector<std::string>& texts) {
  const auto cork = [this](int on) { setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)); };
  cork(1);
  for (const std::string& text : texts) Write(text);
  cork(0);
}

void ScriptedServer::Connection::WaitForClose() {
  while (ReadMore()) {
  }
}

void ScriptedServer::Connection::Close() {
  // Only Serve closes the descriptor. So when the destructor shuts the socket down, the number cannot already belong to
  // another file.
  if (ssl_ != nullptr) SSL_shutdown(ssl_);
  shutdown(socket_, SHUT_RDWR);
}

void ScriptedServer::Connection::Reset() {
  const linger now = {1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

ScriptedServer::ScriptedServer(Script script, std::optional<Tls> tls) : script_(std::move(script)) {
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  if (tls.has_value()) {
    tls_ = SSL_CTX_new(TLS_server_method());
    BIO* certificate_pem = BIO_new_mem_buf(tls->certificate.certificate_pem.data(), -1);
    BIO* key_pem = BIO_new_mem_buf(tls->certificate.key_pem.data(), -1);
    X509* certificate = PEM_read_bio_X509(certificate_pem, nullptr, nullptr, nullptr);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_pem, nullptr, nullptr, nullptr);
    if (SSL_CTX_use_certificate(tls_, certificate) != 1 || SSL_CTX_use_PrivateKey(tls_, key) != 1) std::abort();
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(certificate_pem);
    BIO_free(key_pem);
    if (tls->version != 0) {
      SSL_CTX_set_cipher_list(tls_, "ALL:@SECLEVEL=0");  // versions before 1.2 need it
      SSL_CTX_set_min_proto_version(tls_, tls->version);
      SSL_CTX_set_max_proto_version(tls_, tls->version);
    }
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, 1024) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { AcceptAll(); });
}

ScriptedServer::~ScriptedServer() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
    for (const auto& connection : connections_) {
      if (connection->socket_ >= 0) shutdown(connection->socket_, SHUT_RDWR);
    }
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  SSL_CTX_free(tls_);
}

void ScriptedServer::AcceptAll() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    MutexLock lock(mutex_);
    if (closing_) {
      close(socket);
      return;
    }
    auto& connection = *connections_.emplace_back(std::make_unique<Connection>());
    connection.server_ = this;
    connection.index_ = static_cast<int>(connections_.size()) - 1;
    connection.socket_ = socket;
    threads_.emplace_back([this, &connection] { Serve(connection); });
  }
}

void ScriptedServer::Serve(Connection& connection) {
  bool open = true;
  if (tls_ != nullptr) {
    connection.ssl_ = SSL_new(tls_);
    SSL_set_fd(connection.ssl_, connection.socket_);
    open = SSL_accept(connection.ssl_) == 1;
  }
  if (open) script_(connection);
  SSL_free(connection.ssl_);
  MutexLock lock(mutex_);
  close(connection.socket_);
  connection.socket_ = -1;
}

ScriptedServer::Script ScriptedServer::Always(std::string response) {
  return [response = std::move(response)](Connection& connection) {
    while (connection.ReadRequest().has_value()) connection.Write(response);
  };
}

std::vector<std::string> ScriptedServer::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

int ScriptedServer::connections() const {
  MutexLock lock(mutex_);
  return static_cast<int>(connections_.size());
}

std::string JsonResponse(absl::string_view body, absl::string_view status, absl::string_view headers) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
                      "\r\n", headers, "\r\n", body);
}

}  // namespace stampgate
