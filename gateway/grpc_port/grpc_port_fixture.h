// A gRPC port with TLS, its authority, and clients of it.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_FIXTURE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/http/current_tls.h"
#include "base/http/test_certificates.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/grpc_port/testing.h"

namespace stampgate {

class GrpcPortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(server_identity_, authority_.certificate());
    auto tls = CurrentTls::Load(files_, TlsProtocol::kHttp2, now_, nullptr, [this] { return steady_now_; });
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    server_ = std::make_unique<PeerServer>(GrpcPort::Options{.address = "", .tls = tls_.get()});
  }

  void Write(const TestIdentity& identity, const std::string& client_cas) {
    files_.certificate_file = folder_.Write("tls.crt", identity.certificate);
    files_.private_key_file = folder_.Write("tls.key", identity.key);
    files_.client_ca_file = folder_.Write("ca.crt", client_cas);
  }

  // Reloads the files, and lets time pass until they may be read.
  absl::StatusOr<bool> Reload() {
    absl::StatusOr<bool> changed = tls_->Reload(now_);
    while (tls_->wait().count() > 0) {
      steady_now_ += std::chrono::duration_cast<SettledFile::Time::duration>(tls_->wait());
      changed = tls_->Reload(now_);
    }
    return changed;
  }

  // Whether a gRPC client gets its call through.
  bool Accepts(const std::optional<TestIdentity>& identity, const TestAuthority& server_authority) const {
    const PeerClient::Answer answer = PeerClient(server_->port(), server_authority.certificate(), identity).Call();
    EXPECT_THAT(answer.status.error_code(), ::testing::AnyOf(grpc::StatusCode::OK, grpc::StatusCode::UNAVAILABLE));
    return answer.status.ok();
  }
  bool Accepts(const std::optional<TestIdentity>& identity) const { return Accepts(identity, authority_); }

  std::string ServedSerial() const { return RawTlsClient(server_->port(), client_).server_serial(); }

  const TestAuthority authority_{"authority"};
  const TestAuthority other_authority_{"other"};
  const TestIdentity server_identity_ = authority_.IssueServer();
  const TestIdentity client_ = authority_.IssueClient();
  const TestFolder folder_;
  TlsFiles files_;
  absl::Time now_ = absl::Now();
  SettledFile::Time steady_now_{};
  std::unique_ptr<CurrentTls> tls_;
  std::unique_ptr<PeerServer> server_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_FIXTURE_H_
