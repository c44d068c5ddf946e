#include "gateway/callers/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CallerDirectory DirectoryOf(const std::string& text) {
  return CallerDirectory(testing::Proto<config::v1::Config>(text), *OperationSet::BuiltIn());
}

std::vector<std::string> Names(const CallerDirectory::Callers& callers) {
  std::vector<std::string> names;
  for (const Caller* caller : callers) names.push_back(caller->name());
  return names;
}

Peer Loopback() { return Peer{.plaintext_loopback = true, .spiffe_id = {}, .dns_names = {}}; }
Peer Spiffe(const std::string& id) { return Peer{.plaintext_loopback = false, .spiffe_id = id, .dns_names = {}}; }
Peer Dns(const std::vector<std::string>& names) {
  return Peer{.plaintext_loopback = false, .spiffe_id = {}, .dns_names = names};
}

const CallerDirectory& Everybody() {
  static const auto& directory = *new CallerDirectory(DirectoryOf(R"(
    callers { name: "local" loopback: true }
    callers { name: "local-too" loopback: true token_sha256: "x" }
    callers { name: "payments" spiffe_ids: ["spiffe://example.org/payments", "spiffe://example.org/payments-2"] }
    callers { name: "web" dns_names: ["web.example.org", "WWW.Example.Org"] }
    callers { name: "both" spiffe_ids: "spiffe://example.org/both" dns_names: "both.example.org" }
    callers { name: "shared" dns_names: "web.example.org" token_sha256: "y" }
    callers { name: "nobody" })"));
  return directory;
}

TEST(CallerDirectoryTest, PlaintextFromLoopbackMatchesTheLoopbackCallers) {
  EXPECT_THAT(Names(Everybody().Find(Loopback())), ElementsAre("local", "local-too"));
}

TEST(CallerDirectoryTest, AStrangerMatchesNoCaller) {
  EXPECT_THAT(Everybody().Find(Peer{}), IsEmpty());
  EXPECT_THAT(Everybody().Find(Spiffe("spiffe://example.org/other")), IsEmpty());
  EXPECT_THAT(Everybody().Find(Dns({"other.example.org"})), IsEmpty());
  EXPECT_THAT(CallerDirectory().Find(Loopback()), IsEmpty());
}

TEST(CallerDirectoryTest, SpiffeIdsMustMatchExactly) {
  EXPECT_THAT(Names(Everybody().Find(Spiffe("spiffe://example.org/payments"))), ElementsAre("payments"));
  EXPECT_THAT(Names(Everybody().Find(Spiffe("spiffe://example.org/payments-2"))), ElementsAre("payments"));
  for (const char* id :
       {"spiffe://example.org/Payments", "spiffe://example.org/payments/", "spiffe://example.org/payment",
        "spiffe://example.org/payments/api", "spiffe://Example.org/payments", "payments"}) {
    EXPECT_THAT(Everybody().Find(Spiffe(id)), IsEmpty()) << id;
  }
}

TEST(CallerDirectoryTest, DnsNamesMustMatchExactlyExceptForTheirCase) {
  EXPECT_THAT(Names(Everybody().Find(Dns({"web.example.org"}))), ElementsAre("web", "shared"));
  // PeerOf returns names in lower case, but the config can contain names in upper case.
  EXPECT_THAT(Names(Everybody().Find(Dns({"www.example.org"}))), ElementsAre("web"));
  for (const char* name : {"a.web.example.org", "example.org", "web.example.org.", "*.example.org", ""}) {
    EXPECT_THAT(Everybody().Find(Dns({name})), IsEmpty()) << name;
  }
}

TEST(CallerDirectoryTest, AnIdentityMatchesOnlyIdentitiesOfItsKind) {
  EXPECT_THAT(Everybody().Find(Spiffe("web.example.org")), IsEmpty());
  EXPECT_THAT(Everybody().Find(Dns({"spiffe://example.org/payments"})), IsEmpty());
  // If a certificate contains a SPIFFE ID, the gateway identifies the peer by this ID only.
  Peer peer = Spiffe("spiffe://example.org/other");
  peer.dns_names = {"web.example.org"};
  EXPECT_THAT(Everybody().Find(peer), IsEmpty());
}

TEST(CallerDirectoryTest, ReturnsNoCallerTwice) {
  EXPECT_THAT(Names(Everybody().Find(Dns({"www.example.org", "web.example.org", "web.example.org"}))),
              ElementsAre("web", "shared"));
  const CallerDirectory directory = DirectoryOf(
      R"(callers { name: "a" spiffe_ids: ["spiffe://e/a", "spiffe://e/a"] dns_names: ["a.b", "A.B"] token_sha256: "x" })");
  EXPECT_THAT(Names(directory.Find(Spiffe("spiffe://e/a"))), ElementsAre("a"));
  EXPECT_THAT(Names(directory.Find(Dns({"a.b"}))), ElementsAre("a"));
}

TEST(CallerDirectoryTest, ACertificateMayMatchSeveralCallers) {
  EXPECT_THAT(Names(Everybody().Find(Dns({"both.example.org", "x.example.org", "web.example.org"}))),
              ElementsAre("both", "web", "shared"));
}

TEST(CallerDirectoryTest, PointersStayValidWhenTheDirectoryMoves) {
  CallerDirectory first = DirectoryOf("callers { name: 'a' loopback: true }");
  const CallerDirectory::Callers callers = first.Find(Loopback());
  ASSERT_EQ(callers.size(), 1u);
  const CallerDirectory second = std::move(first);
  EXPECT_EQ(second.Find(Loopback()), callers);
  EXPECT_EQ(callers.front()->name(), "a");
}

}  // namespace
}  // namespace stampgate
