// Tests what the webhook port does for load balancers and operators: the PROXY protocol, probes, the causes of failed
// handshakes, and descriptors that it leaves to the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/http/test_certificates.h"
#include "base/http/test_client.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"
#include "webhooks/receiver/receiver.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::string_view kProxy1 = "PROXY TCP4 192.0.2.7 10.0.0.1 4660 443\r\n";
constexpr absl::string_view kProxy2("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\7\x0a\0\0\1\x12\x34\1\xbb", 28);
constexpr absl::string_view kLocal2("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);
constexpr absl::string_view kPost = "POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";

ReceiverOptions Options(const std::vector<std::string>& proxies) {
  ReceiverOptions options;
  options.listen_address = "127.0.0.1:0";
  options.paths = [] { return std::vector<std::string>{"/hook"}; };
  for (const std::string& block : proxies) EXPECT_EQ(options.proxies.Add(block), absl::OkStatus());
  return options;
}

class ReceiverProxyTest : public ::testing::Test {
 protected:
  void Start(ReceiverOptions options) {
    options.on_refused = [this](HttpRefusal refusal) { Report(std::string(Name(refusal))); };
    options.on_failed_handshake = [this](const std::string& address, const std::string& why) {
      Report(absl::StrCat(address, ": ", why));
    };
    auto receiver = Receiver::Start(std::move(options), loops_, [](const Delivery&, Answer answer) { answer(200); });
    if (!receiver.ok()) {
      ADD_FAILURE() << receiver.status();
      std::abort();
    }
    receiver_ = *std::move(receiver);
  }

  void StartTls(std::vector<std::string> proxies) {
    const TestIdentity identity = MakeSelfSigned({.subject = "localhost"});
    ReceiverOptions options = Options(proxies);
    options.tls_certificate_file = folder_.Write("tls.pem", identity.certificate);
    options.tls_private_key_file = folder_.Write("tls.key", identity.key);
    Start(std::move(options));
  }

  // Sends the bytes and closes the sending side. Returns all that the receiver sends.
  std::string Exchange(absl::string_view bytes) const {
    HttpTestClient client(receiver_->url());
    client.Send(bytes);
    client.EndSending();
    return client.ReadToEnd();
  }

  void Report(std::string text) {
    const MutexLock lock(mutex_);
    reports_.push_back(std::move(text));
    reported_.WakeAll();
  }

  std::vector<std::string> TakeReports(size_t count) {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (reports_.size() < count && !reported_.WaitUntil(mutex_, deadline)) {
    }
    return std::exchange(reports_, {});
  }

  const TestFolder folder_;
  const std::shared_ptr<EventLoops> loops_ = std::make_shared<EventLoops>(2);
  Mutex mutex_;
  Condition reported_;
  std::vector<std::string> reports_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Receiver> receiver_;
};

TEST_F(ReceiverProxyTest, ReadsTheHeaderOfALoadBalancer) {
  Start(Options({"10.0.0.0/8", "127.0.0.0/8"}));
  for (const absl::string_view header : {kProxy1, kProxy2, kLocal2, absl::string_view("PROXY UNKNOWN\r\n")}) {
    EXPECT_EQ(Statuses(Exchange(absl::StrCat(header, kPost, kPost))), "200 200");
  }
  EXPECT_THAT(TakeReports(0), IsEmpty());
}

TEST_F(ReceiverProxyTest, ReadsAHeaderThatArrivesByteByByte) {
  Start(Options({"127.0.0.1"}));
  for (const absl::string_view header : {kProxy1, kProxy2}) {
    HttpTestClient client(receiver_->url());
    for (const char byte : absl::StrCat(header, kPost)) {
      ASSERT_TRUE(client.Send(absl::string_view(&byte, 1)));
      absl::SleepFor(absl::Microseconds(200));  // so that the system does not join the bytes
    }
    EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  }
}

TEST_F(ReceiverProxyTest, ALoadBalancerMustSendTheHeader) {
  Start(Options({"127.0.0.1"}));
  for (const std::string& bytes :
       {std::string(kPost), std::string("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), std::string("PROXY TCP4 x\r\n"),
        absl::StrCat(kProxy1.substr(0, kProxy1.size() - 2), "\n", kPost), std::string(20, '\x16')}) {
    EXPECT_EQ(Statuses(Exchange(bytes)), "503.") << bytes;
    EXPECT_THAT(TakeReports(1), ElementsAre("proxy_header_missing"));
  }
}

TEST_F(ReceiverProxyTest, AHeaderFromAnotherAddressGets503SoThatNoEventIsLost) {
  for (const std::vector<std::string>& proxies : {std::vector<std::string>(), {"10.0.0.0/8"}}) {
    Start(Options(proxies));
    for (const absl::string_view header : {kProxy1, kProxy2, kLocal2}) {
      EXPECT_EQ(Statuses(Exchange(absl::StrCat(header, kPost))), "503.");
      EXPECT_THAT(TakeReports(1), ElementsAre("proxy_header_unexpected"));
      HttpTestClient client(receiver_->url());
      for (const char byte : header) {
        ASSERT_TRUE(client.Send(absl::string_view(&byte, 1)));
        absl::SleepFor(absl::Microseconds(200));
      }
      EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 503 "));
      EXPECT_THAT(TakeReports(1), ElementsAre("proxy_header_unexpected"));
    }
    EXPECT_EQ(Statuses(Exchange(kPost)), "200");
    // Only the beginning of a connection can be such a header.
    EXPECT_EQ(Statuses(Exchange(absl::StrCat(kPost, kProxy1))), "200 400.");
    EXPECT_THAT(TakeReports(1), ElementsAre("malformed_http"));
  }
}

// For example, from two load balancers of which each sends a header.
TEST_F(ReceiverProxyTest, ASecondHeaderIsUnexpected) {
  Start(Options({"127.0.0.1"}));
  EXPECT_EQ(Statuses(Exchange(absl::StrCat(kProxy1, kProxy2, kPost))), "503.");
  EXPECT_EQ(Statuses(Exchange(absl::StrCat(kProxy2, kProxy1, kPost))), "503.");
  EXPECT_THAT(TakeReports(2), ElementsAre("proxy_header_unexpected", "proxy_header_unexpected"));
}

// The client's address decides which connection must give way, and not the address of the load balancer.
TEST_F(ReceiverProxyTest, CountsAConnectionForTheClientThatTheHeaderStates) {
  ReceiverOptions options = Options({"127.0.0.1"});
  options.max_connections = 8;
  Start(options);
  HttpTestClient quiet(receiver_->url());  // the oldest connection, and the only one of its client
  quiet.Send(absl::StrCat(kProxy2, kPost.substr(0, 20)));
  // After exchanges on each of the two loops, the receiver has read the header.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Statuses(Exchange("PROXY TCP4 192.0.2.8 10.0.0.1 1 443\r\nGET / HTTP/1.0\r\n\r\n")), "200.");
  }
  std::vector<std::unique_ptr<HttpTestClient>> flood;
  for (int i = 0; i < 40; ++i) {
    flood.push_back(std::make_unique<HttpTestClient>(receiver_->url()));
    flood.back()->Send(absl::StrCat("PROXY TCP4 192.0.2.9 10.0.0.1 ", i, " 443\r\nGET"));
  }
  for (int i = 0; i < 6000 && receiver_->peers().unproven_displaced < 20; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GE(receiver_->peers().unproven_displaced, 20u);
  quiet.Send(kPost.substr(20));
  EXPECT_THAT(quiet.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ReceiverProxyTest, ReadsTheHeaderBeforeTls) {
  StartTls({"127.0.0.1"});
  for (const absl::string_view header : {kProxy1, kProxy2}) {
    HttpTestClient client(receiver_->url());
    client.Send(header);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client.descriptor());
    EXPECT_EQ(SSL_connect(ssl), 1);
    EXPECT_GT(SSL_write(ssl, kPost.data(), static_cast<int>(kPost.size())), 0);
    char answer[12] = "";
    EXPECT_EQ(SSL_read(ssl, answer, sizeof(answer)), 12);
    EXPECT_EQ(std::string(answer, 12), "HTTP/1.1 200");
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  EXPECT_THAT(TakeReports(0), IsEmpty());
}

TEST_F(ReceiverProxyTest, ClosesAConnectionWithTlsThatBreaksTheRules) {
  StartTls({"127.0.0.1"});
  EXPECT_EQ(Exchange(absl::StrCat("\x16\x03\x01", std::string(20, 'x'))), "");
  EXPECT_THAT(TakeReports(1), ElementsAre("proxy_header_missing"));
  StartTls({});
  EXPECT_THAT(Exchange(kProxy1), Not(HasSubstr("HTTP")));
  EXPECT_THAT(TakeReports(1),
              ElementsAre(AllOf(StartsWith("127.0.0.1: the first bytes are not TLS"), HasSubstr("PROXY"))));
}

TEST_F(ReceiverProxyTest, ReportsWhyAHandshakeFailed) {
  StartTls({});
  EXPECT_THAT(Exchange(kPost), Not(HasSubstr("HTTP")));
  EXPECT_THAT(TakeReports(1), ElementsAre(StartsWith("127.0.0.1: the first bytes are not TLS")));
  HttpTestClient client(receiver_->url());
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);  // trusts no CA
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, client.descriptor());
  EXPECT_NE(SSL_connect(ssl), 1);
  EXPECT_THAT(TakeReports(1), ElementsAre(HasSubstr("the client does not accept the gateway's certificate")));
  SSL_free(ssl);
  SSL_CTX_free(context);
}

TEST_F(ReceiverProxyTest, DoesNotReportAProbeOfTheTcpPort) {
  StartTls({});
  EXPECT_EQ(Exchange(""), "");
  EXPECT_EQ(Exchange("\x16"), "");
  EXPECT_THAT(Exchange(kPost), Not(HasSubstr("HTTP")));  // its report would come after those of the probes
  EXPECT_THAT(TakeReports(1), ElementsAre(StartsWith("127.0.0.1: the first bytes are not TLS")));
}

TEST_F(ReceiverProxyTest, AnswersProbesOfTheRoot) {
  Start(Options({}));
  constexpr char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  for (const char* method : {"GET", "HEAD"}) {
    EXPECT_EQ(Exchange(absl::StrCat(method, " / HTTP/1.1\r\nHost: h\r\n\r\n")), kAnswer);
    EXPECT_EQ(Exchange(absl::StrCat(method, " / HTTP/1.0\r\n\r\n")), kAnswer);
  }
  EXPECT_THAT(TakeReports(0), IsEmpty());
  for (const char* request : {"POST /", "PUT /", "GET /?", "GET /index.html", "HEAD //", "OPTIONS *"}) {
    EXPECT_EQ(Statuses(Exchange(absl::StrCat(request, " HTTP/1.1\r\nHost: h\r\n\r\n"))), "404.") << request;
    EXPECT_THAT(TakeReports(1), ElementsAre("not_found"));
  }
  receiver_->Drain(absl::ZeroDuration());
  EXPECT_EQ(Statuses(Exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n")), "503.");
}

TEST_F(ReceiverProxyTest, LeavesTheHighestDescriptorsToTheProcess) {
  ReceiverOptions options = Options({});
  options.max_descriptor = 0;
  options.on_no_descriptor = [this] { Report("no descriptor"); };
  Start(options);
  EXPECT_EQ(Exchange(kPost), "");
  EXPECT_THAT(TakeReports(1), ElementsAre("no descriptor"));
  options.max_descriptor = 1 << 20;
  Start(options);
  EXPECT_EQ(Statuses(Exchange(kPost)), "200");
  EXPECT_THAT(TakeReports(0), IsEmpty());
}

}  // namespace
}  // namespace stampgate
