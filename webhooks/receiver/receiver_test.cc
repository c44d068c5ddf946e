#include "webhooks/receiver/receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/http/test_client.h"
#include "base/loop/event_loops.h"
#include "base/threads/mutex.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The limit of each wait. It is much longer than a wait should take, and a test fails if a wait exceeds it.
constexpr std::chrono::seconds kHang(60);

// A path that peers cannot guess.
constexpr char kPath[] = "/hooks/5b1f0f0e9c7c4d7f";

std::string Post(absl::string_view body, absl::string_view headers = "", absl::string_view path = kPath) {
  return absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: h\r\n", headers, "Content-Length: ", body.size(), "\r\n\r\n",
                      body);
}

ReceiverOptions LocalOptions() {
  ReceiverOptions options;
  options.listen_address = "127.0.0.1:0";
  options.paths = [] { return std::vector<std::string>{"/other", kPath}; };
  return options;
}

// Keeps deliveries and their Answers. The test calls the Answers.
class Inbox {
 public:
  struct Item {
    Delivery delivery;
    Answer answer;
  };

  TakeDelivery take() {
    return [this](Delivery delivery, Answer answer) {
      MutexLock lock(mutex_);
      items_.push_back({std::move(delivery), std::move(answer)});
      changed_.WakeAll();
    };
  }

  // Removes and returns the oldest delivery. If there is no delivery, waits for the next one.
  Item Next() {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kHang;
    while (items_.empty() && !changed_.WaitUntil(mutex_, deadline)) {
    }
    if (items_.empty()) {
      ADD_FAILURE() << "no delivery has arrived";
      std::abort();
    }
    Item item = std::move(items_.front());
    items_.erase(items_.begin());
    return item;
  }

  size_t size() {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);
};

// The loops outlive every receiver, so that an Answer may be called later.
std::shared_ptr<EventLoops> Loops() {
  static const auto loops = std::make_shared<EventLoops>(2);
  return loops;
}

std::unique_ptr<Receiver> Start(const ReceiverOptions& options, TakeDelivery take,
                                const std::shared_ptr<EventLoops>& loops = Loops()) {
  auto receiver = Receiver::Start(options, loops, std::move(take));
  if (!receiver.ok()) {
    ADD_FAILURE() << receiver.status();
    std::abort();
  }
  return *std::move(receiver);
}

void AnswerOk(const Delivery&, Answer answer) { answer(200); }

