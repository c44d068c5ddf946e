#include "gateway/upstream/client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/memory/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"
#include "gateway/upstream/base_url.h"
#include "gateway/upstream/failure.h"
#include "gateway/upstream/scripted_server.h"
#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {

// Replaces the real class, which is not linked here. Only a class of this name can make a StampedRequest.
class Stamper {
 public:
  static StampedRequest Make(std::string path, std::string body, std::string name = "X-Stamp",
                             std::string value = "c3RhbXA") {
    return StampedRequest(std::move(path), std::move(body), std::move(name), std::move(value));
  }
};

namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Connection = ScriptedServer::Connection;
using Lane = UpstreamClient::Lane;

// If an expected event does not happen within this time, the test fails.
constexpr std::chrono::seconds kHang(60);

// A deadline that passes during a test. It is long enough for a call to reach the step at which it must wait.
constexpr absl::Duration kShort = absl::Seconds(1);

class Signal {
 public:
  void Set() {
    MutexLock lock(mutex_);
    set_ = true;
    changed_.WakeAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (!set_ && !changed_.WaitUntil(mutex_, deadline)) {
    }
    ASSERT_TRUE(set_);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// Stores the outcome that a callback receives.
class Slot {
 public:
  UpstreamClient::Done callback() {
    return [state = state_](UpstreamOutcome outcome) {
      MutexLock lock(state->mutex);
      ++state->calls;
      state->outcome = std::move(outcome);
      state->changed.WakeAll();
    };
  }
  UpstreamOutcome Wait() {
    MutexLock lock(state_->mutex);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (state_->calls == 0 && !state_->changed.WaitUntil(state_->mutex, deadline)) {
    }
    if (state_->calls == 0) {
      ADD_FAILURE() << "no outcome";
      std::abort();
    }
    return state_->outcome;
  }
  int calls() const {
    MutexLock lock(state_->mutex);
    return state_->calls;
  }

 private:
  struct State {
    mutable Mutex mutex;
    Condition changed;
    int calls ABSL_GUARDED_BY(mutex) = 0;
    UpstreamOutcome outcome ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string Describe(const UpstreamOutcome& outcome) {
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome)) {
    return absl::StrCat("HTTP ", answer->status, " ", answer->body.substr(0, 200));
  }
  const auto& failure = std::get<TransportFailure>(outcome);
  return absl::StrCat("cause ", static_cast<int>(failure.cause), " body_sent ", failure.body_sent, " goes_on ",
                      failure.goes_on, " ", failure.detail);
}

MATCHER_P2(IsAnswer, status, body, "") {
  *result_listener << Describe(arg);
  const auto* answer = std::get_if<HttpAnswer>(&arg);
  return answer != nullptr && answer->status == status && answer->body == body;
}

bool GoesOn(const UpstreamOutcome& outcome) {
  const auto* failure = std::get_if<TransportFailure>(&outcome);
  return failure != nullptr && failure->goes_on;
}

// Matches a failure that ends its exchange.
MATCHER_P2(Failed, cause, body_sent, "") {
  *result_listener << Describe(arg);
  const auto* failure = std::get_if<TransportFailure>(&arg);
  return failure != nullptr && failure->cause == cause && failure->body_sent == body_sent && !GoesOn(arg) &&
         !failure->detail.empty();
}

// Matches a failure after which the exchange continues without its caller.
MATCHER_P(Detached, cause, "") {
  *result_listener << Describe(arg);
  const auto* failure = std::get_if<TransportFailure>(&arg);
  return failure != nullptr && failure->cause == cause && failure->body_sent && GoesOn(arg) && !failure->detail.empty();
}

UpstreamClient::Options OptionsFor(const std::string& base_url) {
  UpstreamClient::Options options;
  options.base_url = base_url;
  options.exchange_timeout = absl::FromChrono(kHang);
  return options;
}

UpstreamClient::Options OptionsFor(const ScriptedServer& server) {
  return OptionsFor(absl::StrCat("http://127.0.0.1:", server.port()));
}

// The metrics of the clients whose test does not look at them.
UpstreamMetrics& SomeMetrics() {
  static auto& registry = *new MetricRegistry;
  static auto& metrics = *new UpstreamMetrics(registry);
  return metrics;
}

std::unique_ptr<UpstreamClient> Connect(const UpstreamClient::Options& options,
                                        UpstreamMetrics& metrics = SomeMetrics()) {
  auto client = UpstreamClient::Create(options, std::make_shared<EventLoops>(1), metrics);
  if (!client.ok()) {
    ADD_FAILURE() << client.status();
    std::abort();
  }
  return *std::move(client);
}

UpstreamClient::Clock::time_point In(absl::Duration time) {
  if (time == absl::InfiniteDuration()) return UpstreamClient::Clock::time_point::max();
  return UpstreamClient::Clock::now() + absl::ToChronoNanoseconds(time);
}

UpstreamOutcome Post(UpstreamClient& client, std::string body = "{}", const UpstreamClient::CallOptions& options = {}) {
  Slot slot;
  client.Post(Stamper::Make("/p", std::move(body)), options, slot.callback(), nullptr);
  return slot.Wait();
}

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string BodyOf(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }

// A server that reads each request, and responds when `release` is set.
struct HangingServer {
  HangingServer()
      : server([this](Connection& connection) {
          while (connection.ReadRequest().has_value()) {
            received.Set();
            release.Wait();
            connection.Write(JsonResponse("late"));
          }
        }) {}
  ~HangingServer() { release.Set(); }

  Signal received;
  Signal release;
  ScriptedServer server;
};

// A server that responds to a request whose path begins with "/hold" when `release` is set, and to every other request
// immediately.
struct HoldingServer {
  explicit HoldingServer(std::optional<ScriptedServer::Tls> tls = std::nullopt)
      : server(
            [this](Connection& connection) {
              while (const auto request = connection.ReadRequest()) {
                if (absl::StrContains(*request, " /hold")) Hold();
                connection.Write(JsonResponse("{}"));
              }
            },
            std::move(tls)) {}
  ~HoldingServer() { release.Set(); }

  void Hold() {
    {
      MutexLock lock(mutex);
      ++held;
      changed.WakeAll();
    }
    release.Wait();
  }

  // Waits until the server holds `count` requests.
  void WaitUntilHeld(int count) {
    MutexLock lock(mutex);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (held < count && !changed.WaitUntil(mutex, deadline)) {
    }
    ASSERT_EQ(held, count);
  }

  Mutex mutex;
  Condition changed;
  int held ABSL_GUARDED_BY(mutex) = 0;
  Signal release;
  ScriptedServer server;
};

// A port to which nobody can connect, because the queue of its listening socket is full.
class BlackHole {
 public:
  BlackHole() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    sockets_.push_back(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(bind(sockets_[0], reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(sockets_[0], 0), 0);
    EXPECT_EQ(getsockname(sockets_[0], reinterpret_cast<sockaddr*>(&address), &length), 0);
    for (int i = 0; i < 4; ++i) {
      sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      // The result does not matter: the attempt fills the queue, or the queue is already full.
      (void)connect(sockets_.back(), reinterpret_cast<sockaddr*>(&address), length);
    }
    url = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
  }
  ~BlackHole() {
    for (const int socket : sockets_) close(socket);
  }

  std::string url;

 private:
  std::vector<int> sockets_;
};

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

// Connections.

TEST(UpstreamClientTest, NeverRepeatsOnAReusedConnection) {
  const std::vector<std::function<void(Connection&)>> endings = {
      [](Connection& connection) {  // reads everything and closes
        connection.ReadRequest();
        connection.Close();
      },
      [](Connection& connection) {  // reads everything and resets
        connection.ReadRequest();
        connection.Reset();
      },
      [](Connection& connection) {  // reads a part of the body and resets
        connection.ReadUntil("\r\n\r\nx");
        connection.Reset();
      },
      [](Connection& connection) {  // begins to answer
        connection.ReadRequest();
        connection.Write("HTTP/1.1 200 OK\r\nContent-");
        connection.Close();
      },
  };
  for (const auto& ending : endings) {
    for (const size_t size : {size_t{2}, size_t{1'000'000}}) {
      SCOPED_TRACE(absl::StrCat("ending ", &ending - endings.data(), " size ", size));
      ScriptedServer server([&](Connection& connection) {
        connection.ReadRequest();
        connection.Write(JsonResponse("{}"));
        if (connection.index() == 0) return ending(connection);
        connection.WaitForClose();
      });
      auto client = Connect(OptionsFor(server));
      EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));
      Slot slot;
      client->Post(Stamper::Make("/second", std::string(size, 'x')), {}, slot.callback(), nullptr);
      EXPECT_THAT(slot.Wait(), Failed(Cause::kBroken, true));
      EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));  // the server has received any repetition by now
      EXPECT_EQ(slot.calls(), 1);
      EXPECT_EQ(server.connections(), 2);
      int seen = 0;
      for (const std::string& request : server.requests()) seen += absl::StartsWith(request, "POST /second");
      EXPECT_LE(seen, 1);
      EXPECT_LE(server.requests().size(), 3u);
    }
  }
}

