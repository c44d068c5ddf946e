#include "gateway/upstream/connector.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace {

constexpr char kHost[] = "upstream.test";

std::atomic<const char*> address_of_host = "127.0.0.1";
std::atomic<int> resolutions = 0;

}  // namespace

// libcurl calls this function in slot of the one of the C library.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  static const auto next = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || std::strcmp(node, kHost) != 0) return next(node, service, hints, result);
  ++resolutions;
  return next(address_of_host, service, hints, result);
}

namespace stampgate {
namespace {

// A socket that listens at an address of this machine.
class Listener {
 public:
  // If `port` is 0, the system chooses a port.
  explicit Listener(uint32_t ip, uint16_t port = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(ip);
    address.sin_port = htons(port);
    const int yes = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    socklen_t size = sizeof(address);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  uint16_t port() const { return port_; }

 private:
  const int fd_;
  uint16_t port_ = 0;
};

constexpr uint32_t kOldIp = INADDR_LOOPBACK;      // 127.0.0.1
constexpr uint32_t kNewIp = INADDR_LOOPBACK + 1;  // 127.0.0.2

// Upstream is at kOldIp, until Move moves it to kNewIp.
class ConnectorTest : public ::testing::Test {
 protected:
  ConnectorTest() {
    address_of_host = "127.0.0.1";
    OnLoop([this] {
      connector_ = std::make_unique<Connector>(loop_, absl::StrCat("http://", kHost, ":", old_->port()), options_);
    });
  }
  ~ConnectorTest() override {
    OnLoop([this] { connector_ = nullptr; });
  }

  void Move() {
    const uint16_t port = old_->port();
    old_ = std::nullopt;
    new_.emplace(kNewIp, port);
    address_of_host = "127.0.0.2";
  }

  // Returns whether an attempt to connect succeeds.
  bool Connects() {
    std::promise<bool> connected;
    OnLoop([&] {
      connector_->Connect([&](const std::shared_ptr<UpstreamConnection>& connection, const TransportFailure&) {
        connected.set_value(connection != nullptr);
      });
    });
    return connected.get_future().get();
  }

  // Runs `task` on the loop, and waits until it has run.
  template <typename Task>
  void OnLoop(Task task) {
    std::promise<void> done;
    loop_.Run([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  EventLoop loop_{"loop"};
  const UpstreamOptions options_;
  std::optional<Listener> old_{std::in_place, kOldIp};
  std::optional<Listener> new_;
  std::unique_ptr<Connector> connector_;
};

TEST_F(ConnectorTest, UsesAnAddressAgainAsLongAsItConnects) {
  EXPECT_TRUE(Connects());
  const int before = resolutions;
  EXPECT_GT(before, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Connects());
  EXPECT_EQ(resolutions, before);
}

TEST_F(ConnectorTest, ResolvesTheNameAgainAfterAFailedAttempt) {
  EXPECT_TRUE(Connects());
  Move();
  EXPECT_FALSE(Connects());
  EXPECT_TRUE(Connects());
  // libcurl forgets what an attempt has resolved that used no earlier address. So the next one resolves once more.
  EXPECT_TRUE(Connects());
  const int before = resolutions;
  EXPECT_TRUE(Connects());
  EXPECT_EQ(resolutions, before);
}

// With a short deadline, the caller leaves before the time limit of connecting has passed.
TEST_F(ConnectorTest, ResolvesTheNameAgainAfterAnAttemptThatWasCancelled) {
  EXPECT_TRUE(Connects());
  OnLoop([this] {
    connector_->Cancel(connector_->Connect([](const std::shared_ptr<UpstreamConnection>&, const TransportFailure&) {
      FAIL() << "the attempt was cancelled";
    }));
  });
  Move();
  EXPECT_TRUE(Connects());
}

TEST_F(ConnectorTest, ResolvesTheNameAgainAsLongAsAttemptsFail) {
  EXPECT_TRUE(Connects());
  const uint16_t port = old_->port();
  old_ = std::nullopt;
  for (int i = 0; i < 3; ++i) {
    const int before = resolutions;
    EXPECT_FALSE(Connects());
    if (i > 0) {
      EXPECT_GT(resolutions, before);
    }
  }
  old_.emplace(kOldIp, port);
  EXPECT_TRUE(Connects());
}

}  // namespace
}  // namespace stampgate