TEST(ReceiverTest, PassesOnHeadersAndBodyUnchanged) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient client(receiver->url());
  client.Send(absl::StrCat("POST ", kPath, " HTTP/1.1\r\nhost: h\r\nX-a:  1 \r\nx-A:\t2\t3 \r\nX-Empty:\r\nX-A: 1\r\n",
                           "Content-Length: 4\r\n\r\n", absl::string_view("{\0}\n", 4)));
  Inbox::Item item = inbox.Next();
  std::vector<std::pair<std::string, std::string>> headers;
  for (const HeaderField& field : item.delivery.headers) headers.emplace_back(field.name, field.value);
  EXPECT_THAT(headers, ElementsAre(std::pair("host", "h"), std::pair("X-a", "1"), std::pair("x-A", "2\t3"),
                                   std::pair("X-A", "1"), std::pair("X-Empty", ""), std::pair("Content-Length", "4")));
  EXPECT_EQ(item.delivery.body, std::string("{\0}\n", 4));
  item.answer(200);
  EXPECT_EQ(client.ReadAnswer(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(ReceiverTest, SendsTheStatusThatTheAnswerGets) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient client(receiver->url());
  for (const int status : {200, 400, 401, 503, 200}) {
    client.Send(Post("{}"));
    inbox.Next().answer(status);
    const std::string answer = client.ReadAnswer();
    EXPECT_EQ(Statuses(answer), absl::StrCat(status));
    EXPECT_EQ(absl::StrContains(answer, "\r\nRetry-After: 5\r\n"), status == 503);
  }
}

TEST(ReceiverTest, ListensOnIpv6) {
  ReceiverOptions options = LocalOptions();
  options.listen_address = "[::1]:0";
  const auto receiver = Receiver::Start(options, Loops(), &AnswerOk);
  if (receiver.status().code() == absl::StatusCode::kUnavailable) GTEST_SKIP() << "this machine has no IPv6";
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  EXPECT_THAT((*receiver)->url(), HasSubstr("http://[::1]:"));
  HttpTestClient client((*receiver)->url());
  client.Send(Post("{}"));
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
}

TEST(ReceiverTest, RejectsUnusableOptions) {
  const auto start = [](const std::function<void(ReceiverOptions&)>& change) {
    ReceiverOptions options = LocalOptions();
    change(options);
    return Receiver::Start(options, Loops(), &AnswerOk).status().code();
  };
  using absl::StatusCode;
  EXPECT_EQ(start([](auto& options) { options.listen_address = "somewhere:80"; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(start([](auto& options) { options.max_connections = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(start([](auto& options) { options.tls_private_key_file = "key.pem"; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(start([](auto& options) { options.listen_address = "192.0.2.1:0"; }), StatusCode::kUnavailable);

  const auto first = Start(LocalOptions(), &AnswerOk);
  ReceiverOptions same = LocalOptions();
  same.listen_address = first->url().substr(sizeof("http://") - 1);
  const absl::Status taken = Receiver::Start(same, Loops(), &AnswerOk).status();
  EXPECT_EQ(taken.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(taken.message()), HasSubstr(same.listen_address));
}

TEST(ReceiverTest, SendsTheSameBytesForAllUnknownTargets) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  const auto answer = [&receiver](const std::string& request) {
    HttpTestClient client(receiver->url());
    client.Send(request);
    client.EndSending();
    return client.ReadToEnd();
  };
  const std::string unknown = answer(Post("{}", "", "/"));
  EXPECT_EQ(unknown, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const std::string path = kPath;
  for (const std::string& target : {path + "/",
                                    path + "?",
                                    path + "?a=b",
                                    path + "#",
                                    path.substr(0, path.size() - 1),
                                    path + "0",
                                    "/" + path,
                                    std::string("/hooks/5B1F0F0E9C7C4D7F"),
                                    std::string("/hooks/"),
                                    std::string("/./other"),
                                    std::string("/%6fther"),
                                    std::string("other"),
                                    "ftp://h" + path,
                                    "http:/h" + path,
                                    "http://" + path,
                                    std::string("http://h"),
                                    "http://h?" + path,
                                    "//h" + path,
                                    std::string("*"),
                                    std::string("/favicon.ico"),
                                    std::string(8000, 'a')}) {
    EXPECT_EQ(answer(Post("{}", "", target)), unknown) << target;
    EXPECT_EQ(answer("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"), unknown) << target;
    EXPECT_EQ(answer("POST " + target + " HTTP/1.0\r\nContent-Length: 999999999\r\n\r\n"), unknown) << target;
  }
  EXPECT_EQ(Statuses(answer(Post("{}", "Connection: close\r\n", "/other"))), "200.");
}

// RFC 9112, 3.2.2, requires servers to accept an absolute URL as target. The receiver ignores the part before the path.
TEST(ReceiverTest, AcceptsAnAbsoluteUrlAsTarget) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  HttpTestClient client(receiver->url());
  for (const char* origin : {"http://h", "https://gateway.example:8443", "HTTP://user@h", "http://[::1]:80"}) {
    client.Send(Post("{}", "", absl::StrCat(origin, kPath)));
    EXPECT_EQ(Statuses(client.ReadAnswer()), "200") << origin;
  }
}

TEST(ReceiverTest, ResponseToAnotherMethodNamesTheAllowedOne) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  HttpTestClient client(receiver->url());
  client.Send(absl::StrCat("GET ", kPath, " HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(client.ReadToEnd(),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: POST\r\nConnection: close\r\n\r\n");
}

// Sends `bytes` in pieces of random sizes.
bool SendOddly(HttpTestClient& client, absl::string_view bytes) {
  std::minstd_rand random(7);
  while (!bytes.empty()) {
    const absl::string_view piece = bytes.substr(0, 1 + random() % 40000);
    if (!client.Send(piece)) return false;
    bytes.remove_prefix(piece.size());
  }
  return true;
}

std::string InChunks(absl::string_view body) {
  std::minstd_rand random(8);
  std::string request = absl::StrCat("POST ", kPath, " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (!body.empty()) {
    const absl::string_view chunk = body.substr(0, 1 + random() % 30000);
    absl::StrAppend(&request, absl::Hex(chunk.size()), "\r\n", chunk, "\r\n");
    body.remove_prefix(chunk.size());
  }
  return request + "0\r\n\r\n";
}

TEST(ReceiverTest, KeepsBodiesOfAllSizesByteForByte) {
  Inbox inbox;
  const ReceiverOptions options = LocalOptions();
  const auto receiver = Start(options, inbox.take());
  std::mt19937 random(1);
  HttpTestClient client(receiver->url());
  const size_t limit = options.max_body_bytes;
  ASSERT_EQ(limit, size_t{4} << 20);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{16383}, size_t{16384}, size_t{16385}, size_t{3900} << 10, limit}) {
    std::string body(size, '\0');
    for (char& c : body) c = static_cast<char>(random());
    for (const std::string& request : {Post(body), InChunks(body)}) {
      ASSERT_TRUE(SendOddly(client, request));
      Inbox::Item item = inbox.Next();
      EXPECT_TRUE(item.delivery.body == body) << size;
      item.answer(200);
      EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
    }
  }
}

TEST(ReceiverTest, RefusesABodyThatIsOneByteTooLarge) {
  const ReceiverOptions options = LocalOptions();
  const auto receiver = Start(options, [](const Delivery&, Answer answer) {
    ADD_FAILURE() << "the receiver passed on the delivery";
    answer(200);
  });
  const std::string body(options.max_body_bytes + 1, 'a');
  for (const std::string& request : {Post(body), InChunks(body)}) {
    // The client sends the whole request before it reads, and still gets the response.
    HttpTestClient client(receiver->url());
    EXPECT_TRUE(SendOddly(client, request));
    client.EndSending();
    EXPECT_EQ(Statuses(client.ReadToEnd()), "413.");
  }
}

TEST(ReceiverTest, RefusesATooLargeContentLengthBeforeTheBodyArrives) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  HttpTestClient client(receiver->url());
  client.Send(absl::StrCat("POST ", kPath, " HTTP/1.1\r\nHost: h\r\nContent-Length: 4194305\r\n\r\n"));
  EXPECT_EQ(Statuses(client.ReadAnswer()), "413.");
}

TEST(ReceiverTest, SendsContinueIfTheSenderExpectsIt) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient client(receiver->url());
  const std::string request = Post("{}", "Expect: 100-continue\r\n");
  for (int i = 0; i < 2; ++i) {
    client.Send(request.substr(0, request.size() - 2));
    EXPECT_EQ(client.ReadAnswer(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.Send("{}");
    Inbox::Item item = inbox.Next();
    EXPECT_EQ(item.delivery.body, "{}");
    item.answer(200);
    EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
  }
}

TEST(ReceiverTest, ProcessesPipelinedRequestsOneAtATime) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient client(receiver->url());
  client.Send(absl::StrCat(Post("1"), Post("2"), Post("3")));
  for (const auto& [body, status] : std::vector<std::pair<std::string, int>>{{"1", 200}, {"2", 401}, {"3", 503}}) {
    Inbox::Item item = inbox.Next();
    EXPECT_EQ(item.delivery.body, body);
    EXPECT_EQ(inbox.size(), 0u) << "the next request must wait for this response";
    item.answer(status);
    EXPECT_EQ(Statuses(client.ReadAnswer()), absl::StrCat(status));
  }
}

TEST(ReceiverTest, AnswerMayBeCalledFromAnyThread) {
  struct {
    Mutex mutex;
    std::vector<std::thread> all ABSL_GUARDED_BY(mutex);
  } threads;
  const auto receiver = Start(LocalOptions(), [&](const Delivery&, Answer answer) {
    MutexLock lock(threads.mutex);
    threads.all.emplace_back([answer = std::move(answer)]() mutable { answer(200); });
  });
  HttpTestClient client(receiver->url());
  for (int i = 0; i < 100; ++i) {
    client.Send(Post("{}"));
    ASSERT_EQ(Statuses(client.ReadAnswer()), "200");
  }
  MutexLock lock(threads.mutex);
  EXPECT_THAT(threads.all, SizeIs(100));
  for (std::thread& thread : threads.all) thread.join();
}

TEST(ReceiverTest, SenderGets503IfTheAnswerIsDestroyedWithoutACall) {
  const auto receiver = Start(LocalOptions(), [](const Delivery&, Answer) {});
  HttpTestClient client(receiver->url());
  for (int i = 0; i < 2; ++i) {
    client.Send(Post("{}"));
    const std::string answer = client.ReadAnswer();
    EXPECT_EQ(Statuses(answer), "503");
    EXPECT_THAT(answer, HasSubstr("\r\nRetry-After: 5\r\n"));
  }
}

TEST(ReceiverTest, AnswerMayBeCalledAfterThePeerDisconnected) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  std::vector<Inbox::Item> items;
  for (int i = 0; i < 20; ++i) {
    HttpTestClient client(receiver->url());
    client.Send(Post("{}"));
    items.push_back(inbox.Next());
  }
  for (Inbox::Item& item : items) item.answer(200);
  HttpTestClient client(receiver->url());
  client.Send(Post("{}"));
  inbox.Next().answer(200);
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
}

TEST(ReceiverTest, AnswerMayBeCalledAfterTheReceiverWasDestroyed) {
  Inbox inbox;
  auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient called(receiver->url());
  HttpTestClient dropped(receiver->url());
  called.Send(Post("{}"));
  Inbox::Item first = inbox.Next();
  dropped.Send(Post("{}"));
  std::optional<Inbox::Item> second = inbox.Next();
  receiver.reset();
  EXPECT_EQ(called.ReadToEnd(), "");
  first.answer(200);
  second.reset();
  EXPECT_EQ(dropped.ReadToEnd(), "");
}

TEST(ReceiverTest, ReceiverMayBeDestroyedWhileOtherThreadsCallAnswers) {
  for (int round = 0; round < 20; ++round) {
    Inbox inbox;
    auto receiver = Start(LocalOptions(), inbox.take());
    std::vector<std::unique_ptr<HttpTestClient>> clients;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<HttpTestClient>(receiver->url()));
      clients.back()->Send(Post("{}"));
    }
    std::vector<Inbox::Item> items;
    for (int i = 0; i < 8; ++i) items.push_back(inbox.Next());
    std::thread answering([&items] {
      for (Inbox::Item& item : items) item.answer(200);
    });
    receiver.reset();
    answering.join();
    for (const auto& client : clients) {
      const std::string answer = client->ReadToEnd();
      EXPECT_TRUE(answer.empty() || Statuses(answer) == "200") << answer;
    }
  }
}

// Connects, sends `request` up to three times, and reads what arrives. Ignores all errors, because the receiver may be
// destroyed meanwhile.
void RequestRepeatedly(int port, const std::string& request) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    std::string response(1000, '\0');
    for (int i = 0; i < 3; ++i) {
      if (send(client, request.data(), request.size(), MSG_NOSIGNAL) <= 0) break;
      if (recv(client, response.data(), response.size(), 0) <= 0) break;
    }
  }
  close(client);
}

TEST(ReceiverTest, AcceptsThePathsThatAreInForceWhenARequestArrives) {
  std::atomic<bool> has_changed = false;
  ReceiverOptions options = LocalOptions();
  options.paths = [&] { return std::vector<std::string>{has_changed ? "/other" : kPath}; };
  const auto receiver = Start(options, AnswerOk);
  HttpTestClient client(receiver->url());
  const auto status = [&client](absl::string_view path) {
    client.Send(Post("{}", "", path));
    return Statuses(client.ReadAnswer());
  };
  EXPECT_EQ(status(kPath), "200");
  has_changed = true;
  EXPECT_EQ(status("/other"), "200") << "on the same connection";
  EXPECT_EQ(status(kPath), "404.");
}

TEST(ReceiverTest, LetsUpstreamRepeatDeliveriesWhileNoPathIsConfigured) {
  std::atomic<bool> has_path = false;
  ReceiverOptions options = LocalOptions();
  options.paths = [&] { return has_path ? std::vector<std::string>{kPath} : std::vector<std::string>(); };
  const auto receiver = Start(options, AnswerOk);
  const auto status = [&receiver] {
    HttpTestClient client(receiver->url());
    client.Send(Post("{}", "", kPath));
    return Statuses(client.ReadAnswer());
  };
  EXPECT_EQ(status(), "503.");
  has_path = true;
  EXPECT_EQ(status(), "200");
}

// Clients connect, displace each other, send deliveries and request unknown paths while the receiver is destroyed.
TEST(ReceiverTest, CallsNothingAfterItWasDestroyed) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::atomic<bool> is_destroyed = false;
    std::atomic<int> late = 0;
    std::atomic<int> taken = 0;
    ReceiverOptions options = LocalOptions();
    options.max_connections = 2;
    options.on_refused = [&](HttpRefusal) { late += is_destroyed ? 1 : 0; };
    auto receiver = Start(options, [&](const Delivery&, Answer answer) {
      late += is_destroyed ? 1 : 0;
      ++taken;
      answer(200);
    });
    const int port = std::stoi(receiver->url().substr(receiver->url().rfind(':') + 1));
    std::atomic<bool> ends = false;
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&, i] {
        const std::string request = i % 2 == 0 ? Post("{}") : "GET /unknown HTTP/1.1\r\nHost: h\r\n\r\n";
        while (!ends) RequestRepeatedly(port, request);
      });
    }
    const int wanted = static_cast<int>(random() % 20);
    const auto end = std::chrono::steady_clock::now() + kHang;
    while (taken < wanted && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    receiver.reset();
    is_destroyed = true;
    ends = true;
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(late, 0);
    EXPECT_GE(taken, wanted);
  }
}

