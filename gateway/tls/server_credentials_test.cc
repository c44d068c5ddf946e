#include "gateway/tls/server_credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/callers/tls_testing.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using stampgate::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kClientPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class ServerTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(server_identity_, authority_.certificate());
    auto tls = ServerTls::Create(files_, [this] { return now_; });
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    server_ = std::make_unique<PeerServer>(tls_->credentials());
  }

  void Write(const TestIdentity& identity, const std::string& client_cas) {
    files_.certificate_file = folder_.Write("tls.crt", identity.certificate);
    files_.private_key_file = folder_.Write("tls.key", identity.key);
    files_.client_ca_file = folder_.Write("ca.crt", client_cas);
  }

  // Whether a gRPC client gets its call through.
  bool Accepts(const std::optional<TestIdentity>& identity, const TestAuthority& server_authority) const {
    const PeerClient::Answer answer = PeerClient(server_->port(), server_authority.certificate(), identity).Call();
    EXPECT_THAT(answer.status.error_code(), AnyOf(grpc::StatusCode::OK, grpc::StatusCode::UNAVAILABLE));
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
  std::unique_ptr<ServerTls> tls_;
  std::unique_ptr<PeerServer> server_;
};

TEST_F(ServerTlsTest, AcceptsCertificatesOfTheAuthorities) {
  EXPECT_TRUE(Accepts(client_));
  for (const char* key : {"P-256", "P-384", "RSA2048", "ED25519"}) EXPECT_TRUE(Accepts(authority_.Issue({.key = key})));
  EXPECT_EQ(server_->calls(), 5);
}

TEST_F(ServerTlsTest, RefusesEveryOtherClient) {
  const absl::Time now = absl::Now();
  const std::vector<std::pair<std::string, std::optional<TestIdentity>>> clients = {
      {"none", std::nullopt},
      {"of another authority", other_authority_.IssueClient()},
      {"of an authority of the same name", TestAuthority("authority").IssueClient()},
      {"self-signed", MakeSelfSigned({.names = {{GEN_URI, "spiffe://test/client"}}})},
      {"expired", authority_.Issue({.not_after = now - absl::Seconds(2)})},
      {"not valid yet", authority_.Issue({.not_before = now + absl::Minutes(5)})},
      {"for servers alone", authority_.Issue({.extended_usage = "serverAuth"})},
  };
  for (const auto& [name, identity] : clients) {
    EXPECT_FALSE(Accepts(identity)) << name;
    EXPECT_FALSE(RawTlsClient(server_->port(), identity).HearsHttp2()) << name;
  }
  EXPECT_EQ(server_->calls(), 0);
  EXPECT_TRUE(Accepts(client_));
}

// gRPC 1.51 would end the process.
TEST_F(ServerTlsTest, RefusesCertificatesThatGrpcCannotRead) {
  for (const char* address : {"", "1", "12345", "123456789012345", "12345678901234567"}) {
    EXPECT_FALSE(Accepts(authority_.Issue({.names = {{GEN_IPADD, address}}}))) << address;
    EXPECT_FALSE(Accepts(authority_.Issue({.names = {{GEN_URI, "spiffe://test/client"}, {GEN_IPADD, address}}})));
  }
  EXPECT_FALSE(Accepts(authority_.Issue({.subject_type = V_ASN1_BIT_STRING})));
  for (const int type : {V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_T61STRING, V_ASN1_IA5STRING}) {
    EXPECT_TRUE(Accepts(authority_.Issue({.subject_type = type}))) << type;
  }
  EXPECT_TRUE(Accepts(authority_.Issue({.names = {{GEN_IPADD, "1234"}, {GEN_IPADD, "1234567890123456"}}})));
}

TEST_F(ServerTlsTest, SpeaksTls12And13Alone) {
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    RawTlsClient client(server_->port(), client_, {.min_version = version, .max_version = version});
    EXPECT_TRUE(client.HearsHttp2());
    EXPECT_EQ(client.version(), name);
  }
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    EXPECT_FALSE(RawTlsClient(server_->port(), client_, {.min_version = version, .max_version = version}).handshaken());
  }
}

