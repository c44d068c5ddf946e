#include "gateway/server_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace stampgate {
namespace {

std::chrono::steady_clock::time_point HangBound() { return std::chrono::steady_clock::now() + std::chrono::minutes(1); }

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

int PortOf(int fd, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  get(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

int Listen() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(0);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(fd, 16), 0);
  return fd;
}

// -1 if it is refused.
int Connect(int listener) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(PortOf(listener, getsockname));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

// A server with one connection, and another port of the same process with one.
class ServerSocketsTest : public testing::Test {
 protected:
  ~ServerSocketsTest() override {
    for (const int fd : {other_, other_client_, other_accepted_, listener_, client_, accepted_}) {
      if (fd >= 0) close(fd);
    }
  }

  static std::set<int> NewListeners(int listener) {
    EXPECT_TRUE(ListeningSockets().contains(listener));
    return {listener};
  }

  int ClientPort() const { return PortOf(accepted_, getpeername); }

  // The peer's next read: a byte, 0 at the end, -1 if nothing has arrived.
  static int Next(int fd) {
    char byte = 0;
    const ssize_t size = recv(fd, &byte, 1, MSG_DONTWAIT);
    return size == 1 ? byte : static_cast<int>(size);
  }

  const int other_ = Listen();
  const int other_client_ = Connect(other_);
  const int other_accepted_ = accept(other_, nullptr, nullptr);
  const int listener_ = Listen();
  int client_ = Connect(listener_);
  int accepted_ = accept(listener_, nullptr, nullptr);
  std::unique_ptr<ServerSockets> sockets_ = std::make_unique<ServerSockets>(NewListeners(listener_));
};

TEST_F(ServerSocketsTest, RefusesConnectionsAfterStopListening) {
  sockets_->StopListening();
  EXPECT_EQ(Connect(listener_), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_EQ(Next(client_), -1) << "an open connection stays open";
  const int more = Connect(other_);
  EXPECT_NE(more, -1) << "another port of the process still listens";
  close(more);
}

TEST_F(ServerSocketsTest, ClosesOnlyTheChosenConnections) {
  const int kept = Connect(listener_);
  const int kept_accepted = accept(listener_, nullptr, nullptr);
  const int kept_port = PortOf(kept_accepted, getpeername);
  EXPECT_TRUE(sockets_->HaveConnections());
  sockets_->CloseConnections([&](int remote_port) { return remote_port == kept_port; });
  EXPECT_EQ(Next(client_), 0);
  EXPECT_EQ(Next(kept), -1);
  EXPECT_EQ(Next(other_client_), -1);
  EXPECT_TRUE(sockets_->HaveConnections());
  sockets_->CloseConnections([](int /*remote_port*/) { return false; });
  EXPECT_EQ(Next(kept), 0);
  EXPECT_EQ(Next(other_client_), -1);
  EXPECT_FALSE(sockets_->HaveConnections());
  close(kept);
  close(kept_accepted);
}

// gRPC closes its descriptor as soon as a write fails. Bytes that it has not read would then reset the connection, and
// take what the peer has not read yet.
TEST_F(ServerSocketsTest, ThePeerReadsEverythingBeforeAReset) {
  ASSERT_EQ(send(accepted_, "x", 1, 0), 1);
  ASSERT_EQ(send(client_, "too late", 8, 0), 8);
  sockets_->CloseConnections([](int /*remote_port*/) { return false; });
  close(accepted_);
  accepted_ = -1;
  EXPECT_EQ(send(client_, "later still", 11, MSG_NOSIGNAL), 11);
  EXPECT_EQ(Next(client_), 'x');
  EXPECT_EQ(Next(client_), 0);
}

TEST_F(ServerSocketsTest, WaitsUntilPeersHaveClosed) {
  sockets_->CloseConnections([](int /*remote_port*/) { return false; });
  sockets_->WaitForPeers(std::chrono::steady_clock::now());  // the peer has not: the deadline ends it
  close(client_);
  client_ = -1;
  const auto bound = HangBound();
  sockets_->WaitForPeers(bound);
  EXPECT_LT(std::chrono::steady_clock::now(), bound);
}

}  // namespace
}  // namespace stampgate