TEST(UpstreamClientTest, NeverRepeatsOnAnotherIdleConnection) {
  Signal both_open;
  std::atomic<int> open = 0;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    if (++open == 2) both_open.Set();
    both_open.Wait();
    connection.Write(JsonResponse("{}"));
    connection.ReadRequest();
    connection.Close();
  });
  auto client = Connect(OptionsFor(server));
  Slot slots[2];
  for (Slot& slot : slots) client->Post(Stamper::Make("/first", "{}"), {}, slot.callback(), nullptr);
  for (Slot& slot : slots) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  EXPECT_THAT(Post(*client), Failed(Cause::kBroken, true));
  EXPECT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(server.connections(), 2);
}

// Checks that nothing that upstream does to an idle connection affects the next call, because the client sends this
// call on another connection. `respond` must send the response "first", and may send more. `rest` then runs while the
// connection is idle.
void RestingConnection(const std::function<void(Connection&)>& respond, const std::function<void(Connection&)>& rest,
                       std::optional<TestCertificate> certificate) {
  Signal answered;
  Signal rested;
  ScriptedServer server(
      [&](Connection& connection) {
        connection.ReadRequest();
        if (connection.index() > 0) {
          connection.Write(JsonResponse("second"));
          return connection.WaitForClose();
        }
        respond(connection);
        answered.Wait();
        rest(connection);
        rested.Set();
        connection.WaitForClose();
      },
      certificate.has_value() ? std::optional(ScriptedServer::Tls{*certificate}) : std::nullopt);
  UpstreamClient::Options options = OptionsFor(server);
  if (certificate.has_value()) {
    options.base_url = absl::StrCat("https://127.0.0.1:", server.port());
    options.ca_file = WriteFile("resting.pem", certificate->certificate_pem);
  }
  auto client = Connect(options);
  EXPECT_THAT(Post(*client), IsAnswer(200, "first"));
  answered.Set();
  rested.Wait();
  EXPECT_THAT(Post(*client), IsAnswer(200, "second"));
  EXPECT_THAT(server.requests(), SizeIs(2));
  EXPECT_EQ(server.connections(), 2);
}