TEST(ReceiverTest, ClosesAConnectionWhoseRequestExceedsTheRequestTimeout) {
  ReceiverOptions options = LocalOptions();
  options.request_timeout = absl::Milliseconds(50);
  const auto receiver = Start(options, &AnswerOk);
  const std::string request = Post(std::string(100, 'a'));
  for (const size_t sent : {size_t{1}, size_t{30}, request.size() - 1}) {
    HttpTestClient client(receiver->url());
    client.Send(request.substr(0, sent));
    // Without a whole head, no response either: the sender might interpret it as final.
    EXPECT_EQ(Statuses(client.ReadToEnd()), sent < 100 ? "" : "503.") << sent;
  }
}

TEST(ReceiverTest, ArrivingBytesDoNotExtendTheRequestTimeout) {
  ReceiverOptions options = LocalOptions();
  options.request_timeout = absl::Milliseconds(50);
  Inbox inbox;
  const auto receiver = Start(options, inbox.take());
  HttpTestClient client(receiver->url());
  const auto end = std::chrono::steady_clock::now() + kHang;
  client.Send(absl::StrCat("POST ", kPath, " HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n"));
  while (client.Send("a") && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_LT(std::chrono::steady_clock::now(), end);
  EXPECT_EQ(inbox.size(), 0) << "the receiver accepted the whole body";
}

TEST(ReceiverTest, ClosesIdleConnections) {
  ReceiverOptions options = LocalOptions();
  options.idle_timeout = absl::Seconds(1);  // a thousand times as long as a request takes after connecting
  const auto receiver = Start(options, &AnswerOk);
  HttpTestClient silent(receiver->url());
  HttpTestClient done(receiver->url());
  done.Send(Post("{}"));
  EXPECT_EQ(Statuses(done.ReadAnswer()), "200");
  EXPECT_EQ(done.ReadToEnd(), "");
  EXPECT_EQ(silent.ReadToEnd(), "");
}

TEST(ReceiverTest, NoTimeoutRunsWhileADeliveryIsProcessed) {
  Inbox inbox;
  ReceiverOptions options = LocalOptions();
  options.request_timeout = absl::Seconds(1);
  options.idle_timeout = absl::Seconds(1);
  const auto receiver = Start(options, inbox.take());
  HttpTestClient client(receiver->url());
  client.Send(Post("{}"));
  Inbox::Item item = inbox.Next();
  // Waits until both timeouts have closed other connections.
  HttpTestClient idle(receiver->url());
  HttpTestClient slow(receiver->url());
  slow.Send("P");
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_EQ(slow.ReadToEnd(), "");
  item.answer(200);
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
  EXPECT_EQ(client.ReadToEnd(), "") << "the connection is idle again";
}

TEST(ReceiverTest, AMissingBodyEndsTheConnectionAlthoughTheTimeOfItsHeadPassesFirst) {
  ReceiverOptions options = LocalOptions();
  options.head_timeout = absl::Seconds(1);
  options.request_timeout = absl::Seconds(2);
  const auto receiver = Start(options, &AnswerOk);
  const std::string request = Post("{}");
  HttpTestClient client(receiver->url());
  client.Send(request.substr(0, request.size() - 1));
  EXPECT_EQ(Statuses(client.ReadToEnd()), "503.");
}

TEST(ReceiverTest, ClosesAPeerThatDoesNotReadResponses) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  HttpTestClient client(receiver->url(), /*receive_buffer=*/4096);
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += Post("");
  const auto end = std::chrono::steady_clock::now() + kHang;
  while (client.Send(requests) && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_LT(std::chrono::steady_clock::now(), end);
}

TEST(ReceiverTest, ServesHonestPeersWhileThreeHundredSlowPeersAreConnected) {
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  std::vector<std::unique_ptr<HttpTestClient>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<HttpTestClient>(receiver->url()));
    slow.back()->Send("P");
  }
  const std::string request = Post(std::string(2000, 'a'));
  std::vector<std::thread> honest;
  for (size_t thread = 0; thread < 4; ++thread) {
    honest.emplace_back([&, thread] {
      for (size_t i = 0; i < 25; ++i) {
        HttpTestClient client(receiver->url());
        // Sends the request in two parts, so that the peer has sent little for a while.
        client.Send(request.substr(0, 100));
        slow[thread * 25 + i]->Send("O");
        client.Send(request.substr(100));
        EXPECT_EQ(Statuses(client.ReadAnswer()), "200") << thread << " " << i;
      }
    });
  }
  for (std::thread& thread : honest) thread.join();
  EXPECT_EQ(slow[0]->ReadToEnd(), "") << "the receiver closes the oldest unproven peer";
}

