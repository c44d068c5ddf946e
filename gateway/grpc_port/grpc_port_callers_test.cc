// Tests what the gRPC port does to the clients of identities: it refuses those of no caller, and closes the connections
// that exceed a bound.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/grpc_port/grpc_experiments.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/grpc_port/grpc_port_fixture.h"
#include "gateway/grpc_port/grpc_release.h"
#include "gateway/grpc_port/open_connections.h"
#include "gateway/grpc_port/testing.h"

namespace stampgate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class GrpcPortForCallersTest : public GrpcPortTest {
 protected:
  static void SetUpTestSuite() { ChooseGrpcExperiments(); }

  void SetUp() override {
    GrpcPortTest::SetUp();
    Open({.address = "", .tls = tls_.get()});
  }

  void TearDown() override { server_ = nullptr; }

  void Open(GrpcPort::Options options) {
    server_ = nullptr;
    options.is_caller = [this](const Peer& peer) {
      const MutexLock lock(mutex_);
      return callers_.contains(Describe(peer));
    };
    options.on_failed_handshake = [this](const FailedHandshake& failed) {
      if (failed.failure == HandshakeFailure::kNoCaller)
        return Report(absl::StrCat("refused: ", Describe(failed.peer)));
      Report(absl::StrCat(failed.address, " ", static_cast<int>(failed.failure), " (", failed.names, ") ", failed.why));
    };
    options.on_dismissed = [this](const std::set<uint64_t>& connections) {
      Report(absl::StrCat("dismissed: ", connections.size()));
    };
    options.on_excess = [this](const Peer& peer, Excess excess) {
      Report(absl::StrCat(Describe(peer), ": ", MessageOf(excess)));
    };
    server_ = std::make_unique<PeerServer>(std::move(options));
  }

  TestIdentity Issue(const std::string& name) const {
    return authority_.Issue({.names = {{GEN_URI, absl::StrCat("spiffe://test/", name)}}});
  }

  void SetCallers(std::set<std::string> callers) {
    const MutexLock lock(mutex_);
    callers_ = std::move(callers);
  }

  void Report(std::string text) {
    const MutexLock lock(mutex_);
    reports_.push_back(std::move(text));
    reported_.WakeAll();
  }

  // Waits until there are `count` reports, and returns them.
  std::vector<std::string> WaitForReports(size_t count) {
    MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (reports_.size() < count && !reported_.WaitUntil(mutex_, deadline)) {
    }
    return reports_;
  }

  Mutex mutex_;
  Condition reported_;
  std::set<std::string> callers_ ABSL_GUARDED_BY(mutex_) = {"spiffe spiffe://test/known", "spiffe spiffe://test/other"};
  std::vector<std::string> reports_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(GrpcPortForCallersTest, RefusesCertificatesOfNoCallerInTheHandshake) {
  const TestIdentity stranger = Issue("stranger");
  const TestIdentity nobody = authority_.Issue({.names = {}});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const RawTlsClient::Options options{.min_version = version, .max_version = version};
    RawTlsClient client(server_->port(), stranger, options);
    EXPECT_EQ(client.handshaken(), version == TLS1_3_VERSION);
    EXPECT_FALSE(client.HearsHttp2());
    EXPECT_FALSE(RawTlsClient(server_->port(), nobody, options).HearsHttp2());
    EXPECT_TRUE(RawTlsClient(server_->port(), Issue("known"), options).HearsHttp2());
  }
  EXPECT_THAT(WaitForReports(4), UnorderedElementsAre("refused: spiffe spiffe://test/stranger", "refused: stranger",
                                                      "refused: spiffe spiffe://test/stranger", "refused: stranger"));
}