TEST(UpstreamClientTest, SendsNothingOnAConnectionThatIsNoLongerQuiet) {
  const std::string first = JsonResponse("first");
  const std::string stale = JsonResponse("stale", "408 Request Timeout");
  const auto nothing = [](Connection&) {};
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls);
    const auto certificate = tls ? std::optional(MakeCertificate("127.0.0.1")) : std::nullopt;
    const auto respond = [&](Connection& connection) { connection.Write(first); };
    RestingConnection(
        respond, [&](Connection& connection) { connection.Write(stale); }, certificate);
    RestingConnection(
        respond, [&](Connection& connection) { connection.Close(); }, certificate);
    RestingConnection(
        respond,
        [&](Connection& connection) {
          connection.Write(stale);
          connection.Close();
        },
        certificate);
    RestingConnection([&](Connection& connection) { connection.Write(first + stale); }, nothing, certificate);
    RestingConnection([&](Connection& connection) { connection.WriteTogether({first, stale}); }, nothing, certificate);
  }
}

TEST(UpstreamClientTest, ReportsAServerThatCannotBeReached) {
  int refused;
  {
    ScriptedServer gone([](Connection&) {});
    refused = gone.port();
  }
  EXPECT_THAT(Post(*Connect(OptionsFor(absl::StrCat("http://127.0.0.1:", refused)))),
              Failed(Cause::kUnreachable, false));

  UpstreamClient::Options options = OptionsFor("https://stampgate.invalid");
  options.connect_timeout = absl::Seconds(2);  // limits the wait if there is no name server
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));

  const BlackHole black_hole;
  options = OptionsFor(black_hole.url);
  options.connect_timeout = absl::Milliseconds(50);
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));

  ScriptedServer silent([](Connection& connection) { connection.WaitForClose(); });
  options = OptionsFor(absl::StrCat("https://127.0.0.1:", silent.port()));
  options.connect_timeout = absl::Milliseconds(100);
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));
}

// TLS.

class TlsTest : public ::testing::Test {
 protected:
  std::string CaFile(const TestCertificate& certificate) { return WriteFile("ca.pem", certificate.certificate_pem); }

  UpstreamOutcome PostTo(const ScriptedServer& server, const std::string& host, const std::string& ca_file) {
    UpstreamClient::Options options = OptionsFor(absl::StrCat("https://", host, ":", server.port()));
    options.ca_file = ca_file;
    auto client = Connect(options);
    const UpstreamOutcome first = Post(*client);
    const UpstreamOutcome second = Post(*client);
    EXPECT_EQ(first.index(), second.index());
    return first;
  }
};

TEST_F(TlsTest, VerifiesAndKeepsAlive) {
  const TestCertificate certificate = MakeCertificate("127.0.0.1");
  {
    ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{certificate});
    EXPECT_THAT(PostTo(server, "127.0.0.1", CaFile(certificate)), IsAnswer(200, "{}"));
    EXPECT_THAT(server.requests(), SizeIs(2));
    EXPECT_EQ(server.connections(), 1);
  }
  const TestCertificate named = MakeCertificate("localhost");
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{named});
  EXPECT_THAT(PostTo(server, "localhost", CaFile(named)), IsAnswer(200, "{}"));
}

TEST_F(TlsTest, SendsNothingToTheWrongServer) {
  const TestCertificate right = MakeCertificate("127.0.0.1");
  const TestCertificate other_host = MakeCertificate("upstream.example");
  const TestCertificate expired = MakeCertificate("127.0.0.1", /*expired=*/true);
  struct Row {
    const char* name;
    ScriptedServer::Tls tls;
    std::string ca_file;
  };
  for (const Row& row : {Row{"unknown authority", {right}, WriteFile("other.pem", other_host.certificate_pem)},
                         Row{"system's authorities", {right}, ""},
                         Row{"other host", {other_host}, WriteFile("host.pem", other_host.certificate_pem)},
                         Row{"expired", {expired}, WriteFile("expired.pem", expired.certificate_pem)},
                         Row{"TLS 1.1", {right, TLS1_1_VERSION}, WriteFile("right.pem", right.certificate_pem)}}) {
    ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), row.tls);
    EXPECT_THAT(PostTo(server, "127.0.0.1", row.ca_file), Failed(Cause::kTls, false)) << row.name;
    EXPECT_THAT(server.requests(), IsEmpty()) << row.name;
  }
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{right, TLS1_2_VERSION});
  EXPECT_THAT(PostTo(server, "127.0.0.1", CaFile(right)), IsAnswer(200, "{}"));
}