// The strangers, which know no configured path, send faster than any minimum rate and reconnect whenever they are
// displaced. Each honest peer connects when the strangers occupy all places for unproven peers.
TEST(ReceiverTest, ServesHonestPeersWhileFastStrangersReconnect) {
  constexpr size_t kStrangers = 400;
  const auto receiver = Start(LocalOptions(), &AnswerOk);
  const std::string head = absl::StrCat("POST /wrong HTTP/1.1\r\nHost: h\r\nX-A: ", std::string(2000, 'a'));
  std::deque<std::unique_ptr<HttpTestClient>> strangers;
  const auto come = [&] {
    strangers.push_back(std::make_unique<HttpTestClient>(receiver->url()));
    strangers.back()->Send(head);
    if (strangers.size() > kStrangers) strangers.pop_front();
  };
  for (size_t i = 0; i < kStrangers; ++i) come();
  HttpTestClient kept(receiver->url());
  for (int i = 0; i < 100; ++i) {
    HttpTestClient client(receiver->url());
    client.Send(Post("{}"));
    EXPECT_EQ(Statuses(client.ReadAnswer()), "200") << i;
    kept.Send(Post("{}"));
    EXPECT_EQ(Statuses(kept.ReadAnswer()), "200") << i << ": a proven peer is not displaced";
    for (auto& stranger : strangers) stranger->Send("aa");
    for (int more = 0; more < 10; ++more) come();
  }
  const PeerTable::Counts peers = receiver->peers();
  // The strangers share the source of the honest peers, which is proven since the first delivery.
  EXPECT_LE(peers.unproven + peers.proven, 256u);
  EXPECT_GT(peers.unproven_displaced + peers.proven_displaced, 100u);
  EXPECT_EQ(peers.refused, 0u);
}

