// Helpers for the tests of the client: calls that wait for their outcome, matchers of outcomes, and servers that hang.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_CLIENT_TESTING_H_
#define STAMPGATE_GATEWAY_UPSTREAM_CLIENT_TESTING_H_

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/metrics/registry.h"
#include "gateway/upstream/client.h"
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

inline std::string Describe(const UpstreamOutcome& outcome) {
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

inline bool GoesOn(const UpstreamOutcome& outcome) {
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

inline UpstreamClient::Options OptionsFor(const std::string& base_url) {
  UpstreamClient::Options options;
  options.base_url = base_url;
  options.exchange_timeout = absl::FromChrono(kHang);
  return options;
}

inline UpstreamClient::Options OptionsFor(const ScriptedServer& server) {
  return OptionsFor(absl::StrCat("http://127.0.0.1:", server.port()));
}

// The metrics of the clients whose test does not look at them.
inline UpstreamMetrics& SomeMetrics() {
  static auto& registry = *new MetricRegistry;
  static auto& metrics = *new UpstreamMetrics(registry);
  return metrics;
}

inline std::unique_ptr<UpstreamClient> Connect(const UpstreamClient::Options& options,
                                               UpstreamMetrics& metrics = SomeMetrics()) {
  auto client = UpstreamClient::Create(options, std::make_shared<EventLoops>(1), metrics);
  if (!client.ok()) {
    ADD_FAILURE() << client.status();
    std::abort();
  }
  return *std::move(client);
}

inline UpstreamClient::Clock::time_point In(absl::Duration time) {
  if (time == absl::InfiniteDuration()) return UpstreamClient::Clock::time_point::max();
  return UpstreamClient::Clock::now() + absl::ToChronoNanoseconds(time);
}

inline UpstreamOutcome Post(UpstreamClient& client, std::string body = "{}",
                            const UpstreamClient::CallOptions& options = {}) {
  Slot slot;
  client.Post(Stamper::Make("/p", std::move(body)), options, slot.callback(), nullptr);
  return slot.Wait();
}

inline std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

inline std::string BodyOf(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }

// A server that reads each request, and responds when `release` is set.
struct HangingServer {
  HangingServer()
      : server([this](ScriptedServer::Connection& connection) {
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
            [this](ScriptedServer::Connection& connection) {
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

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_CLIENT_TESTING_H_