TEST_F(TlsTest, NeverRepeatsOnAReusedConnection) {
  const TestCertificate certificate = MakeCertificate("127.0.0.1");
  ScriptedServer server(
      [](Connection& connection) {
        connection.ReadRequest();
        connection.Write(JsonResponse("{}"));
        connection.ReadRequest();
        connection.Close();
      },
      ScriptedServer::Tls{certificate});
  UpstreamClient::Options options = OptionsFor(absl::StrCat("https://127.0.0.1:", server.port()));
  options.ca_file = CaFile(certificate);
  auto client = Connect(options);
  EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));
  EXPECT_THAT(Post(*client, "second"), Failed(Cause::kBroken, true));
  EXPECT_THAT(Post(*client, "third"), IsAnswer(200, "{}"));
  EXPECT_THAT(server.requests(), SizeIs(3));
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

// Time and cancellation.

TEST(UpstreamClientTest, DoesNotBeginAfterTheDeadline) {
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")));
  auto client = Connect(OptionsFor(server));
  for (const auto deadline :
       {In(absl::ZeroDuration()), In(-absl::Hours(1)), UpstreamClient::Clock::time_point::min()}) {
    EXPECT_THAT(Post(*client, "{}", {.lane = Lane::kSubmit, .deadline = deadline}), Failed(Cause::kTimeout, false));
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST(UpstreamClientTest, StopsAtTheDeadlineBeforeAnythingIsSent) {
  const BlackHole black_hole;
  auto client = Connect(OptionsFor(black_hole.url));
  for (const Lane lane : {Lane::kQuery, Lane::kSubmit}) {
    EXPECT_THAT(Post(*client, "{}", {.lane = lane, .deadline = In(absl::Milliseconds(20))}),
                Failed(Cause::kTimeout, false));
    Slot slot;
    client->Cancel(client->Post(Stamper::Make("/p", "{}"), {.lane = lane}, slot.callback(), nullptr));
    EXPECT_THAT(slot.Wait(), Failed(Cause::kCancelled, false));
  }
}

TEST(UpstreamClientTest, StopsAtTheDeadlineAfterTheBodyIsSent) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kQuery, .deadline = In(kShort)}, done.callback(),
               late.callback());
  EXPECT_THAT(done.Wait(), Failed(Cause::kTimeout, true));
  hanging.release.Set();
  EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
  EXPECT_EQ(hanging.server.connections(), 2);
  EXPECT_EQ(late.calls(), 0);
}

TEST(UpstreamClientTest, DetachesAtTheDeadlineAfterTheBodyIsSent) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit, .deadline = In(kShort)},
                               done.callback(), late.callback());
  EXPECT_THAT(done.Wait(), Detached(Cause::kTimeout));
  client->Cancel(id);  // has no effect, because the exchange is detached
  EXPECT_EQ(late.calls(), 0);
  hanging.release.Set();
  EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
  EXPECT_EQ(hanging.server.connections(), 1);
  EXPECT_EQ(done.calls(), 1);
  EXPECT_EQ(late.calls(), 1);
}

TEST(UpstreamClientTest, CancelsAfterTheBodyIsSent) {
  for (const Lane lane : {Lane::kQuery, Lane::kSubmit}) {
    HangingServer hanging;
    auto client = Connect(OptionsFor(hanging.server));
    Slot done;
    Slot late;
    const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = lane}, done.callback(), late.callback());
    hanging.received.Wait();
    client->Cancel(id);
    client->Cancel(id);
    client->Cancel(id + 1000);
    if (lane == Lane::kSubmit) {
      EXPECT_THAT(done.Wait(), Detached(Cause::kCancelled));
    } else {
      EXPECT_THAT(done.Wait(), Failed(Cause::kCancelled, true));
    }
    hanging.release.Set();
    if (lane == Lane::kSubmit) {
      EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
    }
    EXPECT_THAT(Post(*client), IsAnswer(200, "late"));
    EXPECT_EQ(hanging.server.connections(), lane == Lane::kSubmit ? 1 : 2);
    EXPECT_EQ(done.calls(), 1);
    EXPECT_EQ(late.calls(), lane == Lane::kSubmit ? 1 : 0);
  }
}

TEST(UpstreamClientTest, EndsADetachedExchangeAtTheExchangeTimeout) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.exchange_timeout = absl::Seconds(2);
  auto client = Connect(options);
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  EXPECT_THAT(done.Wait(), Detached(Cause::kCancelled));
  EXPECT_THAT(late.Wait(), Failed(Cause::kTimeout, true));
}

