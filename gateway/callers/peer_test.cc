#include "gateway/callers/peer.h"

#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/tls_testing.h"
#include "gateway/tls/server_credentials.h"

namespace stampgate {
namespace {

using Names = std::vector<std::pair<int, std::string>>;

// Calls a real server with a real certificate that has the given names.
class PeerOfCertificateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const TestIdentity server = authority_.IssueServer();
    const TlsFiles files{folder_.Write("tls.crt", server.certificate), folder_.Write("tls.key", server.key),
                         folder_.Write("ca.crt", authority_.certificate())};
    auto tls = ServerTls::Create(files, [] { return absl::Now(); });
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    server_ = std::make_unique<PeerServer>(tls_->credentials());
  }

  std::string PeerWith(const Names& names, const std::string& subject = "spiffe://test/subject") {
    const TestIdentity identity = authority_.Issue({.names = names, .subject = subject});
    const PeerClient::Answer answer = PeerClient(server_->port(), authority_.certificate(), identity).Call();
    return answer.status.ok() ? answer.peer : answer.status.error_message();
  }

  const TestAuthority authority_{"authority"};
  const TestFolder folder_;
  std::unique_ptr<ServerTls> tls_;
  std::unique_ptr<PeerServer> server_;
};

TEST_F(PeerOfCertificateTest, IsTheOnlySpiffeIdOfTheCertificate) {
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}}), "spiffe spiffe://test/a");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/A/b"}}), "spiffe spiffe://test/A/b");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}, {GEN_URI, "spiffe://test/a"}, {GEN_EMAIL, "a@test"}}),
            "spiffe spiffe://test/a");
  EXPECT_EQ(PeerWith({{GEN_IPADD, "1234"}, {GEN_URI, "spiffe://test/a"}, {GEN_RID, "1.2.3"}}).substr(0, 6), "spiffe");
}

TEST_F(PeerOfCertificateTest, IsTheDnsNamesOfACertificateWithoutAUri) {
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}}), "dns a.test");
  EXPECT_EQ(PeerWith({{GEN_DNS, "A.Test"}, {GEN_DNS, "b.test"}, {GEN_EMAIL, "a@test"}, {GEN_IPADD, "1234"}}),
            "dns a.test,b.test");
}

TEST_F(PeerOfCertificateTest, IsAStrangerIfTheCertificateHasSeveralUris) {
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "spiffe://test/b"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "spiffe://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "spiffe://test/a"}, {GEN_URI, "https://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_URI, "https://test/a"}, {GEN_URI, "spiffe://test/a"}, {GEN_DNS, "a.test"}}), "stranger");
}

TEST_F(PeerOfCertificateTest, IsAStrangerIfTheUriIsNoSpiffeId) {
  for (const std::string& uri :
       {std::string("https://test/a"), std::string("spiffe://test"), std::string("spiffe://test/"),
        std::string("spiffe://Test/a"), std::string("spiffe://test/a?b"), std::string(""),
        std::string("spiffe://test/a\0", 16), std::string("spiffe://test/a\0/../b", 21),
        std::string("\0spiffe://test/a", 16), absl::StrCat("spiffe://test/", std::string(2035, 'a'))}) {
    EXPECT_EQ(PeerWith({{GEN_URI, uri}}), "stranger") << uri;
    EXPECT_EQ(PeerWith({{GEN_DNS, "a.test"}, {GEN_URI, uri}}), "stranger") << uri;
  }
  EXPECT_EQ(PeerWith({{GEN_URI, absl::StrCat("spiffe://test/", std::string(2034, 'a'))}}).size(), 7U + 2048U);
}