TEST(ReceiverTest, ClosesAConnectionWhoseRequestHeadExceedsTheHeadTimeout) {
  ReceiverOptions options = LocalOptions();
  options.head_timeout = absl::Milliseconds(50);
  options.request_timeout = absl::Hours(1);
  const auto receiver = Start(options, &AnswerOk);
  HttpTestClient slow(receiver->url());
  slow.Send("POST ");
  EXPECT_EQ(slow.ReadToEnd(), "");
  // `head_timeout` does not apply to the body, which may use the rest of `request_timeout`.
  const std::string request = Post("{}");
  HttpTestClient client(receiver->url());
  client.Send(request.substr(0, request.size() - 1));
  HttpTestClient other(receiver->url());
  other.Send("P");
  EXPECT_EQ(other.ReadToEnd(), "") << "proves that head_timeout has passed";
  client.Send(request.substr(request.size() - 1));
  EXPECT_EQ(Statuses(client.ReadAnswer()), "200");
}

TEST(ReceiverTest, ClosesANewPeerIfAllPlacesHaveBusyPeersOfItsSource) {
  Inbox inbox;
  ReceiverOptions options = LocalOptions();
  options.max_connections = 4;
  const auto receiver = Start(options, inbox.take());
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  std::vector<Inbox::Item> items;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(receiver->url()));
    clients.back()->Send(Post("1"));
    items.push_back(inbox.Next());
  }
  HttpTestClient refused(receiver->url());
  EXPECT_EQ(refused.ReadToEnd(), "");
  EXPECT_EQ(receiver->peers().refused, 1u);
  for (size_t i = 0; i < 4; ++i) {
    items[i].answer(200);
    EXPECT_EQ(Statuses(clients[i]->ReadAnswer()), "200");
  }
}