TEST(UpstreamClientTest, DoesNotDetachWhatTheExchangeTimeoutEnds) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.exchange_timeout = absl::Seconds(1);
  auto client = Connect(options);
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  EXPECT_THAT(done.Wait(), Failed(Cause::kTimeout, true));
  client->Cancel(id);
  client->Shutdown(absl::InfiniteDuration());
  EXPECT_EQ(done.calls(), 1);
  EXPECT_EQ(late.calls(), 0);
}

TEST(UpstreamClientTest, EndsCallsThatWaitForAConnection) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.max_connections = 1;
  auto client = Connect(options);
  Slot first;
  client->Post(Stamper::Make("/first", "{}"), {}, first.callback(), nullptr);
  hanging.received.Wait();
  Slot cancelled;
  const auto id =
      client->Post(Stamper::Make("/cancelled", "{}"), {.lane = Lane::kSubmit}, cancelled.callback(), nullptr);
  Slot last;
  client->Post(Stamper::Make("/last", "{}"), {}, last.callback(), nullptr);
  EXPECT_THAT(Post(*client, "{}", {.deadline = In(kShort)}), Failed(Cause::kNoSlot, false));
  client->Cancel(id);
  EXPECT_THAT(cancelled.Wait(), Failed(Cause::kCancelled, false));
  hanging.release.Set();
  EXPECT_THAT(first.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(last.Wait(), IsAnswer(200, "late"));
  EXPECT_THAT(hanging.server.requests(), SizeIs(2));
}

// Lanes.

// Makes a call that upstream answers immediately, and returns its outcome.
UpstreamOutcome PostQuick(UpstreamClient& client, Lane lane, absl::Duration time = absl::InfiniteDuration()) {
  return Post(client, "{}", {.lane = lane, .deadline = In(time)});
}

TEST(UpstreamClientTest, AFullLaneDelaysNoOtherLane) {
  constexpr Lane kLanes[] = {Lane::kSubmit, Lane::kQuery, Lane::kKeySet};
  for (const Lane full : kLanes) {
    SCOPED_TRACE(static_cast<int>(full));
    HoldingServer holding;
    UpstreamClient::Options options = OptionsFor(holding.server);
    options.max_connections = 2;
    auto client = Connect(options);
    std::vector<Slot> held(2);
    for (Slot& slot : held) client->Post(Stamper::Make("/hold", "{}"), {.lane = full}, slot.callback(), nullptr);
    holding.WaitUntilHeld(2);
    Slot waiting;
    client->Post(Stamper::Make("/waiting", "{}"), {.lane = full}, waiting.callback(), nullptr);
    EXPECT_THAT(PostQuick(*client, full, kShort), Failed(Cause::kNoSlot, false));
    for (const Lane lane : kLanes) {
      if (lane != full) {
        EXPECT_THAT(PostQuick(*client, lane), IsAnswer(200, "{}")) << static_cast<int>(lane);
      }
    }
    EXPECT_EQ(waiting.calls(), 0);
    EXPECT_THAT(holding.server.requests(), SizeIs(4));
    holding.release.Set();
    for (Slot& slot : held) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
    EXPECT_THAT(waiting.Wait(), IsAnswer(200, "{}"));
  }
}

TEST(UpstreamClientTest, ShowsTheStateOfItsLanes) {
  HoldingServer holding;
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 1;
  MetricRegistry registry;
  UpstreamMetrics metrics(registry);
  auto client = Connect(options, metrics);
  Slot first;
  const auto id = client->Post(Stamper::Make("/hold", "{}"), {.lane = Lane::kQuery}, first.callback(), nullptr);
  holding.WaitUntilHeld(1);
  EXPECT_EQ(metrics[Lane::kQuery].in_flight.Value(), 1);
  EXPECT_THAT(PostQuick(*client, Lane::kQuery, kShort), Failed(Cause::kNoSlot, false));
  client->Cancel(id);
  EXPECT_THAT(first.Wait(), Failed(Cause::kCancelled, true));
  EXPECT_THAT(PostQuick(*client, Lane::kQuery), IsAnswer(200, "{}"));
  client.reset();
  EXPECT_EQ(metrics[Lane::kQuery].in_flight.Value(), 0);
  EXPECT_EQ(metrics[Lane::kQuery].waiting.Value(), 0);
  const auto of_query = [&](absl::string_view suffix) {
    return ValueOf(registry, absl::StrCat("stampgate_upstream_exchange_duration_seconds_", suffix, "{lane=\"query\"}"));
  };
  EXPECT_EQ(of_query("count"), "2");
  double seconds = 0;
  ASSERT_TRUE(absl::SimpleAtod(of_query("sum"), &seconds));
  EXPECT_GE(absl::Seconds(seconds), kShort);
}

