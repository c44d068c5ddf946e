// Tests how the client uses connections, with and without TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/upstream/client_testing.h"
#include "gateway/upstream/scripted_server.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Cause = TransportFailure::Cause;
using Connection = ScriptedServer::Connection;

// Connections.

TEST(UpstreamClientTest, NeverRepeatsOnAReusedConnection) {
  const std::vector<std::function<void(Connection&)>> endings = {
      [](Connection& connection) {  // reads everything and closes
        connection.ReadRequest();
        connection.Close();
      },
      [](Connection& connection) {  // reads everything and resets
        connection.ReadRequest();
        connection.Reset();
      },
      [](Connection& connection) {  // reads a part of the body and resets
        connection.ReadUntil("\r\n\r\nx");
        connection.Reset();
      },
      [](Connection& connection) {  // begins to answer
        connection.ReadRequest();
        connection.Write("HTTP/1.1 200 OK\r\nContent-");
        connection.Close();
      },
  };
  for (const auto& ending : endings) {
    for (const size_t size : {size_t{2}, size_t{1'000'000}}) {
      SCOPED_TRACE(absl::StrCat("ending ", &ending - endings.data(), " size ", size));
      ScriptedServer server([&](Connection& connection) {
        connection.ReadRequest();
        connection.Write(JsonResponse("{}"));
        if (connection.index() == 0) return ending(connection);
        connection.WaitForClose();
      });
      auto client = Connect(OptionsFor(server));
      EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));
      Slot slot;
      client->Post(Stamper::Make("/second", std::string(size, 'x')), {}, slot.callback(), nullptr);
      EXPECT_THAT(slot.Wait(), Failed(Cause::kBroken, true));
      EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));  // the server has received any repetition by now
      EXPECT_EQ(slot.calls(), 1);
      EXPECT_EQ(server.connections(), 2);
      int seen = 0;
      for (const std::string& request : server.requests()) seen += absl::StartsWith(request, "POST /second");
      EXPECT_LE(seen, 1);
      EXPECT_LE(server.requests().size(), 3u);
    }
  }
}

TEST(UpstreamClientTest, NeverRepeatsOnAnotherIdleConnection) {
  Signal both_open;
  std::atomic<int> open = 0;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    if (++open == 2) both_open.Set();
    both_open.Wait();
    connection.Write(JsonResponse("{}"));
    connection.ReadRequest();
    connection.Close();
  });
  auto client = Connect(OptionsFor(server));
  Slot slots[2];
  for (Slot& slot : slots) client->Post(Stamper::Make("/first", "{}"), {}, slot.callback(), nullptr);
  for (Slot& slot : slots) EXPECT_THAT(slot.Wait(), IsAnswer(200, "{}"));
  EXPECT_THAT(Post(*client), Failed(Cause::kBroken, true));
  EXPECT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(server.connections(), 2);
}

// Checks that nothing that upstream does to an idle connection affects the next call, because the client sends this
// call on another connection. `respond` must send the response "first", and may send more. `rest` then runs while the
// connection is idle.
void RestingConnection(const std::function<void(Connection&)>& respond, const std::function<void(Connection&)>& rest,
                       std::optional<TestCertificate> certificate) {
  Signal answered;
  Signal rested;
  ScriptedServer server(
      [&](Connection& connection) {
        connection.ReadRequest();
        if (connection.index() > 0) {
          connection.Write(JsonResponse("second"));
          return connection.WaitForClose();
        }
        respond(connection);
        answered.Wait();
        rest(connection);
        rested.Set();
        connection.WaitForClose();
      },
      certificate.has_value() ? std::optional(ScriptedServer::Tls{*certificate}) : std::nullopt);
  UpstreamClient::Options options = OptionsFor(server);
  if (certificate.has_value()) {
    options.base_url = absl::StrCat("https://127.0.0.1:", server.port());
    options.ca_file = WriteFile("resting.pem", certificate->certificate_pem);
  }
  auto client = Connect(options);
  EXPECT_THAT(Post(*client), IsAnswer(200, "first"));
  answered.Set();
  rested.Wait();
  EXPECT_THAT(Post(*client), IsAnswer(200, "second"));
  EXPECT_THAT(server.requests(), SizeIs(2));
  EXPECT_EQ(server.connections(), 2);
}

TEST(UpstreamClientTest, SendsNothingOnAConnectionThatIsNoLongerQuiet) {
  const std::string first = JsonResponse("first");
  const std::string stale = JsonResponse("stale", "408 Request Timeout");
  const auto nothing = [](Connection&) {};
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls);
    const auto certificate = tls ? std::optional(MakeCertificate("127.0.0.1")) : std::nullopt;
    const auto respond = [&](Connection& connection) { connection.Write(first); };
    RestingConnection(
        respond, [&](Connection& connection) { connection.Write(stale); }, certificate);
    RestingConnection(
        respond, [&](Connection& connection) { connection.Close(); }, certificate);
    RestingConnection(
        respond,
        [&](Connection& connection) {
          connection.Write(stale);
          connection.Close();
        },
        certificate);
    RestingConnection([&](Connection& connection) { connection.Write(first + stale); }, nothing, certificate);
    RestingConnection([&](Connection& connection) { connection.WriteTogether({first, stale}); }, nothing, certificate);
  }
}

