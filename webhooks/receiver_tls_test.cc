#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "webhooks/http_test_client.h"
#include "webhooks/receiver.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

struct OpenSslDelete {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <typename T>
using Owned = std::unique_ptr<T, OpenSslDelete>;

// A self-signed certificate and its key, in files of the test's own.
struct Credentials {
  std::string certificate_file;
  std::string key_file;
};

Credentials MakeCredentials(const std::string& name, const std::string& passphrase = "") {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());

  const std::string base = absl::StrCat(testing::TempDir(), "/receiver_tls_test_", name);
  Credentials credentials{base + ".pem", base + ".key"};
  const Owned<std::FILE> certificate_out(std::fopen(credentials.certificate_file.c_str(), "w"));
  PEM_write_X509(certificate_out.get(), certificate.get());
  const Owned<std::FILE> key_out(std::fopen(credentials.key_file.c_str(), "w"));
  PEM_write_PrivateKey(key_out.get(), key.get(), passphrase.empty() ? nullptr : EVP_aes_128_cbc(), nullptr, 0, nullptr,
                       passphrase.empty() ? nullptr : const_cast<char*>(passphrase.c_str()));
  return credentials;
}

ReceiverOptions TlsOptions(const Credentials& credentials) {
  ReceiverOptions options;
  options.listen_address = "127.0.0.1:0";
  options.paths = {"/hook"};
  options.tls_certificate_file = credentials.certificate_file;
  options.tls_private_key_file = credentials.key_file;
  return options;
}

// The client's side of TLS on a connection.
class TlsClient {
 public:
  explicit TlsClient(const std::string& url, int version = 0, const std::string& protocol = "http/1.1")
      : client_(url), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
    SSL_CTX_set_security_level(context_.get(), 0);  // or it would refuse TLS 1.1 by itself
    if (version != 0) {
      SSL_CTX_set_min_proto_version(context_.get(), version);
      SSL_CTX_set_max_proto_version(context_.get(), version);
    }
    ssl_.reset(SSL_new(context_.get()));
    const std::string offer = absl::StrCat(std::string(1, static_cast<char>(protocol.size())), protocol);
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned int>(offer.size()));
    SSL_set_fd(ssl_.get(), client_.descriptor());
  }

  bool Connect() { return SSL_connect(ssl_.get()) == 1; }

  void Send(absl::string_view bytes) { SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); }

  std::string ReadAnswer() {
    std::string answer;
    char c;
    while (SSL_read(ssl_.get(), &c, 1) == 1) {
      answer += c;
      if (answer.size() >= 4 && answer.substr(answer.size() - 4) == "\r\n\r\n") return answer;
    }
    return "";
  }

  // Whether the receiver ended TLS as it should, and did not just close.
  bool EndsCleanly() {
    char c;
    return SSL_read(ssl_.get(), &c, 1) == 0 && (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

  std::string protocol() const {
    const unsigned char* chosen;
    unsigned int size;
    SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
    return std::string(reinterpret_cast<const char*>(chosen), size);
  }
  std::string version() const { return SSL_get_version(ssl_.get()); }

 private:
  HttpTestClient client_;
  Owned<SSL_CTX> context_;
  Owned<SSL> ssl_;
};

constexpr char kRequest[] = "POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";

class ReceiverTls : public testing::Test {
 protected:
  void SetUp() override {
    auto receiver = Receiver::Start(TlsOptions(MakeCredentials("good")), [](const Delivery& delivery, Answer answer) {
      answer(delivery.body == "abc" || delivery.body.size() > 1000000 ? 200 : 400);
    });
    ASSERT_TRUE(receiver.ok()) << receiver.status();
    receiver_ = *std::move(receiver);
  }

  std::unique_ptr<Receiver> receiver_;
};

TEST_F(ReceiverTls, TakesDeliveries) {
  EXPECT_THAT(receiver_->url(), HasSubstr("https://127.0.0.1:"));
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    TlsClient client(receiver_->url(), version);
    ASSERT_TRUE(client.Connect());
    EXPECT_EQ(client.version(), name);
    EXPECT_EQ(client.protocol(), "http/1.1");
    for (int i = 0; i < 3; ++i) {
      client.Send(kRequest);
      EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
    }
    client.Send(
        absl::StrCat("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n", std::string(4000000, 'a')));
    EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
    client.Send("GET /hook HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(Statuses(client.ReadAnswer()), "405.");
    EXPECT_TRUE(client.EndsCleanly());
  }
}

TEST_F(ReceiverTls, AnswersWhoSendsTooMuch) {
  TlsClient client(receiver_->url());
  ASSERT_TRUE(client.Connect());
  client.Send(
      absl::StrCat("POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000\r\n\r\n", std::string(5000000, 'a')));
  EXPECT_EQ(Statuses(client.ReadAnswer()), "413.");
}

TEST_F(ReceiverTls, RefusesOldVersionsAndOtherProtocols) {
  EXPECT_FALSE(TlsClient(receiver_->url(), TLS1_1_VERSION).Connect());
  EXPECT_FALSE(TlsClient(receiver_->url(), 0, "h2").Connect());
  EXPECT_TRUE(TlsClient(receiver_->url()).Connect());
}

TEST_F(ReceiverTls, GivesNoAnswerToPlainHttp) {
  HttpTestClient plain(receiver_->url());
  plain.Send(kRequest);
  EXPECT_THAT(plain.ReadToEnd(), testing::Not(HasSubstr("HTTP")));
  TlsClient client(receiver_->url());
  ASSERT_TRUE(client.Connect());
  client.Send(kRequest);
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
}

TEST_F(ReceiverTls, DoesNotWaitForeverForAHandshake) {
  HttpTestClient silent(receiver_->url());
  EXPECT_EQ(silent.ReadToEnd(), "");
}

TEST(ReceiverTlsFiles, MustBeUsable) {
  const Credentials good = MakeCredentials("first");
  const Credentials other = MakeCredentials("second");
  const Credentials locked = MakeCredentials("locked", "secret");
  const auto fault = [](const Credentials& credentials) {
    const absl::Status status = Receiver::Start(TlsOptions(credentials), [](const Delivery&, Answer) {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(fault({"/nowhere.pem", good.key_file}), HasSubstr("/nowhere.pem: "));
  EXPECT_THAT(fault({good.certificate_file, "/nowhere.key"}), HasSubstr("/nowhere.key: "));
  EXPECT_THAT(fault({good.key_file, good.key_file}), HasSubstr(good.key_file));
  EXPECT_THAT(fault({good.certificate_file, good.certificate_file}), HasSubstr(good.certificate_file));
  EXPECT_THAT(fault({good.certificate_file, other.key_file}), HasSubstr(other.key_file + ": "));
  EXPECT_THAT(fault({locked.certificate_file, locked.key_file}), HasSubstr(locked.key_file + ": "));
  for (const Credentials& credentials : {other, good}) {
    EXPECT_TRUE(Receiver::Start(TlsOptions(credentials), [](const Delivery&, Answer) {}).ok());
  }
}

}  // namespace
}  // namespace stampgate