TEST(UpstreamClientTest, BeginsNoSubmitWhileDetachedSubmitsFillTheirPlaces) {
  HoldingServer holding;
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 2;
  options.max_detached = 3;
  MetricRegistry registry;
  UpstreamMetrics metrics(registry);
  auto client = Connect(options, metrics);
  std::vector<Slot> done(4);
  std::vector<Slot> late(4);
  std::vector<UpstreamClient::CallId> ids;
  const auto begin_two = [&] {
    for (int i = 0; i < 2; ++i) {
      const size_t n = ids.size();
      ids.push_back(client->Post(Stamper::Make("/hold", "{}"), {}, done[n].callback(), late[n].callback()));
    }
    holding.WaitUntilHeld(static_cast<int>(ids.size()));
  };
  // When a submit is detached, its slot in the submit lane is free for the next submit.
  begin_two();
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  for (int i = 0; i < 2; ++i) client->Cancel(ids[i]);
  begin_two();
  // The third detached submit takes the last slot of detached submits. So no submit begins, although the submit lane
  // has a free slot.
  client->Cancel(ids[2]);
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  // A submit that has already begun can still be detached.
  client->Cancel(ids[3]);
  for (Slot& slot : done) EXPECT_THAT(slot.Wait(), Detached(Cause::kCancelled));
  EXPECT_EQ(metrics.detached.Value(), 4);
  EXPECT_THAT(PostQuick(*client, Lane::kSubmit, kShort), Failed(Cause::kNoSlot, false));
  std::vector<Slot> waiting(5);
  for (size_t i = 0; i < waiting.size(); ++i) {
    client->Post(Stamper::Make(absl::StrCat("/waiting", i), "{}"), {}, waiting[i].callback(), nullptr);
  }
  for (const Lane lane : {Lane::kQuery, Lane::kKeySet}) EXPECT_THAT(PostQuick(*client, lane), IsAnswer(200, "{}"));
  EXPECT_THAT(holding.server.requests(), SizeIs(6));

  holding.release.Set();
  for (Slot& slot : late) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  for (Slot& slot : waiting) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  client->Shutdown(absl::InfiniteDuration());
  EXPECT_EQ(metrics.detached.Value(), 0);
}

// Many calls.

// Responds to each request with the request's body, so that a test detects a response to another request.
ScriptedServer::Script Echo() {
  return [](Connection& connection) {
    while (const auto request = connection.ReadRequest()) connection.Write(JsonResponse(BodyOf(*request)));
  };
}

TEST(UpstreamClientTest, EachCallerGetsItsOwnOutcomeOnce) {
  ScriptedServer server(Echo());
  auto client = Connect(OptionsFor(server));
  constexpr int kThreads = 64;
  constexpr int kCalls = 50;
  std::vector<std::vector<Slot>> done(kThreads, std::vector<Slot>());
  std::vector<std::vector<Slot>> late(kThreads, std::vector<Slot>());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int c = 0; c < kCalls; ++c) {
        Slot& slot = done[t].emplace_back();
        UpstreamClient::CallOptions options;
        if (c % 5 == 1) options.deadline = In(absl::Microseconds(100 * c));
        options.lane = c % 2 == 1 ? Lane::kSubmit : Lane::kQuery;
        const auto id = client->Post(Stamper::Make("/p", absl::StrCat(t, "/", c)), options, slot.callback(),
                                     late[t].emplace_back().callback());
        if (c % 5 == 2) client->Cancel(id);
        if (c % 5 == 3) slot.Wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  client->Shutdown(absl::FromChrono(kHang));
  for (int t = 0; t < kThreads; ++t) {
    for (int c = 0; c < kCalls; ++c) {
      EXPECT_EQ(done[t][c].calls(), 1);
      const std::string body = absl::StrCat(t, "/", c);
      if (c % 5 != 1 && c % 5 != 2) {
        EXPECT_THAT(done[t][c].Wait(), IsAnswer(200, body));
      } else {
        const Cause cause = c % 5 == 1 ? Cause::kTimeout : Cause::kCancelled;
        EXPECT_THAT(done[t][c].Wait(), AnyOf(IsAnswer(200, body), Failed(cause, true), Failed(cause, false),
                                             Detached(cause), Failed(Cause::kNoSlot, false)));
      }
      EXPECT_EQ(late[t][c].calls(), GoesOn(done[t][c].Wait()) ? 1 : 0);
      if (late[t][c].calls() == 1) {
        EXPECT_THAT(late[t][c].Wait(), IsAnswer(200, body));
      }
    }
  }
}

TEST(UpstreamClientTest, AThousandCallsShareAHundredConnections) {
  constexpr int kCalls = 1000;
  constexpr int kConnections = 100;
  struct {
    Mutex mutex;
    int count ABSL_GUARDED_BY(mutex) = 0;
  } waiting;
  Signal all_busy;
  Signal release;
  ScriptedServer server([&](Connection& connection) {
    while (const auto request = connection.ReadRequest()) {
      {
        MutexLock lock(waiting.mutex);
        if (++waiting.count == kConnections) all_busy.Set();
      }
      release.Wait();
      connection.Write(JsonResponse(BodyOf(*request)));
    }
  });
  UpstreamClient::Options options = OptionsFor(server);
  options.max_connections = kConnections;
  auto client = Connect(options);
  std::vector<Slot> slots(kCalls);
  std::vector<UpstreamClient::CallId> ids;
  for (int i = 0; i < kCalls; ++i) {
    ids.push_back(client->Post(Stamper::Make("/p", absl::StrCat(i)), {}, slots[i].callback(), nullptr));
  }
  all_busy.Wait();
  EXPECT_THAT(server.requests(), SizeIs(kConnections));
  for (int i = kConnections; i < kCalls; i += 3) client->Cancel(ids[i]);
  for (int i = kConnections; i < kCalls; i += 3) {
    EXPECT_THAT(slots[i].Wait(), Failed(Cause::kCancelled, false));
  }
  release.Set();
  for (int i = 0; i < kCalls; ++i) {
    if (i >= kConnections && (i - kConnections) % 3 == 0) continue;
    EXPECT_THAT(slots[i].Wait(), IsAnswer(200, absl::StrCat(i)));
    EXPECT_EQ(slots[i].calls(), 1);
  }
  EXPECT_EQ(server.connections(), kConnections);
}