TEST_F(GrpcPortForCallersTest, ReportsWhyAHandshakeFailed) {
  const auto port = [this] { return server_->port(); };
  const std::vector<std::pair<int, std::string>> known = {{GEN_URI, "spiffe://test/known"}};
  const auto failure = [](HandshakeFailure how, const std::string& names, const std::string& why) {
    return AllOf(StartsWith(absl::StrCat("127.0.0.1 ", static_cast<int>(how), " (", names, ") ")), HasSubstr(why));
  };
  size_t reports = 0;
  const auto expect = [&](const auto& matcher) {
    const std::vector<std::string> all = WaitForReports(++reports);
    ASSERT_EQ(all.size(), reports);
    EXPECT_THAT(all.back(), matcher);
  };
  const auto expect_refused = [&](const TestIdentity& identity, const std::string& why) {
    EXPECT_FALSE(RawTlsClient(port(), identity).HearsHttp2());
    expect(failure(HandshakeFailure::kCertificateRefused, "uri:spiffe://test/known", why));
  };

  expect_refused(
      authority_.Issue(
          {.names = known, .not_before = absl::Now() - absl::Hours(2), .not_after = absl::Now() - absl::Hours(1)}),
      "has expired: renew it");
  expect_refused(
      authority_.Issue(
          {.names = known, .not_before = absl::Now() + absl::Hours(1), .not_after = absl::Now() + absl::Hours(2)}),
      "is not valid yet");
  expect_refused(authority_.Issue({.names = known, .extended_usage = "serverAuth"}), "contains clientAuth");
  expect_refused(other_authority_.Issue({.names = known}), "no CA of tls.client_ca_file has issued it");
  expect_refused(MakeSelfSigned({.names = known}), "no CA of tls.client_ca_file has issued it");

  EXPECT_FALSE(RawTlsClient(port(), std::nullopt).HearsHttp2());
  expect(failure(HandshakeFailure::kNoCertificate, "", "the client has sent no certificate: give it"));
  EXPECT_FALSE(RawTlsClient(port(), Issue("known"), {.min_version = TLS1_1_VERSION, .max_version = TLS1_1_VERSION})
                   .handshaken());
  expect(failure(HandshakeFailure::kHelloRefused, "", "the client must use TLS 1.2 or 1.3"));
  EXPECT_FALSE(RawTlsClient(port(), Issue("known"), {.protocols = "http/1.1"}).HearsHttp2());
  expect(failure(HandshakeFailure::kHelloRefused, "", "offers another protocol (ALPN)"));
  EXPECT_FALSE(RawTlsClient(port(), Issue("known"), {.protocols = ""}).HearsHttp2());
  expect(failure(HandshakeFailure::kHelloRefused, "", "has not offered the protocol h2"));
  for (const char* bytes : {kHttp2Preface, "GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 192.0.2.7 10.0.0.1 4660 443\r\n"}) {
    const int plaintext = ConnectTcp(port());
    ASSERT_GT(send(plaintext, bytes, strlen(bytes), MSG_NOSIGNAL), 0);
    expect(failure(HandshakeFailure::kNoHello, "", "the first bytes are not TLS: the client speaks plaintext"));
    close(plaintext);
  }
  close(ConnectTcp(port()));  // a probe
  expect("127.0.0.1 0 () ");
  EXPECT_FALSE(RawTlsClient(port(), Issue("stranger")).HearsHttp2());
  expect(StartsWith("refused: spiffe spiffe://test/stranger"));
}

TEST_F(GrpcPortForCallersTest, NeitherACaNorADnsNameBesideAForeignUriIsACaller) {
  SetCallers({"spiffe spiffe://test/known", "dns known.test"});
  const std::vector<std::pair<int, std::string>> spiffe = {{GEN_URI, "spiffe://test/known"}};
  const std::vector<std::pair<int, std::string>> dns = {{GEN_DNS, "known.test"}};
  EXPECT_TRUE(RawTlsClient(server_->port(), authority_.Issue({.names = dns})).HearsHttp2());
  for (const TestIdentity& identity :
       {authority_.Issue({.names = spiffe, .is_authority = true}),
        authority_.Issue({.names = dns, .is_authority = true}),
        authority_.Issue({.names = spiffe, .key_usage = "digitalSignature,keyCertSign"}),
        authority_.Issue({.names = {{GEN_DNS, "known.test"}, {GEN_URI, "https://known.test"}}})}) {
    EXPECT_FALSE(RawTlsClient(server_->port(), identity).HearsHttp2());
  }
  EXPECT_THAT(WaitForReports(4),
              UnorderedElementsAre("refused: stranger", "refused: stranger", "refused: stranger", "refused: stranger"));
}

