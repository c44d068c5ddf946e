#include "gateway/grpc_port/grpc_port.h"

#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
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
#include "absl/synchronization/notification.h"
#include "gateway/grpc_port/grpc_port_fixture.h"
#include "gateway/grpc_port/testing.h"
#include "translate/testing/status.h"

namespace stampgate {
namespace {

using stampgate::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(GrpcPortTest, AcceptsCertificatesOfTheAuthorities) {
  EXPECT_TRUE(Accepts(client_));
  for (const char* key : {"P-256", "P-384", "RSA2048", "ED25519"}) EXPECT_TRUE(Accepts(authority_.Issue({.key = key})));
  EXPECT_EQ(server_->calls(), 5);
}

TEST_F(GrpcPortTest, RefusesEveryOtherClient) {
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

TEST_F(GrpcPortTest, AcceptsCertificatesWithAnyNames) {
  for (const char* address : {"", "1", "12345", "123456789012345", "1234", "1234567890123456"}) {
    EXPECT_TRUE(Accepts(authority_.Issue({.names = {{GEN_IPADD, address}}}))) << address;
  }
  for (const int type : {V_ASN1_BIT_STRING, V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING}) {
    EXPECT_TRUE(Accepts(authority_.Issue({.subject_type = type}))) << type;
  }
}

TEST_F(GrpcPortTest, SpeaksTls12And13Alone) {
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    RawTlsClient client(server_->port(), client_, {.min_version = version, .max_version = version});
    EXPECT_TRUE(client.HearsHttp2());
    EXPECT_EQ(client.version(), name);
  }
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    EXPECT_FALSE(RawTlsClient(server_->port(), client_, {.min_version = version, .max_version = version}).handshaken());
  }
}

TEST_F(GrpcPortTest, SpeaksHttp2Alone) {
  for (const char* protocols : {"h2", "http/1.1,h2"}) {
    RawTlsClient client(server_->port(), client_, {.protocols = protocols});
    EXPECT_TRUE(client.HearsHttp2());
    EXPECT_EQ(client.protocol(), "h2");
  }
  for (const char* protocols : {"", "http/1.1", "h3"}) {
    EXPECT_FALSE(RawTlsClient(server_->port(), client_, {.protocols = protocols}).HearsHttp2()) << protocols;
  }
}

TEST_F(GrpcPortTest, GivesPlaintextNothing) {
  EXPECT_FALSE(PeerClient(absl::StrCat("ipv4:127.0.0.1:", server_->port())).Call().status.ok());
  EXPECT_EQ(server_->calls(), 0);
}

TEST_F(GrpcPortTest, ServesNewFilesFromTheNextHandshakeOn) {
  PeerClient old(server_->port(), authority_.certificate(), client_);
  ASSERT_TRUE(old.Call().status.ok());
  const TestIdentity next = other_authority_.IssueServer();
  Write(next, other_authority_.certificate());
  EXPECT_EQ(ServedSerial(), SerialOf(server_identity_.certificate));  // as long as nobody says so

  ASSERT_THAT(Reload(), StatusIs(absl::StatusCode::kOk));
  EXPECT_EQ(ServedSerial(), SerialOf(next.certificate));
  EXPECT_FALSE(Accepts(client_, other_authority_));
  EXPECT_TRUE(Accepts(other_authority_.IssueClient(), other_authority_));
  EXPECT_TRUE(old.Call().status.ok());  // it is connected, and stays so
}

TEST_F(GrpcPortTest, ReportsWhetherAnythingChanged) {
  EXPECT_FALSE(Reload().value());
  Write(server_identity_, authority_.certificate());  // other files, the same bytes
  EXPECT_FALSE(Reload().value());
  Write(server_identity_, authority_.certificate() + other_authority_.certificate());
  EXPECT_TRUE(Reload().value());
  EXPECT_FALSE(Reload().value());
  EXPECT_TRUE(Accepts(other_authority_.IssueClient()));
  const absl::Time not_after = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())) + absl::Hours(7);
  Write(authority_.Issue({.not_after = not_after}), authority_.certificate());
  EXPECT_TRUE(Reload().value());
  EXPECT_EQ(tls_->not_after(), not_after);
}