// Several loops.

TEST(UpstreamClientTest, ACallEndsOnTheLoopOnWhichItBegan) {
  ScriptedServer server(Echo());
  const auto loops = std::make_shared<EventLoops>(3);
  auto client = *UpstreamClient::Create(OptionsFor(server), loops, SomeMetrics());
  constexpr int kCalls = 300;
  std::vector<Slot> slots(kCalls);
  std::atomic<int> strayed = 0;
  for (int i = 0; i < kCalls; ++i) {
    EventLoop& loop = (*loops)[i % 3];
    loop.Run([&, i] {
      client->Post(
          Stamper::Make("/p", absl::StrCat(i)), {},
          [&, done = slots[i].callback()](UpstreamOutcome outcome) mutable {
            if (EventLoop::Current() != &loop) ++strayed;
            done(std::move(outcome));
          },
          nullptr);
    });
  }
  for (int i = 0; i < kCalls; ++i) EXPECT_THAT(slots[i].Wait(), IsAnswer(200, absl::StrCat(i)));
  EXPECT_EQ(strayed, 0);
}

TEST(UpstreamClientTest, TheLoopsShareThePlaces) {
  HoldingServer holding;
  const auto loops = std::make_shared<EventLoops>(3);
  UpstreamClient::Options options = OptionsFor(holding.server);
  options.max_connections = 2;
  auto client = *UpstreamClient::Create(options, loops, SomeMetrics());
  std::vector<Slot> slots(9);
  std::vector<UpstreamClient::CallId> ids(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    (*loops)[i % 3].Run(
        [&, i] { ids[i] = client->Post(Stamper::Make("/hold", "{}"), {}, slots[i].callback(), nullptr); });
    loops->WaitForTasks();
  }
  holding.WaitUntilHeld(2);
  // Calls that wait may be cancelled on any thread.
  for (const size_t i : {2, 3, 8}) client->Cancel(ids[i]);
  for (const size_t i : {2, 3, 8}) EXPECT_THAT(slots[i].Wait(), Failed(Cause::kCancelled, false));
  holding.WaitUntilHeld(2);
  holding.release.Set();
  for (const size_t i : {0, 1, 4, 5, 6, 7}) EXPECT_THAT(slots[i].Wait(), IsAnswer(200, "{}"));
}