TEST_F(GrpcPortForCallersTest, AnIdentityThatIsNoCallerAnyMoreLosesItsConnections) {
  RawTlsClient known(server_->port(), Issue("known"));
  RawTlsClient removed(server_->port(), Issue("other"));
  ASSERT_TRUE(known.HearsHttp2() && removed.HearsHttp2());
  SetCallers({"spiffe spiffe://test/known"});
  PeerClient caller(server_->port(), authority_.certificate(), Issue("known"));
  ASSERT_TRUE(caller.Call().status.ok());

  const auto began = std::chrono::steady_clock::now();
  server_->grpc_port().DismissStrangers();
  EXPECT_THAT(WaitForReports(1), ElementsAre("dismissed: 1"));
  EXPECT_EQ(removed.ReadGoAway(), "0 the identity of the certificate belongs to no caller any more");
  std::printf("the connection ended after %.1f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  EXPECT_TRUE(caller.Call().status.ok());
  for (int i = 0; i < 6000 && server_->grpc_port().usage().connections != 2; ++i)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(server_->grpc_port().usage().connections, 2u);
}

TEST_F(GrpcPortForCallersTest, ACancelledCallStillHasItsPeer) {
  if (!IsMaintainedGrpc(grpc::Version())) GTEST_SKIP() << "gRPC 1.51 always forgets the peer";
  PeerClient caller(server_->port(), authority_.certificate(), Issue("known"));
  EXPECT_EQ(caller.Call(PeerServer::kCancelledMethod).status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(server_->PeerOfCancelledCall(), "spiffe spiffe://test/known");
}

TEST_F(GrpcPortForCallersTest, AnIdentityHasABoundOnConnections) {
  Open({.address = "", .tls = tls_.get(), .memory = {.max_connections_per_identity = 2}});
  std::vector<std::unique_ptr<RawTlsClient>> clients;
  for (const char* name : {"known", "known", "other"}) {
    clients.push_back(std::make_unique<RawTlsClient>(server_->port(), Issue(name)));
    EXPECT_TRUE(clients.back()->HearsHttp2());
  }
  EXPECT_EQ(RawTlsClient(server_->port(), Issue("known")).ReadGoAway(),
            "11 the connections with this certificate's identity exceed connections.max_per_identity");
  EXPECT_THAT(WaitForReports(1), ElementsAre(HasSubstr("connections.max_per_identity")));
  EXPECT_TRUE(RawTlsClient(server_->port(), Issue("other")).HearsHttp2());
}

constexpr char kTooMany[] =
    "all connections exceed connections.max, and no identity would have more than this certificate's";

TEST_F(GrpcPortForCallersTest, AnIdentityAloneMayUseAllConnections) {
  Open({.address = "", .tls = tls_.get(), .max_connections = 3});
  std::vector<std::unique_ptr<RawTlsClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawTlsClient>(server_->port(), Issue("known")));
    EXPECT_TRUE(clients.back()->HearsHttp2());
  }
  EXPECT_EQ(RawTlsClient(server_->port(), Issue("known")).ReadGoAway(), absl::StrCat("11 ", kTooMany));
  EXPECT_THAT(WaitForReports(1), ElementsAre(absl::StrCat("spiffe spiffe://test/known: ", kTooMany)));
  // A connection that ends leaves its place to the next one.
  clients.pop_back();
  for (int i = 0; i < 6000 && server_->grpc_port().usage().connections != 2; ++i)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(RawTlsClient(server_->port(), Issue("known")).HearsHttp2());
}

TEST_F(GrpcPortForCallersTest, AConnectionDisplacesTheNewestIdleOneOfTheIdentityWithTheMost) {
  Open({.address = "", .tls = tls_.get(), .max_connections = 4});
  std::vector<std::unique_ptr<RawTlsClient>> clients;
  // The newest of the four has a call.
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawTlsClient>(server_->port(), Issue("known")));
    ASSERT_TRUE(clients.back()->HearsHttp2());
  }
  ASSERT_TRUE(
      clients[3]->Send(absl::StrCat(kHttp2Preface, Http2Frame(0, 4, 0, 0), Http2Call(PeerServer::kHeldMethod, 1))));
  for (int i = 0; i < 6000 && server_->calls() == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  ASSERT_EQ(server_->calls(), 1);

  RawTlsClient first(server_->port(), Issue("other"));
  EXPECT_TRUE(first.HearsHttp2());
  EXPECT_THAT(WaitForReports(1), ElementsAre(absl::StrCat("spiffe spiffe://test/known: ", kTooMany)));
  clients[2]->EndWrites();
  EXPECT_EQ(clients[2]->ReadGoAway(), absl::StrCat("0 ", kTooMany));

  RawTlsClient second(server_->port(), Issue("other"));
  EXPECT_TRUE(second.HearsHttp2());
  EXPECT_THAT(WaitForReports(2), SizeIs(2));
  clients[1]->EndWrites();
  EXPECT_EQ(clients[1]->ReadGoAway(), absl::StrCat("0 ", kTooMany));

  // Both identities have two connections now, so neither displaces another one.
  for (const char* name : {"other", "known"}) {
    EXPECT_EQ(RawTlsClient(server_->port(), Issue(name)).ReadGoAway(), absl::StrCat("11 ", kTooMany));
  }
}