TEST_F(GrpcPortTest, KeepsWhatItServesWhenTheFilesAreBroken) {
  const std::string serial = SerialOf(server_identity_.certificate);
  const TestIdentity next = authority_.IssueServer();
  const absl::Time not_after = tls_->not_after();
  const auto expect_kept = [&](const std::string& fault) {
    EXPECT_THAT(std::string(Reload().status().message()), HasSubstr(fault));
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
  EXPECT_TRUE(Reload().value());
  EXPECT_EQ(ServedSerial(), SerialOf(next.certificate));
}

TEST_F(GrpcPortTest, GoesByTheClockItIsGiven) {
  const TestIdentity next = authority_.IssueServer();
  Write(next, authority_.certificate());
  now_ = absl::Now() + absl::Hours(2);
  EXPECT_THAT(Reload(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has expired")));
  now_ = absl::Now() - absl::Hours(2);
  EXPECT_THAT(Reload(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not valid yet")));
  now_ = absl::Now();
  EXPECT_TRUE(Reload().value());
  now_ = absl::Now() + absl::Hours(2);
  EXPECT_FALSE(Reload().value());  // it expired while it is served, and nothing better is there
}

TEST_F(GrpcPortTest, DoesNotStartWithBrokenFiles) {
  Write({server_identity_.certificate, client_.key}, authority_.certificate());
  EXPECT_THAT(CurrentTls::Load(files_, TlsProtocol::kHttp2, now_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not the key of")));
}

// A session is no way round the authorities that are served now, nor round the end of a certificate.
TEST_F(GrpcPortTest, ResumesNoSession) {
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

TEST_F(GrpcPortTest, ServesSeveralPorts) {
  const PeerServer v6({.address = "[::1]:0", .tls = tls_.get()});
  const PeerServer named({.address = "localhost:0", .tls = tls_.get()});
  EXPECT_EQ(RawTlsClient(named.port(), client_).server_serial(), SerialOf(server_identity_.certificate));
  const TestIdentity next = authority_.IssueServer();
  Write(next, authority_.certificate());
  ASSERT_TRUE(Reload().value());
  for (const int port : {server_->port(), named.port()}) {
    EXPECT_EQ(RawTlsClient(port, client_).server_serial(), SerialOf(next.certificate));
  }
}

TEST_F(GrpcPortTest, ListensOnAddressesAlone) {
  const auto listens_at = [&](const std::string& address) {
    grpc::ServerBuilder builder;
    return GrpcPort::Create({.address = address, .tls = tls_.get()}, std::make_shared<EventLoops>(1), builder).ok();
  };
  for (const char* address : {"127.0.0.1:0", "localhost:0", "[::1]:0"}) EXPECT_TRUE(listens_at(address)) << address;
  for (const char* address : {"example.invalid:0", "ip6-localhost:0", "unix:/nowhere", "127.0.0.1", ":0"}) {
    EXPECT_FALSE(listens_at(address)) << address;
  }
  EXPECT_FALSE(listens_at(server_->grpc_port().address())) << "another server listens there";
}

// Whether the server closes the connection of `fd`, on which the client sends nothing.
bool EndsAlone(int fd) {
  char byte;
  return recv(fd, &byte, 1, 0) == 0;
}

TEST_F(GrpcPortTest, ClosesTheOldestHandshakeIfThereAreTooMany) {
  const PeerServer server({.address = "", .tls = tls_.get(), .max_handshakes = 2, .handshake_timeout = absl::Hours(1)});
  const int first = ConnectTcp(server.port());
  const int second = ConnectTcp(server.port());
  const int third = ConnectTcp(server.port());
  EXPECT_TRUE(EndsAlone(first));
  EXPECT_TRUE(RawTlsClient(server.port(), client_).HearsHttp2());
  EXPECT_TRUE(EndsAlone(second));
  EXPECT_TRUE(RawTlsClient(server.port(), client_).HearsHttp2());
  char byte;
  EXPECT_EQ(recv(third, &byte, 1, MSG_DONTWAIT), -1);  // these two clients have displaced only the second one
  for (const int fd : {first, second, third}) close(fd);
}

TEST_F(GrpcPortTest, ClosesAHandshakeThatTakesTooLong) {
  const PeerServer server({.address = "", .tls = tls_.get(), .handshake_timeout = absl::Milliseconds(50)});
  const int silent = ConnectTcp(server.port());
  EXPECT_TRUE(EndsAlone(silent));
  close(silent);
}

TEST_F(GrpcPortTest, ChecksItsThreads) { EXPECT_TRUE(server_->grpc_port().Check(absl::Minutes(1)).ok()); }

TEST(PlaintextGrpcPortTest, ALoopbackAddressIsAnIdentity) {
  for (const auto& [address, target] : {std::pair("127.0.0.1:0", "ipv4:127.0.0.1:"),
                                        {"127.9.9.9:0", "ipv4:127.9.9.9:"},
                                        {"[::1]:0", "ipv6:[::1]:"},
                                        {"[::]:0", "ipv4:127.0.0.1:"},
                                        {"[::]:0", "ipv6:[::1]:"}}) {
    const PeerServer server({.address = address});
    EXPECT_EQ(PeerClient(absl::StrCat(target, server.port())).Call().peer, "loopback") << address << " " << target;
  }
}

// Reloads of whole snapshots and of broken files, while handshakes are in progress. A client that every snapshot trusts
// never fails. A client that only every second snapshot trusts is accepted with the certificate of that snapshot, or
// refused with the certificate of the other.
TEST_F(GrpcPortTest, NeverServesAMixedSnapshotNorFailsAHandshake) {
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
  ASSERT_TRUE(Reload().ok());

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
    EXPECT_FALSE(Reload().ok());
    write(i % 2);
    EXPECT_THAT(Reload(), StatusIs(absl::StatusCode::kOk));
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

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  statm >> total >> resident;
  return resident * getpagesize();
}

// A preface with SETTINGS, then what keeps the server busy: streams that are reset, headers that never end, pings.
std::string Flood() {
  std::string flood = absl::StrCat(kHttp2Preface, Http2Frame(0, 4, 0, 0));
  for (uint32_t stream = 1; stream < 2000; stream += 2) {
    absl::StrAppend(&flood, Http2Frame(20, 1, 4, stream), Http2Frame(4, 3, 0, stream));
  }
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&flood, Http2Frame(8, 6, 0, 0));
  absl::StrAppend(&flood, Http2Frame(16000, 1, 0, 2001));
  for (int i = 0; i < 60; ++i) absl::StrAppend(&flood, Http2Frame(16000, 9, 0, 2001));
  return flood;
}

TEST_F(GrpcPortTest, ReadsNoHttp2OfClientsWithoutACertificate) {
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
#ifndef STAMPGATE_SANITIZED
  EXPECT_LT(growth, 20 << 20);
#endif
  EXPECT_EQ(server_->calls(), 0);
  EXPECT_TRUE(Accepts(client_));
}

TEST_F(GrpcPortTest, LeavesTheHighestDescriptorsToTheProcess) {
  std::atomic<int> closed = 0;
  const int next = dup(STDERR_FILENO);  // the lowest free number
  close(next);
  server_ = nullptr;
  GrpcPort::Options options{.address = "", .tls = tls_.get(), .max_descriptor = next + 30};
  options.on_no_descriptor = [&closed] { ++closed; };
  server_ = std::make_unique<PeerServer>(options);
  EXPECT_TRUE(Accepts(client_));
  EXPECT_EQ(closed, 0);
  std::vector<int> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(ConnectTcp(server_->port()));
  for (int i = 0; i < 6000 && closed == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GT(closed, 0);
  for (const int client : clients) close(client);
  EXPECT_TRUE(Accepts(client_));
}

TEST_F(GrpcPortTest, TheKeyExchangeResistsQuantumComputersIfTheClientOffersIt) {
  constexpr char kName[] = "X25519MLKEM768";
  constexpr long kNumber = TLSEXT_nid_unknown | 0x11ec;
  const std::unique_ptr<SSL_CTX, decltype([](SSL_CTX* context) { SSL_CTX_free(context); })> known(
      SSL_CTX_new(TLS_client_method()));
  const bool has_it = SSL_CTX_set1_groups_list(known.get(), kName) == 1;
  ERR_clear_error();
  EXPECT_EQ(has_it, OPENSSL_VERSION_NUMBER >= 0x30500000L);
  const auto connect = [this](const std::string& groups) {
    RawTlsClient client(server_->port(), client_, {.min_version = TLS1_3_VERSION, .groups = groups});
    EXPECT_TRUE(client.HearsHttp2()) << groups;
    return client.group();
  };
  if (has_it) {
    EXPECT_EQ(connect(""), kNumber);
    EXPECT_EQ(connect(kName), kNumber);
    EXPECT_EQ(connect(absl::StrCat("X25519:", kName)), kNumber);
  }
  EXPECT_EQ(connect("X25519"), NID_X25519);
  EXPECT_EQ(connect("P-256"), NID_X9_62_prime256v1);
  EXPECT_EQ(connect("P-384"), NID_secp384r1);
  const RawTlsClient old(server_->port(), client_, {.max_version = TLS1_2_VERSION, .groups = "X25519:P-256"});
  EXPECT_TRUE(old.handshaken());
}

}  // namespace
}  // namespace stampgate