TEST(UpstreamClientTest, ShutdownEndsTheCallsOfAllLoops) {
  HangingServer hanging;
  const auto loops = std::make_shared<EventLoops>(3);
  auto client = *UpstreamClient::Create(OptionsFor(hanging.server), loops, SomeMetrics());
  std::vector<Slot> slots(9);
  for (size_t i = 0; i < slots.size(); ++i) {
    (*loops)[i % 3].Run([&, i] { client->Post(Stamper::Make("/p", "{}"), {}, slots[i].callback(), nullptr); });
  }
  hanging.received.Wait();
  loops->WaitForTasks();
  client->Shutdown(absl::Milliseconds(20));
  for (Slot& slot : slots) {
    EXPECT_EQ(slot.calls(), 1);
    EXPECT_THAT(slot.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  }
}

TEST(UpstreamClientTest, MayBeCalledFromItsCallbacks) {
  ScriptedServer server(Echo());
  auto client = Connect(OptionsFor(server));
  Slot last;
  std::function<void(int)> post = [&](int left) {
    client->Post(
        Stamper::Make("/p", absl::StrCat(left)), {},
        [&, left](UpstreamOutcome outcome) {
          if (left == 0) return last.callback()(std::move(outcome));
          post(left - 1);
          client->Cancel(1);
        },
        nullptr);
  };
  post(20);
  EXPECT_THAT(last.Wait(), IsAnswer(200, "0"));
}

// Shutdown.

TEST(UpstreamClientTest, ShutdownEndsTheRemainingExchanges) {
  HangingServer hanging;
  UpstreamClient::Options options = OptionsFor(hanging.server);
  options.max_connections = 1;
  auto client = Connect(options);
  Slot running;
  Slot detached;
  Slot late;
  Slot waiting;
  const auto id =
      client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, detached.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  EXPECT_THAT(detached.Wait(), Detached(Cause::kCancelled));
  client->Post(Stamper::Make("/p", "{}"), {}, running.callback(), nullptr);
  client->Post(Stamper::Make("/p", "{}"), {}, waiting.callback(), nullptr);
  client->Shutdown(absl::Milliseconds(20));
  EXPECT_EQ(running.calls() + waiting.calls() + late.calls(), 3);
  EXPECT_THAT(running.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  EXPECT_THAT(waiting.Wait(), Failed(Cause::kShutdown, false));
  EXPECT_THAT(late.Wait(), Failed(Cause::kShutdown, true));
  EXPECT_THAT(Post(*client), Failed(Cause::kShutdown, false));
  client->Shutdown(absl::InfiniteDuration());
}

TEST(UpstreamClientTest, ShutdownWaitsForDetachedExchanges) {
  HangingServer hanging;
  auto client = Connect(OptionsFor(hanging.server));
  Slot done;
  Slot late;
  const auto id = client->Post(Stamper::Make("/p", "{}"), {.lane = Lane::kSubmit}, done.callback(), late.callback());
  hanging.received.Wait();
  client->Cancel(id);
  done.Wait();
  std::thread shutdown([&] { client->Shutdown(absl::InfiniteDuration()); });
  hanging.release.Set();
  shutdown.join();
  EXPECT_EQ(late.calls(), 1);
  EXPECT_THAT(late.Wait(), IsAnswer(200, "late"));
}

TEST(UpstreamClientTest, TheDestructorEndsEveryCall) {
  HangingServer hanging;
  std::vector<Slot> slots(100);
  {
    auto client = Connect(OptionsFor(hanging.server));
    for (Slot& slot : slots) client->Post(Stamper::Make("/p", "{}"), {}, slot.callback(), nullptr);
  }
  for (Slot& slot : slots) EXPECT_EQ(slot.calls(), 1);
  for (Slot& slot : slots) {
    EXPECT_THAT(slot.Wait(), AnyOf(Failed(Cause::kShutdown, true), Failed(Cause::kShutdown, false)));
  }
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

TEST(ParseBaseUrlTest, AcceptsHttpsAndLoopback) {
  for (const char* url : {"https://upstream.example", "https://upstream.example:8443", "https://10.0.0.1",
                          "http://127.0.0.1:8080", "http://127.255.0.3", "http://localhost:1", "http://[::1]:8080"}) {
    const auto parsed = ParseBaseUrl(url);
    ASSERT_TRUE(parsed.ok()) << url;
    EXPECT_TRUE(absl::StartsWith(*parsed, url)) << *parsed;
  }
}

TEST(ParseBaseUrlTest, RefusesEverythingElse) {
  for (const char* url : {"",
                          "upstream.example",
                          "ftp://upstream.example",
                          "file:///etc/passwd",
                          "https://",
                          "https:///p",
                          "https://upstream.example/",
                          "https://upstream.example/v1",
                          "https://upstream.example?a",
                          "https://a#b",
                          "https://user@upstream.example",
                          "https://user:word@upstream.example",
                          "https://upstream.example\\@evil",
                          "https://up stream",
                          "https://upstream.example\r\n",
                          "https://upstream.example:99999",
                          "https://a:b",
                          "http://upstream.example",
                          "http://10.0.0.1",
                          "http://128.0.0.1",
                          "http://0.0.0.0",
                          "http://[::]",
                          "http://[::ffff:10.0.0.1]",
                          "http://127.0.0.1.evil.example",
                          "http://localhost.evil.example",
                          "http://%31%32%37.0.0.1",
                          "http://127.0.0.1@evil.example",
                          "http://2130706432.example"}) {
    const auto parsed = ParseBaseUrl(url);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(parsed.status().message(), Not(HasSubstr("word")));
  }
}

TEST(ConnectFailureTest, MapsLibcurlsCodes) {
  for (const auto& [code, cause] :
       {std::pair(CURLE_COULDNT_RESOLVE_HOST, Cause::kUnreachable),
        std::pair(CURLE_COULDNT_CONNECT, Cause::kUnreachable), std::pair(CURLE_OPERATION_TIMEDOUT, Cause::kUnreachable),
        std::pair(CURLE_SSL_CONNECT_ERROR, Cause::kTls), std::pair(CURLE_PEER_FAILED_VERIFICATION, Cause::kTls),
        std::pair(CURLE_SSL_CACERT_BADFILE, Cause::kTls), std::pair(CURLE_OUT_OF_MEMORY, Cause::kBroken),
        std::pair(CURLE_LDAP_CANNOT_BIND, Cause::kBroken)}) {
    const TransportFailure failure = ConnectFailure(code, "");
    EXPECT_EQ(failure.cause, cause) << code;
    EXPECT_FALSE(failure.body_sent) << code;
    EXPECT_FALSE(failure.detail.empty());
  }
  EXPECT_EQ(ConnectFailure(CURLE_COULDNT_CONNECT, "a\r\nb\x1b[0m").detail, "Could not connect to server: a??b?[0m");
  EXPECT_LE(ConnectFailure(CURLE_COULDNT_CONNECT, std::string(5000, 'x')).detail.size(), 300u);
}

}  // namespace
}  // namespace stampgate
