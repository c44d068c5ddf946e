#include "gateway/upstream/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/memory/testing.h"
#include "gateway/upstream/client_testing.h"
#include "gateway/upstream/scripted_server.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Connection = ScriptedServer::Connection;
using Lane = UpstreamClient::Lane;

// Requests.

TEST(UpstreamClientTest, SendsExactlyTheseBytes) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse(R"({"a":1})")));
  auto client = Connect(OptionsFor(server));
  Slot post;
  client->Post(Stamper::Make("/public/v1/query/whoami", R"({"organizationId":"o"})"), {}, post.callback(), nullptr);
  const UpstreamOutcome outcome = post.Wait();
  EXPECT_THAT(outcome, IsAnswer(200, R"({"a":1})"));
  EXPECT_EQ(std::get<HttpAnswer>(outcome).retry_after, std::nullopt);
  Slot get;
  client->Get({"/.well-known/jwks.json"}, {}, get.callback());
  EXPECT_THAT(get.Wait(), IsAnswer(200, R"({"a":1})"));
  EXPECT_THAT(Post(*client, "{}"), IsAnswer(200, R"({"a":1})"));
  const std::string host = absl::StrCat("Host: 127.0.0.1:", server.port(), "\r\nUser-Agent: stampgate\r\n");
  EXPECT_THAT(server.requests(), ElementsAre(absl::StrCat("POST /public/v1/query/whoami HTTP/1.1\r\n", host,
                                                          "X-Stamp: c3RhbXA\r\nContent-Type: application/json\r\n"
                                                          "Accept: application/json\r\nContent-Length: 22\r\n\r\n"
                                                          R"({"organizationId":"o"})"),
                                             absl::StrCat("GET /.well-known/jwks.json HTTP/1.1\r\n", host,
                                                          "Accept: application/json\r\n\r\n"),
                                             absl::StrCat("POST /p HTTP/1.1\r\n", host,
                                                          "X-Stamp: c3RhbXA\r\nContent-Type: application/json\r\n"
                                                          "Accept: application/json\r\nContent-Length: 2\r\n\r\n{}")));
  EXPECT_EQ(server.connections(), 1);
}

TEST(UpstreamClientTest, SendsLargeBodiesWholeAndWithoutExpect) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  std::string body;
  while (body.size() < 3'000'000) absl::StrAppend(&body, body.size(), ",");
  EXPECT_THAT(Post(*client, body), IsAnswer(200, "{}"));
  ASSERT_THAT(server.requests(), SizeIs(1));
  EXPECT_EQ(BodyOf(server.requests()[0]), body);
  EXPECT_THAT(server.requests()[0].substr(0, 1000), Not(HasSubstr("Expect")));
}

TEST(UpstreamClientTest, SendsNoRequestThatUpstreamWouldMisread) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  const auto send = [&](StampedRequest request) {
    Slot slot;
    client->Post(std::move(request), {}, slot.callback(), nullptr);
    return slot.Wait();
  };
  for (const char* path : {"", "p", "@evil.example/p", "/p q", "/p\r\nA: b", "/p#q", "/\x80"}) {
    EXPECT_THAT(send(Stamper::Make(path, "{}")), Failed(Cause::kBroken, false)) << path;
  }
  for (const char* value : {"", " ", "a\r\nB: c", "a\nB: c", "\x80"}) {
    EXPECT_THAT(send(Stamper::Make("/p", "{}", "X-Stamp", value)), Failed(Cause::kBroken, false)) << value;
  }
  for (const char* name : {"", "X Stamp", "X:", "X\r\n"}) {
    EXPECT_THAT(send(Stamper::Make("/p", "{}", name)), Failed(Cause::kBroken, false)) << name;
  }
  Slot get;
  client->Get({"no"}, {}, get.callback());
  EXPECT_THAT(get.Wait(), Failed(Cause::kBroken, false));
  EXPECT_EQ(server.connections(), 0);
  EXPECT_THAT(send(Stamper::Make("/p", "{}")), IsAnswer(200, "{}"));
}