TEST_F(ServerTlsTest, SpeaksHttp2Alone) {
  for (const char* protocols : {"h2", "http/1.1,h2"}) {
    RawTlsClient client(server_->port(), client_, {.protocols = protocols});
    EXPECT_TRUE(client.HearsHttp2());
    EXPECT_EQ(client.protocol(), "h2");
  }
  for (const char* protocols : {"", "http/1.1", "h3"}) {
    EXPECT_FALSE(RawTlsClient(server_->port(), client_, {.protocols = protocols}).HearsHttp2()) << protocols;
  }
}

TEST_F(ServerTlsTest, GivesPlaintextNothing) {
  EXPECT_FALSE(PeerClient(absl::StrCat("ipv4:127.0.0.1:", server_->port())).Call().status.ok());
  EXPECT_EQ(server_->calls(), 0);
}

TEST_F(ServerTlsTest, ServesNewFilesFromTheNextHandshakeOn) {
  PeerClient old(server_->port(), authority_.certificate(), client_);
  ASSERT_TRUE(old.Call().status.ok());
  const TestIdentity next = other_authority_.IssueServer();
  Write(next, other_authority_.certificate());
  EXPECT_EQ(ServedSerial(), SerialOf(server_identity_.certificate));  // as long as nobody says so

  ASSERT_THAT(tls_->Reload(), StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ServedSerial(), SerialOf(next.certificate));
  EXPECT_FALSE(Accepts(client_, other_authority_));
  EXPECT_TRUE(Accepts(other_authority_.IssueClient(), other_authority_));
  EXPECT_TRUE(old.Call().status.ok());  // it is connected, and stays so
}

TEST_F(ServerTlsTest, TellsWhetherAnythingChanged) {
  EXPECT_FALSE(tls_->Reload().value());
  Write(server_identity_, authority_.certificate());  // other files, the same bytes
  EXPECT_FALSE(tls_->Reload().value());
  Write(server_identity_, authority_.certificate() + other_authority_.certificate());
  EXPECT_TRUE(tls_->Reload().value());
  EXPECT_FALSE(tls_->Reload().value());
  EXPECT_TRUE(Accepts(other_authority_.IssueClient()));
  const absl::Time not_after = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) + absl::Hours(7);
  Write(authority_.Issue({.not_after = not_after}), authority_.certificate());
  EXPECT_TRUE(tls_->Reload().value());
  EXPECT_EQ(tls_->not_after(), not_after);
}

TEST_F(ServerTlsTest, KeepsWhatItServesWhenTheFilesAreBroken) {
  const std::string serial = SerialOf(server_identity_.certificate);
  const TestIdentity next = authority_.IssueServer();
  const absl::Time not_after = tls_->not_after();
  const auto expect_kept = [&](const std::string& fault) {
    EXPECT_THAT(std::string(tls_->Reload().status().message()), HasSubstr(fault));
    EXPECT_EQ(ServedSerial(), serial);
    EXPECT_TRUE(Accepts(client_));
    EXPECT_EQ(tls_->not_after(), not_after);
  };
  folder_.Write("tls.crt", next.certificate);
  expect_kept("is not the key of");
  folder_.Write("tls.crt", "garbage");
  expect_kept("tls.crt: it has no certificate");
  folder_.Write("tls.crt", authority_.Issue({.not_after = absl::Now() - absl::Seconds(2)}).certificate);
  expect_kept("is not the key of");
  const TestIdentity expired = authority_.Issue({.not_after = absl::Now() - absl::Seconds(2)});
  Write(expired, authority_.certificate());
  expect_kept("tls.crt: its certificate has expired");
  Write(next, "");
  expect_kept("ca.crt: it is empty");
  unlink(files_.private_key_file.c_str());
  expect_kept("tls.key: it cannot be opened");
  folder_.Write("tls.key", next.key, 0644);
  expect_kept("tls.key: others may use it");
  Write(next, authority_.certificate());
  EXPECT_TRUE(tls_->Reload().value());
  EXPECT_EQ(ServedSerial(), SerialOf(next.certificate));
}

