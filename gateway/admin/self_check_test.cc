#include "gateway/admin/self_check.h"

#include <arpa/inet.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gateway/callers/tls_testing.h"
#include "gateway/tls/server_credentials.h"

namespace stampgate {
namespace {

constexpr absl::Duration kHang = absl::Seconds(60);
constexpr absl::Duration kShort = absl::Milliseconds(200);

// A server that listens but does not accept connections, like gRPC after it has found no free descriptor. The kernel
// still completes the TCP handshakes.
class StuckServer {
 public:
  StuckServer() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~StuckServer() { close(socket_); }
  StuckServer(const StuckServer&) = delete;
  StuckServer& operator=(const StuckServer&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int socket_;
  int port_ = 0;
};

// Returns an address at which no server listens.
std::string NoServer() { return StuckServer().address(); }

std::unique_ptr<grpc::Server> StartHealth(int* port) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("0.0.0.0:0", grpc::InsecureServerCredentials(), port);
  return builder.BuildAndStart();
}

TEST(CheckPlaintextPortTest, AcceptsAnyHealthStatus) {
  int port = 0;
  const auto server = StartHealth(&port);
  EXPECT_TRUE(CheckPlaintextPort(absl::StrCat("127.0.0.1:", port), kHang).ok());
  EXPECT_TRUE(CheckPlaintextPort(absl::StrCat("localhost:", port), kHang).ok());
  EXPECT_TRUE(CheckPlaintextPort(absl::StrCat("0.0.0.0:", port), kHang).ok());
  server->GetHealthCheckService()->SetServingStatus(false);
  EXPECT_TRUE(CheckPlaintextPort(absl::StrCat("127.0.0.1:", port), kHang).ok());
}

TEST(CheckPlaintextPortTest, DetectsAServerThatDoesNotAccept) {
  const StuckServer server;
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(CheckPlaintextPort(server.address(), kShort)));
  EXPECT_GE(absl::Now() - begun, kShort);
}

TEST(CheckPlaintextPortTest, DetectsAMissingServer) {
  EXPECT_TRUE(absl::IsUnavailable(CheckPlaintextPort(NoServer(), kHang)));
}

TEST(CheckPlaintextPortTest, RefusesAnInvalidAddress) {
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPlaintextPort("unix:/tmp/x", kHang)));
}

class CheckTlsPortTest : public ::testing::Test {
 protected:
  CheckTlsPortTest() {
    const TestIdentity identity = authority_.IssueServer();
    auto tls =
        ServerTls::Create({folder_.Write("tls.crt", identity.certificate), folder_.Write("tls.key", identity.key),
                           folder_.Write("ca.crt", authority_.certificate())},
                          [] { return absl::Now(); });
    EXPECT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
  }

  const TestAuthority authority_{"authority"};
  const TestFolder folder_;
  std::unique_ptr<ServerTls> tls_;
};

TEST_F(CheckTlsPortTest, AcceptsARequestForACertificate) {
  const PeerServer server(tls_->credentials());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CheckTlsPort(absl::StrCat("127.0.0.1:", server.port()), kHang), absl::OkStatus());
  }
  EXPECT_EQ(server.calls(), 0);
}

TEST_F(CheckTlsPortTest, ReachesAServerThatListensOnAllAddresses) {
  const PeerServer server(tls_->credentials(), "0.0.0.0");
  EXPECT_EQ(CheckTlsPort(absl::StrCat("0.0.0.0:", server.port()), kHang), absl::OkStatus());
}

TEST_F(CheckTlsPortTest, DetectsAServerThatDoesNotAccept) {
  const StuckServer server;
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(CheckTlsPort(server.address(), kShort)));
  EXPECT_GE(absl::Now() - begun, kShort);
}

TEST_F(CheckTlsPortTest, DetectsAMissingServer) {
  EXPECT_TRUE(absl::IsUnavailable(CheckTlsPort(NoServer(), kHang)));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckTlsPort("nowhere", kHang)));
}

TEST_F(CheckTlsPortTest, RejectsAPlaintextServer) {
  int port = 0;
  const auto server = StartHealth(&port);
  EXPECT_TRUE(absl::IsUnavailable(CheckTlsPort(absl::StrCat("127.0.0.1:", port), kHang)));
}

}  // namespace
}  // namespace stampgate