TEST(UpstreamClientTest, IgnoresProxyVariables) {
  ScriptedServer canary(ScriptedServer::Always(JsonResponse("proxy")));
  ScriptedServer server(ScriptedServer::Always(JsonResponse("direct")));
  const std::vector<std::string> names = {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"};
  for (const std::string& name : names) {
    setenv(name.c_str(), absl::StrCat("http://127.0.0.1:", canary.port()).c_str(), 1);
  }
  EXPECT_THAT(Post(*Connect(OptionsFor(server))), IsAnswer(200, "direct"));
  for (const std::string& name : names) unsetenv(name.c_str());
  EXPECT_EQ(canary.connections(), 0);
}

TEST(UpstreamClientTest, SendsATraceparentIfItIsGivenOne) {
  constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  EXPECT_THAT(Post(*client, "{}", {.traceparent = kTraceparent}), IsAnswer(200, "{}"));
  EXPECT_THAT(Post(*client, "{}"), IsAnswer(200, "{}"));
  Slot slot;
  client->Get({"/k"}, {.lane = Lane::kQuery, .traceparent = kTraceparent}, slot.callback());
  EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(3));
  const std::string line = absl::StrCat("\r\ntraceparent: ", kTraceparent, "\r\n");
  EXPECT_THAT(requests[0], HasSubstr(line));
  EXPECT_THAT(requests[1], Not(HasSubstr("traceparent")));
  EXPECT_THAT(requests[2], HasSubstr(line));
}

TEST(UpstreamClientTest, SendsNothingWithATraceparentThatIsNoHeader) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  EXPECT_THAT(Post(*client, "{}", {.traceparent = "00-a\r\nx-stamp: b"}), Failed(Cause::kBroken, false));
  EXPECT_THAT(server.requests(), SizeIs(0));
}

// Responses.

TEST(UpstreamClientTest, FollowsNoRedirect) {
  ScriptedServer canary(ScriptedServer::Always(JsonResponse("canary")));
  for (const int status : {301, 302, 303, 307, 308}) {
    ScriptedServer server(
        ScriptedServer::Always(JsonResponse("moved", absl::StrCat(status, " Moved"),
                                            absl::StrCat("Location: http://127.0.0.1:", canary.port(), "/p\r\n"))));
    EXPECT_THAT(Post(*Connect(OptionsFor(server))), IsAnswer(status, "moved"));
    EXPECT_THAT(server.requests(), SizeIs(1));
  }
  EXPECT_EQ(canary.connections(), 0);
}

TEST(UpstreamClientTest, ReturnsASwitchOfProtocolsImmediately) {
  // The server keeps the connection open, and nothing follows.
  ScriptedServer server([](Connection& connection) {
    if (!connection.ReadRequest()) return;
    connection.Write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
    connection.WaitForClose();
  });
  auto client = Connect(OptionsFor(server));
  EXPECT_THAT(Post(*client), IsAnswer(101, ""));
  EXPECT_THAT(Post(*client), IsAnswer(101, ""));
  EXPECT_EQ(server.connections(), 2);
}