TEST_F(ServerTlsTest, GoesByTheClockItIsGiven) {
  const TestIdentity next = authority_.IssueServer();
  Write(next, authority_.certificate());
  now_ = absl::Now() + absl::Hours(2);
  EXPECT_THAT(tls_->Reload(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has expired")));
  now_ = absl::Now() - absl::Hours(2);
  EXPECT_THAT(tls_->Reload(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not valid yet")));
  now_ = absl::Now();
  EXPECT_TRUE(tls_->Reload().value());
  now_ = absl::Now() + absl::Hours(2);
  EXPECT_FALSE(tls_->Reload().value());  // it expired while it is served, and nothing better is there
}

TEST_F(ServerTlsTest, DoesNotStartWithBrokenFiles) {
  Write({server_identity_.certificate, client_.key}, authority_.certificate());
  EXPECT_THAT(ServerTls::Create(files_, [] { return absl::Now(); }).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not the key of")));
  Write(authority_.Issue({.names = {{GEN_IPADD, "12345"}}}), authority_.certificate());
  EXPECT_THAT(ServerTls::Create(files_, [] { return absl::Now(); }).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has names that gRPC cannot read")));
}

// A session is no way round the authorities that are served now, nor round the end of a certificate.
TEST_F(ServerTlsTest, ResumesNoSession) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const RawTlsClient::Options options{.min_version = version, .max_version = version};
    RawTlsClient first(server_->port(), client_, options);
    ASSERT_TRUE(first.HearsHttp2());
    RawTlsClient::Options resuming = options;
    resuming.session = first.session();
    RawTlsClient with_certificate(server_->port(), client_, resuming);
    EXPECT_TRUE(with_certificate.HearsHttp2());
    EXPECT_FALSE(with_certificate.resumed());
    RawTlsClient without(server_->port(), std::nullopt, resuming);
    EXPECT_FALSE(without.HearsHttp2());
    EXPECT_FALSE(without.handshaken() && without.resumed());
    SSL_SESSION_free(resuming.session);
  }
}

TEST_F(ServerTlsTest, ServesSeveralPorts) {
  const PeerServer v6(tls_->credentials(), "[::1]");
  const PeerServer named(tls_->credentials(), "localhost");
  EXPECT_EQ(RawTlsClient(named.port(), client_).server_serial(), SerialOf(server_identity_.certificate));
  const TestIdentity next = authority_.IssueServer();
  Write(next, authority_.certificate());
  ASSERT_TRUE(tls_->Reload().value());
  for (const int port : {server_->port(), named.port()}) {
    EXPECT_EQ(RawTlsClient(port, client_).server_serial(), SerialOf(next.certificate));
  }
}

TEST_F(ServerTlsTest, ListensOnAddressesAlone) {
  const auto port_at = [&](const std::string& address) {
    grpc::CallbackGenericService service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, tls_->credentials(), &port);
    builder.RegisterCallbackGenericService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    EXPECT_EQ(server != nullptr, port > 0) << address;
    return port;
  };
  for (const char* address : {"127.0.0.1:0", "localhost:0", "[::1]:0"}) EXPECT_GT(port_at(address), 0) << address;
  for (const char* address : {"example.invalid:0", "ip6-localhost:0", "unix:/nowhere", "127.0.0.1", ":0"}) {
    EXPECT_EQ(port_at(address), 0) << address;
  }
}

// Reloads of whole snapshots and of broken files, while handshakes go on. A client whom every snapshot trusts never
// fails; one whom only every second snapshot trusts is accepted together with that one's certificate, or refused
// together with the other's.
TEST_F(ServerTlsTest, NeverServesAMixedSnapshotNorFailsAHandshake) {
  const int reloads = std::getenv("STAMPGATE_LONG") != nullptr ? 500 : 20;
  const TestAuthority common("common");
  const TestAuthority* authorities[] = {&authority_, &other_authority_};
  const TestIdentity identities[] = {authority_.IssueServer(), other_authority_.IssueServer()};
  const std::string serials[] = {SerialOf(identities[0].certificate), SerialOf(identities[1].certificate)};
  const TestIdentity clients[] = {client_, other_authority_.IssueClient()};
  const TestIdentity everybodys = common.IssueClient();
  const auto write = [&](int version) {
    Write(identities[version], absl::StrCat(common.certificate(), authorities[version]->certificate()));
  };
  write(0);
  ASSERT_TRUE(tls_->Reload().ok());

  std::atomic<bool> done = false;
  std::atomic<int> trusted = 0;
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        RawTlsClient client(server_->port(), everybodys);
        EXPECT_TRUE(client.HearsHttp2());
        ++trusted;
      }
    });
    threads.emplace_back([&, i] {
      while (!done) {
        RawTlsClient client(server_->port(), clients[i]);
        const std::string serial = client.server_serial();
        const bool accepts = client.HearsHttp2();
        EXPECT_EQ(accepts, serial == serials[i]);
        ++(accepts ? accepted : refused);
      }
    });
  }
  for (int i = 1; i <= reloads; ++i) {
    switch (i % 3) {
      case 0:
        folder_.Write("tls.crt", identities[i % 2].certificate);
        folder_.Write("tls.key", identities[1 - i % 2].key);
        break;
      case 1:
        folder_.Write(i % 2 == 0 ? "tls.key" : "ca.crt", "garbage");
        break;
      default:
        unlink(files_.certificate_file.c_str());
    }
    EXPECT_FALSE(tls_->Reload().ok());
    write(i % 2);
    EXPECT_THAT(tls_->Reload(), StatusIs(absl::StatusCode::kOk));
    // Until each kind of client has been with this snapshot.
    const int target = trusted + 4;
    while (trusted < target) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
  std::printf("%d reloads, %d handshakes trusted by all, %d accepted, %d refused\n", reloads, trusted.load(),
              accepted.load(), refused.load());
}