TEST(ReceiverTest, DrainLosesNoAcceptedDelivery) {
  Inbox inbox;
  std::atomic<int> reported = 0;
  ReceiverOptions options = LocalOptions();
  options.on_refused = [&reported](HttpRefusal refusal) {
    EXPECT_EQ(refusal, HttpRefusal::kDraining);
    ++reported;
  };
  auto receiver = Start(options, inbox.take());
  HttpTestClient working(receiver->url());
  HttpTestClient idle(receiver->url());
  HttpTestClient half(receiver->url());
  idle.Send(Post("idle"));
  inbox.Next().answer(200);
  EXPECT_EQ(Statuses(idle.ReadAnswer()), "200");
  half.Send(Post("half", "Expect: 100-continue\r\n").substr(0, Post("half", "Expect: 100-continue\r\n").size() - 4));
  EXPECT_EQ(Statuses(half.ReadAnswer()), "100");
  working.Send(Post("working"));
  Inbox::Item item = inbox.Next();

  std::thread draining([&receiver] { receiver->Drain(absl::FromChrono(kHang)); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  HttpTestClient late(receiver->url());
  late.Send(Post("late"));
  const std::string refused = late.ReadAnswer();
  EXPECT_EQ(Statuses(refused), "503.");
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: 5\r\n"));
  half.Send("half");
  EXPECT_EQ(Statuses(half.ReadAnswer()), "503.");
  EXPECT_EQ(reported, 2);
  item.answer(200);
  EXPECT_EQ(Statuses(working.ReadToEnd()), "200.");
  draining.join();
  EXPECT_EQ(inbox.size(), 0u);

  // The receiver still responds until it is destroyed.
  HttpTestClient later(receiver->url());
  later.Send(Post("later"));
  EXPECT_EQ(Statuses(later.ReadToEnd()), "503.");
  EXPECT_EQ(reported, 3);
  receiver->Drain(absl::InfiniteDuration());
}

TEST(ReceiverTest, DrainReturnsAfterItsGracePeriod) {
  Inbox inbox;
  const auto receiver = Start(LocalOptions(), inbox.take());
  HttpTestClient client(receiver->url());
  client.Send(Post("{}"));
  Inbox::Item item = inbox.Next();
  receiver->Drain(absl::Milliseconds(1));
  item.answer(200);  // the sender still gets the response
  EXPECT_EQ(Statuses(client.ReadToEnd()), "200.");
}

TEST(ReceiverTest, DrainReturnsAfterTheResponsesAreSent) {
  Inbox inbox;
  auto receiver = Start(LocalOptions(), inbox.take());
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  std::vector<Inbox::Item> items;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(receiver->url()));
    clients.back()->Send(Post("{}"));
    items.push_back(inbox.Next());
  }
  std::thread answering([&items] {
    for (Inbox::Item& item : items) item.answer(200);
  });
  receiver->Drain(absl::FromChrono(kHang));
  receiver.reset();
  for (const auto& client : clients) EXPECT_THAT(Statuses(client->ReadAnswer()), testing::StartsWith("200"));
  answering.join();
}