TEST(UpstreamClientTest, ReadsChunksAndLeavesRoomForTheReader) {
  ScriptedServer server([](Connection& connection) {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection.ReadRequest();
    connection.Write(head + "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    connection.ReadRequest();
    connection.Write(head + "186a0\r\n" + std::string(100'000, 'x') + "\r\n0\r\n\r\n");
    connection.ReadRequest();
    connection.Write(JsonResponse(std::string(200'000, 'y')));
    connection.ReadRequest();
    connection.Write("HTTP/1.1 204 No Content\r\n\r\n");
    connection.ReadRequest();
  });
  auto client = Connect(OptionsFor(server));
  for (const auto& [status, body] : {std::pair(200, std::string("abcdefg")), std::pair(200, std::string(100'000, 'x')),
                                     std::pair(200, std::string(200'000, 'y')), std::pair(204, std::string())}) {
    const UpstreamOutcome outcome = Post(*client);
    EXPECT_THAT(outcome, IsAnswer(status, body));
  }
  EXPECT_EQ(server.connections(), 1);
  Slot slot;  // stores a copy with its own capacity, so the callback measures the capacity
  size_t spare = 0;
  ScriptedServer again(ScriptedServer::Always(JsonResponse("abc")));
  client = Connect(OptionsFor(again));
  client->Post(
      Stamper::Make("/p", "{}"), {},
      [&spare, done = slot.callback()](UpstreamOutcome outcome) mutable {
        const std::string& body = std::get<HttpAnswer>(outcome).body;
        spare = body.capacity() - body.size();
        done(std::move(outcome));
      },
      nullptr);
  EXPECT_THAT(slot.Wait(), IsAnswer(200, "abc"));
  EXPECT_GE(spare, 64u);
}

TEST(UpstreamClientTest, UnderstandsRetryAfter) {
  const std::vector<std::pair<std::string, std::optional<absl::Duration>>> rows = {
      {"", std::nullopt},
      {"Retry-After: 7\r\n", absl::Seconds(7)},
      {"retry-after:  0 \r\n", absl::ZeroDuration()},
      {"Retry-After: 86400\r\n", absl::Hours(1)},
      {"Retry-After: 99999999999999999999\r\n", absl::Hours(1)},
      {"Retry-After: soon\r\n", std::nullopt},
      {"Retry-After: -1\r\n", std::nullopt},
      {"Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", absl::ZeroDuration()},
      {"Retry-After: Fri, 31 Dec 2099 23:59:59 GMT\r\n", absl::Hours(1)},
  };
  ScriptedServer server([&rows](Connection& connection) {
    for (const auto& row : rows) {
      connection.ReadRequest();
      connection.Write(JsonResponse("{}", "429 Too Many Requests", row.first));
    }
    connection.ReadRequest();
  });
  auto client = Connect(OptionsFor(server));
  for (const auto& [header, expected] : rows) {
    const UpstreamOutcome outcome = Post(*client);
    ASSERT_THAT(outcome, IsAnswer(429, "{}"));
    EXPECT_EQ(std::get<HttpAnswer>(outcome).retry_after, expected) << header;
  }
}

TEST(UpstreamClientTest, ReadsHowManyRequestsRemain) {
  using Pair = std::pair<int64_t, int64_t>;
  const std::vector<std::pair<std::string, std::optional<Pair>>> rows = {
      {"", std::nullopt},
      {"ratelimit-limit: 60\r\nratelimit-remaining: 59\r\n", Pair(60, 59)},
      {"RateLimit-Limit: 60, 60;w=1\r\nRateLimit-Remaining: 0\r\n", Pair(60, 0)},
      {"ratelimit-limit: 60\r\n", std::nullopt},
      {"ratelimit-limit: 60\r\nratelimit-remaining: -1\r\n", std::nullopt},
      {"ratelimit-limit: 9999999999\r\nratelimit-remaining: 1\r\n", std::nullopt},
  };
  ScriptedServer server([&rows](Connection& connection) {
    for (const auto& row : rows) {
      connection.ReadRequest();
      connection.Write(JsonResponse("{}", "200 OK", row.first));
    }
    connection.ReadRequest();
  });
  auto client = Connect(OptionsFor(server));
  for (const auto& [headers, expected] : rows) {
    const UpstreamOutcome outcome = Post(*client);
    ASSERT_THAT(outcome, IsAnswer(200, "{}"));
    const std::optional<HttpAnswer::RateLimit>& limit = std::get<HttpAnswer>(outcome).rate_limit;
    ASSERT_EQ(limit.has_value(), expected.has_value()) << headers;
    if (limit.has_value()) {
      EXPECT_EQ(Pair(limit->limit, limit->remaining), *expected);
    }
  }
}

TEST(UpstreamClientTest, ReportsThatARequestIsSentOnlyIfItMayBeSent) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  int sent = 0;
  UpstreamClient::CallOptions options;
  options.on_sending = [&sent] { ++sent; };
  EXPECT_THAT(Post(*client, "{}", options), IsAnswer(200, "{}"));
  EXPECT_EQ(sent, 1);
  options.deadline = UpstreamClient::Clock::now();
  EXPECT_THAT(Post(*client, "{}", options), Failed(Cause::kTimeout, false));
  EXPECT_EQ(sent, 1);
}

TEST(UpstreamClientTest, OfTheResponseToASubmitReservesOnlyWhatWasNotExpected) {
  TestMemory memory;
  memory.TakeAllBut(0);
  ScriptedServer server(ScriptedServer::Always(JsonResponse(std::string(100'000, 'x'))));
  const std::unique_ptr<UpstreamClient> client = Connect(OptionsFor(server));
  UpstreamClient::CallOptions options;
  options.holder = memory.holder();
  EXPECT_THAT(Post(*client, std::string(40'000, 'x'), options), IsAnswer(200, std::string(100'000, 'x')));
  EXPECT_THAT(Post(*client, std::string(20'000, 'x'), options), Failed(Cause::kNoMemory, true));
  options.lane = UpstreamClient::Lane::kQuery;
  EXPECT_THAT(Post(*client, std::string(100'000, 'x'), options), Failed(Cause::kNoMemory, true));
  EXPECT_EQ(memory.held(), 0);
}

TEST(UpstreamClientTest, RefusesLargerResponses) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& response :
       {JsonResponse(std::string(1001, 'x')), head + "Content-Length: 99999999999\r\n\r\n",
        head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\nx\r\n",
        head + "\r\n" + std::string(1001, 'x')}) {
    ScriptedServer server([&](Connection& connection) {
      connection.ReadRequest();
      connection.Write(response);
      connection.WaitForClose();
    });
    UpstreamClient::Options options = OptionsFor(server);
    options.max_response_bytes = 1000;
    EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kTooLarge, true));
  }
  ScriptedServer server(ScriptedServer::Always(JsonResponse(std::string(1000, 'x'))));
  UpstreamClient::Options options = OptionsFor(server);
  options.max_response_bytes = 1000;
  EXPECT_THAT(Post(*Connect(options)), IsAnswer(200, std::string(1000, 'x')));
}

TEST(UpstreamClientTest, ReportsCutResponses) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& response :
       {std::string(), std::string("HTTP/1.1 200"),
        head + "Content-Length: 100\r\n\r\n{\"a\":", head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
        head + "Content-Len", head, "HTTP/1.1 100 Continue\r\n\r\n" + head, std::string("not http\r\n\r\n")}) {
    ScriptedServer server([&](Connection& connection) {
      connection.ReadRequest();
      connection.Write(response);
      connection.Close();
    });
    EXPECT_THAT(Post(*Connect(OptionsFor(server))), Failed(Cause::kBroken, true)) << response;
    EXPECT_EQ(server.connections(), 1);
  }
}

TEST(UpstreamClientTest, AcceptsAnAnswerThatArrivesBeforeTheBodyIsRead) {
  ScriptedServer server([](Connection& connection) {
    connection.ReadUntil("\r\n\r\n");
    connection.Write(JsonResponse("too large", "413 Payload Too Large", "Connection: close\r\n"));
    connection.WaitForClose();
  });
  EXPECT_THAT(Post(*Connect(OptionsFor(server)), std::string(3'000'000, 'x')), IsAnswer(413, "too large"));
}

// Options.

TEST(UpstreamClientTest, RefusesOptionsThatCannotBeUsed) {
  const auto code = [](const std::function<void(UpstreamClient::Options&)>& change) {
    UpstreamClient::Options options = OptionsFor("http://127.0.0.1:1");
    change(options);
    return UpstreamClient::Create(options, std::make_shared<EventLoops>(1), SomeMetrics()).status().code();
  };
  using Options = UpstreamClient::Options;
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code([](Options&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(code([](Options& o) { o.base_url = "http://upstream.example"; }), invalid);
  EXPECT_EQ(code([](Options& o) { o.ca_file = "/nonexistent.pem"; }), invalid);
  EXPECT_EQ(code([](Options& o) { o.ca_file = WriteFile("no.pem", "no certificate"); }), invalid);
  EXPECT_EQ(code([](Options& o) { o.max_connections = 0; }), invalid);
  EXPECT_EQ(code([](Options& o) { o.max_detached = 0; }), invalid);
  EXPECT_EQ(code([](Options& o) { o.max_response_bytes = 0; }), invalid);
  EXPECT_EQ(code([](Options& o) { o.connect_timeout = absl::ZeroDuration(); }), invalid);
  EXPECT_EQ(code([](Options& o) { o.exchange_timeout = -absl::InfiniteDuration(); }), invalid);
  EXPECT_EQ(code([](Options& o) { o.max_idle = absl::ZeroDuration(); }), invalid);
}

}  // namespace
}  // namespace stampgate