// --- HTTP/2's attacks, by who has no certificate ---

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * getpagesize();
}

std::string Frame(size_t size, char type, char flags, uint32_t stream) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(size >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + std::string(size, '\x82');  // as HPACK: ":method: GET"
}

// A preface with SETTINGS, then what keeps the server busy: streams that are reset, headers that never end, pings.
std::string Flood() {
  std::string flood = absl::StrCat(kClientPreface, Frame(0, 4, 0, 0));
  for (uint32_t stream = 1; stream < 2000; stream += 2) {
    absl::StrAppend(&flood, Frame(20, 1, 4, stream), Frame(4, 3, 0, stream));
  }
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&flood, Frame(8, 6, 0, 0));
  absl::StrAppend(&flood, Frame(16000, 1, 0, 2001));
  for (int i = 0; i < 60; ++i) absl::StrAppend(&flood, Frame(16000, 9, 0, 2001));
  return flood;
}

TEST_F(ServerTlsTest, GivesHttp2FloodsNothingToFlood) {
  const std::string flood = Flood();
  const auto attack = [&](int i) {
    if (i % 4 == 3) {
      const int fd = ConnectTcp(server_->port());
      send(fd, flood.data(), flood.size(), MSG_NOSIGNAL);
      close(fd);
      return;
    }
    const int version = i % 4 == 0 ? TLS1_2_VERSION : TLS1_3_VERSION;
    std::optional<TestIdentity> identity;
    if (i % 4 == 2) identity = other_authority_.IssueClient();
    RawTlsClient client(server_->port(), identity, {.min_version = version, .max_version = version});
    EXPECT_FALSE(version == TLS1_2_VERSION && client.handshaken());
    if (client.handshaken()) client.Send(flood);
    EXPECT_FALSE(client.HearsHttp2());
  };
  RawTlsClient known(server_->port(), client_);
  known.Send(flood.substr(0, 1000));
  EXPECT_TRUE(known.HearsHttp2());  // so there is something to flood
  for (int i = 0; i < 20; ++i) attack(i);
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 200; ++i) attack(i);
  const int64_t growth = ResidentBytes() - before;
  std::printf("200 floods, resident memory grew by %ld kB\n", static_cast<long>(growth / 1024));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(growth, 20 << 20);
#endif
  EXPECT_EQ(server_->calls(), 0);
  EXPECT_TRUE(Accepts(client_));
}

}  // namespace
}  // namespace stampgate
