#include "gateway/admin/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/http/test_client.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Replaces each ^ by CR LF.
std::string Lines(absl::string_view text) { return absl::StrReplaceAll(text, {{"^", "\r\n"}}); }

constexpr absl::string_view kGet = "GET /page HTTP/1.1^Host: h^^";

class AdminServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }

  void Start(AdminServer::Options options) {
    server_ = nullptr;
    options.listen_address = "127.0.0.1:0";
    absl::StatusOr<std::unique_ptr<AdminServer>> server =
        AdminServer::Start(std::move(options), {{"/page",
                                                 [this] {
                                                   ++calls_;
                                                   return page_;
                                                 }},
                                                {"/other", [] {
                                                   return AdminAnswer{503, "not now\n", "text/x"};
                                                 }}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Sends `text`. Returns everything that the server sends until the connection ends.
  std::string Ask(absl::string_view text) const {
    HttpTestClient client(server_->url());
    client.Send(Lines(text));
    return client.ReadToEnd();
  }
  std::string StatusOf(absl::string_view text) const { return Ask(text).substr(0, 12); }

  AdminAnswer page_{200, "hello\n"};
  std::atomic<int> calls_ = 0;
  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, AnswersWithTheWholePage) {
  EXPECT_EQ(Ask(kGet), Lines("HTTP/1.1 200 OK^Content-Type: text/plain; charset=utf-8^Content-Length: 6^"
                             "Cache-Control: no-store^Connection: close^^hello\n"));
  EXPECT_EQ(Ask("GET /other HTTP/1.0^^"),
            Lines("HTTP/1.1 503 Service Unavailable^Content-Type: text/x^Content-Length: 8^"
                  "Cache-Control: no-store^Connection: close^^not now\n"));
}

TEST_F(AdminServerTest, GeneratesThePageForEachRequest) {
  for (int i = 0; i < 3; ++i) Ask(kGet);
  EXPECT_EQ(calls_, 3);
}

TEST_F(AdminServerTest, AnswersHeadWithoutTheBody) {
  const std::string answer = Ask("HEAD /page HTTP/1.1^Host: h^^");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\n"));
}

TEST_F(AdminServerTest, RefusesOtherRequests) {
  const std::vector<std::pair<absl::string_view, absl::string_view>> cases = {
      {"GET /page?a=b&c HTTP/1.1^Host: h^^", "HTTP/1.1 200"},
      {"GET /page HTTP/1.1^Host: h^Content-Length: 0^^", "HTTP/1.1 200"},
      {"GET http://h/page HTTP/1.1^Host: h^^", "HTTP/1.1 200"},  // absolute form of the same page
      {"GET / HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"GET /pag HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"GET /page/ HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"GET /%70age HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"GET http://h/pag HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"POST /nothing HTTP/1.1^Host: h^^", "HTTP/1.1 404"},
      {"POST /page HTTP/1.1^Host: h^^", "HTTP/1.1 405"},
      {"DELETE /page HTTP/1.1^Host: h^^", "HTTP/1.1 405"},
      {"get /page HTTP/1.1^Host: h^^", "HTTP/1.1 405"},
      {"GET /page HTTP/1.1^Host: h^Content-Length: 1^^a", "HTTP/1.1 400"},
      {"GET /page HTTP/1.1^Host: h^Transfer-Encoding: chunked^^0^^", "HTTP/1.1 400"},
      {"GET /page HTTP/1.1^Host: h^Content-Length: 0^Content-Length: 0^^", "HTTP/1.1 400"},
      {"GET /page HTTP/1.1^^", "HTTP/1.1 400"},
      {"GET /page HTTP/2.0^Host: h^^", "HTTP/1.1 400"},
      {"GET /page\nHost: h\n\n", "HTTP/1.1 400"},
      {"PRI * HTTP/2.0^^SM^^", "HTTP/1.1 400"},
      {"\x16\x03\x01^", "HTTP/1.1 400"},
  };
  for (const auto& [request, status] : cases) EXPECT_EQ(StatusOf(request), status) << request;
  EXPECT_THAT(Ask("PUT /page HTTP/1.1^Host: h^^"), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_EQ(calls_, 3);
}

TEST_F(AdminServerTest, LimitsTheSizeOfTheHead) {
  const std::string start = Lines("GET /page HTTP/1.1^Host: h^A: ");
  const size_t room = AdminServer::kMaxHeadBytes - start.size() - 4;
  EXPECT_EQ(StatusOf(absl::StrCat(start, std::string(room, 'a'), "^^")), "HTTP/1.1 200");
  EXPECT_EQ(StatusOf(absl::StrCat(start, std::string(room + 1, 'a'), "^^")), "HTTP/1.1 431");
  EXPECT_EQ(StatusOf(absl::StrCat(start, std::string(size_t{1} << 20, 'a'))), "HTTP/1.1 431");
  std::string fields = "GET /page HTTP/1.1^Host: h^";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&fields, "A: b^");
  EXPECT_EQ(StatusOf(absl::StrCat(fields, "^")), "HTTP/1.1 431");
}

TEST_F(AdminServerTest, AcceptsAHeadInPieces) {
  HttpTestClient client(server_->url());
  for (const char c : Lines(kGet)) client.Send(std::string(1, c));
  EXPECT_THAT(client.ReadToEnd(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AdminServerTest, AnswersOneRequestPerConnection) {
  HttpTestClient client(server_->url());
  client.Send(Lines(absl::StrCat(kGet, kGet)));
  EXPECT_TRUE(absl::EndsWith(client.ReadToEnd(), "\r\n\r\nhello\n"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(AdminServerTest, AnswersAPeerThatHasEndedSending) {
  HttpTestClient client(server_->url());
  client.Send(Lines(kGet));
  client.EndSending();
  EXPECT_THAT(client.ReadToEnd(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AdminServerTest, DisconnectsASlowSender) {
  Start({.connection_timeout = std::chrono::milliseconds(50)});
  HttpTestClient silent(server_->url());
  HttpTestClient slow(server_->url());
  slow.Send("GET /pa");
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_EQ(slow.ReadToEnd(), "");
}

TEST_F(AdminServerTest, DisconnectsASlowReader) {
  page_.body.assign(size_t{32} << 20, 'x');
  Start({.connection_timeout = std::chrono::milliseconds(200)});
  HttpTestClient client(server_->url(), 4096);
  client.Send(Lines(kGet));
  // Although the first peer does not read, the server generates its page and serves other peers.
  EXPECT_THAT(StatusOf("GET /other HTTP/1.1^Host: h^^"), "HTTP/1.1 503");
  while (client.Send("x")) {
  }
  EXPECT_EQ(calls_, 1);
}

TEST_F(AdminServerTest, AnswersProbesWhileOthersHoldAllConnections) {
  Start({.max_connections = 4, .connection_timeout = std::chrono::seconds(60)});
  std::vector<std::unique_ptr<HttpTestClient>> holders;
  for (int i = 0; i < 40; ++i) {
    holders.push_back(std::make_unique<HttpTestClient>(server_->url()));
    holders.back()->Send("GET ");
    EXPECT_EQ(StatusOf(kGet), "HTTP/1.1 200");
  }
  // The oldest connections were closed without a response.
  EXPECT_EQ(holders.front()->ReadToEnd(), "");
}

// At 5,000 connections a second, the flood of 400 connections takes 80 ms. The flood comes from the probe's own
// address.
TEST_F(AdminServerTest, AFloodDoesNotDisplaceASlowerProbe) {
  HttpTestClient probe(server_->url());
  std::vector<std::unique_ptr<HttpTestClient>> flood;
  for (int i = 0; i < 400; ++i) flood.push_back(std::make_unique<HttpTestClient>(server_->url()));
  // This connection was queued after the flood. The server has responded to it, so the server has accepted all
  // connections of the flood.
  EXPECT_EQ(StatusOf(kGet), "HTTP/1.1 200");
  probe.Send(Lines(kGet));
  EXPECT_THAT(probe.ReadToEnd(), StartsWith("HTTP/1.1 200"));
}

// Connects to the server at `url` from another address of this machine.
class ConnectionFrom {
 public:
  ConnectionFrom(const char* source, const std::string& url) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, source, &address.sin_addr);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  ~ConnectionFrom() { close(socket_); }
  ConnectionFrom(const ConnectionFrom&) = delete;
  ConnectionFrom& operator=(const ConnectionFrom&) = delete;

  std::string Ask(const std::string& request) const {
    EXPECT_EQ(send(socket_, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    std::string answer(12, '\0');
    answer.resize(static_cast<size_t>(std::max<ssize_t>(recv(socket_, answer.data(), answer.size(), MSG_WAITALL), 0)));
    return answer;
  }

 private:
  const int socket_;
};

TEST_F(AdminServerTest, AFloodDisplacesOnlyConnectionsOfItsOwnAddress) {
  Start({.max_connections = 8, .connection_timeout = std::chrono::seconds(60)});
  const ConnectionFrom probe("127.0.0.2", server_->url());
  const ConnectionFrom other("127.0.0.3", server_->url());
  std::vector<std::unique_ptr<HttpTestClient>> flood;
  for (int i = 0; i < 100; ++i) flood.push_back(std::make_unique<HttpTestClient>(server_->url()));
  EXPECT_EQ(StatusOf(kGet), "HTTP/1.1 200");
  EXPECT_EQ(flood.front()->ReadToEnd(), "");
  EXPECT_EQ(probe.Ask(Lines(kGet)), "HTTP/1.1 200");
  EXPECT_EQ(other.Ask(Lines(kGet)), "HTTP/1.1 200");
}

TEST_F(AdminServerTest, ServesManyRequestsInSequence) {
  for (int i = 0; i < 300; ++i) ASSERT_EQ(StatusOf(kGet), "HTTP/1.1 200");
}

TEST_F(AdminServerTest, StillAnswersAfterRandomBytes) {
  std::mt19937 random(4);  // NOLINT(cert-msc32-c,cert-msc51-cpp): every run uses the same random numbers
  const std::string request = Lines(kGet);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = request;
    for (int n = 0; n < 3; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    HttpTestClient client(server_->url());
    client.Send(bytes);
    client.EndSending();
    const std::string answer = client.ReadToEnd();
    EXPECT_TRUE(answer.empty() || absl::StartsWith(answer, "HTTP/1.1 ")) << answer;
  }
  EXPECT_EQ(StatusOf(kGet), "HTTP/1.1 200");
}

TEST_F(AdminServerTest, CanBeDestroyedWhileItServesRequests) {
  for (int i = 0; i < 20; ++i) {
    Start({});
    HttpTestClient waiting(server_->url());
    waiting.Send("GET /pa");
    HttpTestClient reading(server_->url());
    reading.Send(Lines(kGet));
    server_ = nullptr;
    EXPECT_EQ(waiting.ReadToEnd(), "");
  }
}

TEST_F(AdminServerTest, ReportsWhyItCannotListen) {
  EXPECT_TRUE(absl::IsInvalidArgument(AdminServer::Start({.listen_address = "nowhere:1"}, {}).status()));
  const auto first = AdminServer::Start({.listen_address = "127.0.0.1:0"}, {});
  ASSERT_TRUE(first.ok());
  const std::string address = (*first)->url().substr(std::string("http://").size());
  const absl::Status status = AdminServer::Start({.listen_address = address}, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
}

TEST_F(AdminServerTest, ListensOnIpv6) {
  const auto server = AdminServer::Start({.listen_address = "[::1]:0"}, {{"/", [] { return AdminAnswer{}; }}});
  if (!server.ok()) GTEST_SKIP() << server.status();
  HttpTestClient client((*server)->url());
  client.Send(Lines("GET / HTTP/1.1^Host: h^^"));
  EXPECT_THAT(client.ReadToEnd(), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace stampgate