TEST(UpstreamClientTest, ReportsAServerThatCannotBeReached) {
  int refused;
  {
    ScriptedServer gone([](Connection&) {});
    refused = gone.port();
  }
  EXPECT_THAT(Post(*Connect(OptionsFor(absl::StrCat("http://127.0.0.1:", refused)))),
              Failed(Cause::kUnreachable, false));

  UpstreamClient::Options options = OptionsFor("https://stampgate.invalid");
  options.connect_timeout = absl::Seconds(2);  // limits the wait if there is no name server
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));

  const BlackHole black_hole;
  options = OptionsFor(black_hole.url);
  options.connect_timeout = absl::Milliseconds(50);
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));

  ScriptedServer silent([](Connection& connection) { connection.WaitForClose(); });
  options = OptionsFor(absl::StrCat("https://127.0.0.1:", silent.port()));
  options.connect_timeout = absl::Milliseconds(100);
  EXPECT_THAT(Post(*Connect(options)), Failed(Cause::kUnreachable, false));
}

// TLS.

class TlsTest : public ::testing::Test {
 protected:
  std::string CaFile(const TestCertificate& certificate) { return WriteFile("ca.pem", certificate.certificate_pem); }

  UpstreamOutcome PostTo(const ScriptedServer& server, const std::string& host, const std::string& ca_file) {
    UpstreamClient::Options options = OptionsFor(absl::StrCat("https://", host, ":", server.port()));
    options.ca_file = ca_file;
    auto client = Connect(options);
    const UpstreamOutcome first = Post(*client);
    const UpstreamOutcome second = Post(*client);
    EXPECT_EQ(first.index(), second.index());
    return first;
  }
};

TEST_F(TlsTest, VerifiesAndKeepsAlive) {
  const TestCertificate certificate = MakeCertificate("127.0.0.1");
  {
    ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{certificate});
    EXPECT_THAT(PostTo(server, "127.0.0.1", CaFile(certificate)), IsAnswer(200, "{}"));
    EXPECT_THAT(server.requests(), SizeIs(2));
    EXPECT_EQ(server.connections(), 1);
  }
  const TestCertificate named = MakeCertificate("localhost");
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{named});
  EXPECT_THAT(PostTo(server, "localhost", CaFile(named)), IsAnswer(200, "{}"));
}

TEST_F(TlsTest, SendsNothingToTheWrongServer) {
  const TestCertificate right = MakeCertificate("127.0.0.1");
  const TestCertificate other_host = MakeCertificate("upstream.example");
  const TestCertificate expired = MakeCertificate("127.0.0.1", /*expired=*/true);
  struct Row {
    const char* name;
    ScriptedServer::Tls tls;
    std::string ca_file;
  };
  for (const Row& row : {Row{"unknown authority", {right}, WriteFile("other.pem", other_host.certificate_pem)},
                         Row{"system's authorities", {right}, ""},
                         Row{"other host", {other_host}, WriteFile("host.pem", other_host.certificate_pem)},
                         Row{"expired", {expired}, WriteFile("expired.pem", expired.certificate_pem)},
                         Row{"TLS 1.1", {right, TLS1_1_VERSION}, WriteFile("right.pem", right.certificate_pem)}}) {
    ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), row.tls);
    EXPECT_THAT(PostTo(server, "127.0.0.1", row.ca_file), Failed(Cause::kTls, false)) << row.name;
    EXPECT_THAT(server.requests(), IsEmpty()) << row.name;
  }
  ScriptedServer server(ScriptedServer::Always(JsonResponse("{}")), ScriptedServer::Tls{right, TLS1_2_VERSION});
  EXPECT_THAT(PostTo(server, "127.0.0.1", CaFile(right)), IsAnswer(200, "{}"));
}

TEST_F(TlsTest, NeverRepeatsOnAReusedConnection) {
  const TestCertificate certificate = MakeCertificate("127.0.0.1");
  ScriptedServer server(
      [](Connection& connection) {
        connection.ReadRequest();
        connection.Write(JsonResponse("{}"));
        connection.ReadRequest();
        connection.Close();
      },
      ScriptedServer::Tls{certificate});
  UpstreamClient::Options options = OptionsFor(absl::StrCat("https://127.0.0.1:", server.port()));
  options.ca_file = CaFile(certificate);
  auto client = Connect(options);
  EXPECT_THAT(Post(*client), IsAnswer(200, "{}"));
  EXPECT_THAT(Post(*client, "second"), Failed(Cause::kBroken, true));
  EXPECT_THAT(Post(*client, "third"), IsAnswer(200, "{}"));
  EXPECT_THAT(server.requests(), SizeIs(3));
}

}  // namespace
}  // namespace stampgate