// Each connection of the identity with the most has a call that never ends.
TEST_F(GrpcPortForCallersTest, CallsThatNeverEndDoNotKeepTheirPlaces) {
  constexpr size_t kClients = 2 * (OpenConnections::kMaxDisplaced + 2);
  Open({.address = "", .tls = tls_.get(), .max_connections = kClients});
  std::vector<std::unique_ptr<RawTlsClient>> greedy;
  for (size_t i = 0; i < kClients; ++i) {
    greedy.push_back(std::make_unique<RawTlsClient>(server_->port(), Issue("known")));
    ASSERT_TRUE(greedy.back()->Send(
        absl::StrCat(kHttp2Preface, Http2Frame(0, 4, 0, 0), Http2Call(PeerServer::kHeldMethod, 1))));
  }
  for (int i = 0; i < 6000 && server_->calls() < static_cast<int>(kClients); ++i)
    absl::SleepFor(absl::Milliseconds(10));
  ASSERT_EQ(server_->calls(), static_cast<int>(kClients));
  std::vector<std::unique_ptr<RawTlsClient>> honest;
  for (size_t i = 0; i < kClients / 2; ++i) {
    honest.push_back(std::make_unique<RawTlsClient>(server_->port(), Issue("other")));
    ASSERT_TRUE(honest.back()->HearsHttp2());
  }
  // The first two that were displaced end at once, because too many of them are open.
  const auto began = std::chrono::steady_clock::now();
  for (size_t i = 1; i <= 2; ++i) EXPECT_EQ(greedy[greedy.size() - i]->ReadGoAway(), absl::StrCat("0 ", kTooMany));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20)) << "the time to finish calls";
}

TEST_F(GrpcPortForCallersTest, AConnectionThatExceedsABoundReadsWhichOne) {
  Open({.address = "",
        .tls = tls_.get(),
        .frames = {.max_header_bytes = 20000, .max_resets_per_second = 10, .max_control_frames_per_second = 10},
        .memory = {.max_bytes_per_connection = 1 << 20}});
  const std::string preface = absl::StrCat(kHttp2Preface, Http2Frame(0, 4, 0, 0));
  std::string resets;
  for (uint32_t stream = 1; stream < 220; stream += 2) {
    absl::StrAppend(&resets, Http2Frame(20, 1, 4, stream), Http2Frame(4, 3, 0, stream));
  }
  std::string pings;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&pings, Http2Frame(8, 6, 0, 0));
  const std::string headers = absl::StrCat(Http2LongHeaders(16000, 0, 1), Http2Frame(16000, 9, 0, 1));
  const std::pair<std::string, std::string> cases[] = {
      {resets, "max_resets_per_second"}, {pings, "max_control_frames_per_second"}, {headers, "max_header_bytes"}};
  for (const auto& [flood, bound] : cases) {
    RawTlsClient client(server_->port(), Issue("known"));
    ASSERT_TRUE(client.HearsHttp2());
    EXPECT_TRUE(client.Send(preface + flood));
    EXPECT_THAT(client.ReadGoAway(), AllOf(StartsWith("11 "), HasSubstr(bound)));
  }
  EXPECT_THAT(WaitForReports(3), UnorderedElementsAre(HasSubstr("max_resets"), HasSubstr("max_control_frames"),
                                                      HasSubstr("max_header_bytes")));
  // The negative control: with higher bounds, the same frames do not exceed them.
  Open({.address = "",
        .tls = tls_.get(),
        .frames = {.max_header_bytes = 64000, .max_resets_per_second = 100, .max_control_frames_per_second = 100}});
  for (const auto& [flood, bound] : cases) {
    RawTlsClient client(server_->port(), Issue("known"));
    EXPECT_TRUE(client.Send(absl::StrCat(preface, flood, Http2Frame(8, 7, 0, 0))));  // ends with GOAWAY
    client.EndWrites();
    EXPECT_THAT(client.ReadGoAway(), Not(AnyOf(HasSubstr("connections."), HasSubstr("memory."))));
  }
  EXPECT_THAT(WaitForReports(3), SizeIs(3));
}

TEST_F(GrpcPortForCallersTest, UnfinishedRequestsHaveBounds) {
  Open({.address = "", .tls = tls_.get(), .memory = {.max_bytes_per_connection = 1 << 20}});
  std::string requests = absl::StrCat(kHttp2Preface, Http2Frame(0, 4, 0, 0));
  for (uint32_t stream = 1; stream < 300; stream += 2) absl::StrAppend(&requests, Http2Frame(1, 1, 4, stream));
  RawTlsClient client(server_->port(), Issue("known"));
  EXPECT_TRUE(client.Send(requests));
  EXPECT_THAT(client.ReadGoAway(), HasSubstr("memory.max_bytes_per_connection"));
  EXPECT_THAT(WaitForReports(1), ElementsAre(HasSubstr("max_bytes_per_connection")));
}

}  // namespace
}  // namespace stampgate