TEST_F(PeerOfCertificateTest, IgnoresMalformedDnsNames) {
  EXPECT_EQ(PeerWith({{GEN_DNS, "*.test"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "*"}, {GEN_DNS, "a.test"}}), "dns a.test");
  EXPECT_EQ(PeerWith({{GEN_DNS, std::string("a.test\0.evil", 12)}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, std::string("a.test\0", 7)}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test."}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, ""}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "a.test,b.test"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_DNS, "\xe4.test"}}), "stranger");
}

TEST_F(PeerOfCertificateTest, IgnoresTheSubjectAndOtherNames) {
  EXPECT_EQ(PeerWith({}), "stranger");
  EXPECT_EQ(PeerWith({}, "a.test"), "stranger");
  EXPECT_EQ(PeerWith({{GEN_EMAIL, "spiffe://test/a"}}), "stranger");
  EXPECT_EQ(PeerWith({{GEN_EMAIL, "a.test"}, {GEN_IPADD, "1234"}}), "stranger");
}

TEST(PeerOfPlaintextTest, IsLoopbackFromALoopbackAddress) {
  const PeerServer v4(grpc::InsecureServerCredentials());
  EXPECT_EQ(PeerClient(absl::StrCat("ipv4:127.0.0.1:", v4.port())).Call().peer, "loopback");
  const PeerServer elsewhere(grpc::InsecureServerCredentials(), "127.9.9.9");
  EXPECT_EQ(PeerClient(absl::StrCat("ipv4:127.9.9.9:", elsewhere.port())).Call().peer, "loopback");
  const PeerServer v6(grpc::InsecureServerCredentials(), "[::1]");
  EXPECT_EQ(PeerClient(absl::StrCat("ipv6:[::1]:", v6.port())).Call().peer, "loopback");
  // A socket that accepts both IPv4 and IPv6 spells IPv4 addresses differently from a socket for IPv4 only.
  const PeerServer both(grpc::InsecureServerCredentials(), "[::]");
  EXPECT_EQ(PeerClient(absl::StrCat("ipv4:127.0.0.1:", both.port())).Call().peer, "loopback");
  EXPECT_EQ(PeerClient(absl::StrCat("ipv6:[::1]:", both.port())).Call().peer, "loopback");
}

// An AuthContext whose properties the test chooses.
class FakeContext : public grpc::AuthContext {
 public:
  explicit FakeContext(std::multimap<std::string, std::string> properties) : properties_(std::move(properties)) {}

  bool IsPeerAuthenticated() const override { return true; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override { return {}; }
  std::string GetPeerIdentityPropertyName() const override { return ""; }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override {
    std::vector<grpc::string_ref> values;
    const auto [begin, end] = properties_.equal_range(name);
    for (auto it = begin; it != end; ++it) values.emplace_back(it->second.data(), it->second.size());
    return values;
  }
  grpc::AuthPropertyIterator begin() const override { std::abort(); }
  grpc::AuthPropertyIterator end() const override { std::abort(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override { return false; }

 private:
  const std::multimap<std::string, std::string> properties_;
};

std::string PeerFrom(const std::multimap<std::string, std::string>& properties, absl::string_view address) {
  return Describe(PeerOf(FakeContext(properties), address));
}

TEST(PeerOfPlaintextTest, IsAStrangerFromAnyOtherAddress) {
  const std::multimap<std::string, std::string> insecure = {{"transport_security_type", "insecure"}};
  for (const char* address : {"ipv4:127.0.0.1:1", "ipv4:127.255.0.9:65535", "ipv6:[::1]:1", "ipv6:%5B::1%5D:1"}) {
    EXPECT_EQ(PeerFrom(insecure, address), "loopback") << address;
    EXPECT_EQ(PeerFrom({}, address), "loopback") << address;
  }
  for (const char* address : {"", "ipv4:", "ipv4:127.0.0.1", "ipv4:10.0.0.1:1", "ipv4:128.0.0.1:1", "ipv4:12.7.0.0:1",
                              "ipv4:127.0.0.1.example:1", "ipv6:[::2]:1", "ipv6:[fe80::1]:1", "ipv6:%5Bfe80::1%5D:1",
                              "unix:/tmp/socket", "unix:", "inproc", "127.0.0.1:1"}) {
    EXPECT_EQ(PeerFrom(insecure, address), "stranger") << address;
  }
}

TEST(PeerOfContextTest, RejectsOtherTransports) {
  const auto with = [](const std::string& type) {
    return PeerFrom({{"transport_security_type", type}, {"peer_uri", "spiffe://test/a"}}, "ipv4:127.0.0.1:1");
  };
  EXPECT_EQ(with("ssl"), "spiffe spiffe://test/a");
  EXPECT_EQ(with("tls"), "spiffe spiffe://test/a");
  for (const char* type : {"alts", "local", "", "SSL"}) EXPECT_EQ(with(type), "stranger") << type;
  EXPECT_EQ(with("insecure"), "loopback");  // the gateway ignores peer_uri on such a connection
  EXPECT_EQ(PeerFrom({{"transport_security_type", "ssl"}, {"transport_security_type", "insecure"}}, "ipv4:127.0.0.1:1"),
            "stranger");
}

// The gateway does not use gRPC's property peer_spiffe_id, because gRPC's check of SPIFFE IDs is less strict than the
// gateway's.
TEST(PeerOfContextTest, IgnoresGrpcsParsedSpiffeId) {
  EXPECT_EQ(PeerFrom({{"transport_security_type", "ssl"}, {"peer_spiffe_id", "spiffe://test/a"}}, ""), "stranger");
  EXPECT_EQ(PeerFrom({{"transport_security_type", "ssl"},
                      {"peer_spiffe_id", "spiffe://test/a?b"},
                      {"peer_uri", "spiffe://test/a?b"}},
                     ""),
            "stranger");
}

TEST(StrangerNameTest, DescribesWhatTheConnectionShows) {
  EXPECT_EQ(StrangerName(Peer{true, "", {}}), "(loopback)");
  EXPECT_EQ(StrangerName(Peer{false, "spiffe://example.org/web", {}}), "(spiffe://example.org/web)");
  EXPECT_EQ(StrangerName(Peer{false, "", {"a.example", "b.example"}}), "(dns:a.example dns:b.example)");
  EXPECT_EQ(StrangerName(Peer()), "(nobody)");
}

TEST(StrangerNameTest, NeverEqualsAReservedName) {
  for (const char* name : {"loopback", "gateway", "others", "nobody"}) {
    EXPECT_EQ(StrangerName(Peer{false, "", {name}}), std::string("(dns:") + name + ")");
  }
}

}  // namespace
}  // namespace stampgate