// Uses up all file descriptors for a while, and therefore runs in its own process.
[[noreturn]] void AcceptAfterExhaustion() {
  ReceiverOptions options = LocalOptions();
  const auto receiver = Start(options, &AnswerOk, std::make_shared<EventLoops>(1));
  HttpTestClient kept(receiver->url());
  const auto kept_works = [&kept] { return kept.Send(Post("{}")) && Statuses(kept.ReadAnswer()) == "200"; };
  if (!kept_works()) std::_Exit(1);

  const rlimit few = {.rlim_cur = 100, .rlim_max = 100};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) std::_Exit(2);
  std::vector<int> filling;
  for (int descriptor; (descriptor = dup(STDERR_FILENO)) >= 0;) filling.push_back(descriptor);
  close(filling.back());
  filling.pop_back();
  HttpTestClient waiting(receiver->url());  // uses the last descriptor, so it cannot be accepted
  waiting.Send(Post("{}"));
  // The only loop still serves this client after it has failed to accept the other one.
  for (int i = 0; i < 10; ++i) {
    if (!kept_works()) std::_Exit(3);
  }
  std::string nothing(1, '\0');
  if (recv(waiting.descriptor(), nothing.data(), 1, MSG_DONTWAIT) != -1) std::_Exit(4);

  for (const int descriptor : filling) close(descriptor);
  if (Statuses(waiting.ReadAnswer()) != "200") std::_Exit(5);
  HttpTestClient next(receiver->url());
  next.Send(Post("{}"));
  if (Statuses(next.ReadAnswer()) != "200") std::_Exit(6);
  std::_Exit(0);
}

TEST(ReceiverDeathTest, AcceptsConnectionsAgainWhenDescriptorsAreFree) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(AcceptAfterExhaustion(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stampgate
