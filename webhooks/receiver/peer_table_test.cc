#include "webhooks/receiver/peer_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using std::chrono::seconds;

constexpr PeerProgress::Time kStart{seconds(1000)};

class FakePeer : public ConnectedPeer {
 public:
  using ConnectedPeer::ConnectedPeer;
  void Close() override { ++closed; }
  void CloseIfIdle() override {}

  int closed = 0;
};

TEST(PeerProgressTest, BytesBehindGrowUntilThePeerSends) {
  PeerProgress progress;
  EXPECT_EQ(progress.BytesBehind(kStart, 1000), 0);
  progress.Await(kStart);
  EXPECT_EQ(progress.BytesBehind(kStart, 1000), 0);
  EXPECT_EQ(progress.BytesBehind(kStart + seconds(2), 1000), 2000);
  progress.Received(1500);
  EXPECT_EQ(progress.BytesBehind(kStart + seconds(2), 1000), 500);
  progress.Received(1500);
  EXPECT_EQ(progress.BytesBehind(kStart + seconds(2), 1000), -1000);
  progress.Await(kStart + seconds(2));
  EXPECT_EQ(progress.BytesBehind(kStart + seconds(3), 1000), 1000);
  progress.Excuse();
  EXPECT_EQ(progress.BytesBehind(kStart + seconds(100), 1000), 0);
}

// A fixture with a table of eight places: two are reserved for proven peers, and two for unproven peers. The clock does
// not advance unless a test moves it.
class PeerTableTest : public testing::Test {
 protected:
  using Peers = std::vector<std::shared_ptr<FakePeer>>;

  std::shared_ptr<FakePeer> Come(const std::string& source = "a") {
    auto peer = std::make_shared<FakePeer>(source);
    is_in_ = table_.Admit(peer);
    return peer;
  }

  Peers ComeMany(int count, const std::string& source = "a") {
    Peers peers;
    for (int i = 0; i < count; ++i) {
      peers.push_back(Come(source));
      EXPECT_TRUE(is_in_);
    }
    return peers;
  }

  // Admits and proves a peer for whose bytes the server has waited since `awaited`.
  std::shared_ptr<FakePeer> ComeProven(PeerProgress::Time awaited = kStart, const std::string& source = "a") {
    auto peer = Come(source);
    EXPECT_TRUE(is_in_);
    peer->progress().Await(awaited);
    table_.Prove(peer.get(), now_);
    return peer;
  }

  static std::string ClosedOf(const Peers& peers) {
    std::string closed;
    for (const auto& peer : peers) closed += peer->closed == 0 ? "-" : peer->closed == 1 ? "x" : "?";
    return closed;
  }

  PeerTable table_{8, 1000};
  PeerProgress::Time now_ = kStart;
  bool is_in_ = false;
};

TEST_F(PeerTableTest, ClosesTheOldestUnprovenPeer) {
  const Peers peers = ComeMany(6);
  for (size_t i = 0; i < peers.size(); ++i) peers[i]->progress().Received(1000000 >> i);
  EXPECT_EQ(ClosedOf(peers), "------");
  ComeMany(1);
  EXPECT_EQ(ClosedOf(peers), "x-----");
  ComeMany(2);
  EXPECT_EQ(ClosedOf(peers), "xxx---");
  EXPECT_EQ(table_.counts().unproven, 6u);
}

TEST_F(PeerTableTest, NeverClosesAProvenPeerForUnprovenOnes) {
  const Peers proven = {ComeProven(), ComeProven(), ComeProven(), ComeProven()};
  now_ += seconds(1000);  // all proven peers are far behind the rate
  Peers newest;
  for (int i = 0; i < 1000; ++i) {
    newest = {Come(i % 2 == 0 ? "a" : "b")};
    EXPECT_TRUE(is_in_);
  }
  EXPECT_EQ(ClosedOf(proven), "----");
  EXPECT_EQ(ClosedOf(newest), "-");
  const PeerTable::Counts counts = table_.counts();
  EXPECT_EQ(counts.proven, 4u);
  EXPECT_EQ(counts.unproven, 4u);
  EXPECT_EQ(counts.unproven_displaced, 996u);
  EXPECT_EQ(counts.proven_displaced, 0u);
  EXPECT_EQ(counts.refused, 0u);
}

TEST_F(PeerTableTest, ReservesPlacesForProvenPeers) {
  Peers peers = ComeMany(6);
  table_.Prove(peers[5].get(), now_);
  table_.Prove(peers[4].get(), now_);
  const Peers more = ComeMany(2);
  EXPECT_EQ(ClosedOf(peers), "------") << "the new peers use the two reserved places";
}

// A party that opens many connections displaces its own connections.
TEST_F(PeerTableTest, ClosesAnUnprovenPeerOfTheSourceWithTheMostPeers) {
  const Peers honest = ComeMany(2, "honest");
  const Peers attack = ComeMany(4, "attack");
  for (int i = 0; i < 1000; ++i) Come("attack");
  EXPECT_EQ(ClosedOf(attack), "xxxx");
  EXPECT_EQ(ClosedOf(honest), "--");
  // A new peer from another source also displaces a peer of the largest source.
  const Peers other = ComeMany(1, "other");
  EXPECT_EQ(ClosedOf(honest), "--");
  EXPECT_EQ(ClosedOf(other), "-");
}

TEST_F(PeerTableTest, ClosesTheOldestPeerIfSourcesHaveEquallyManyPeers) {
  Peers peers;
  for (const char* source : {"a", "b", "c", "d", "e", "f"}) peers.push_back(ComeMany(1, source)[0]);
  ComeMany(1, "g");
  EXPECT_EQ(ClosedOf(peers), "x-----");
  ComeMany(1, "g");
  EXPECT_EQ(ClosedOf(peers), "x-----") << "g had two peers, so its older one was closed";
  EXPECT_EQ(table_.counts().unproven_displaced, 2u);
}

TEST_F(PeerTableTest, ClosesTheProvenPeerThatIsFurthestBehind) {
  const Peers peers = {
      ComeProven(kStart), ComeProven(kStart), ComeProven(kStart), ComeProven(kStart), ComeProven(kStart - seconds(1)),
      ComeProven(kStart)};
  EXPECT_FALSE(table_.IsCrowded());
  peers[0]->progress().Received(9000);
  peers[1]->progress().Received(8999);
  peers[2]->progress().Received(20000);
  peers[3]->progress().Excuse();
  peers[4]->progress().Received(9500);
  peers[5]->progress().Received(9900);
  now_ += seconds(10);
  const Peers next = {ComeProven(now_)};
  EXPECT_EQ(ClosedOf(peers), "----x-") << "the closed peer is 1500 bytes behind";
  const Peers then = {ComeProven(now_)};
  EXPECT_EQ(ClosedOf(peers), "-x--x-");
  EXPECT_FALSE(table_.IsCrowded());
  EXPECT_EQ(table_.counts().proven_displaced, 2u);
}

TEST_F(PeerTableTest, IsCrowdedWhileBusyProvenPeersUseReservedPlaces) {
  Peers peers;
  for (int i = 0; i < 8; ++i) {
    peers.push_back(ComeProven());
    peers.back()->progress().Excuse();
    EXPECT_EQ(table_.IsCrowded(), i >= 6) << i;
  }
  Come();
  EXPECT_FALSE(is_in_) << "there is no unproven peer to displace";
  EXPECT_EQ(ClosedOf(peers), "--------");
  EXPECT_EQ(table_.counts().refused, 1u);
  // After its last response, a peer counts as unproven.
  table_.Retire(peers[7].get());
  Come();
  EXPECT_TRUE(is_in_);
  EXPECT_EQ(ClosedOf(peers), "-------x");
  EXPECT_TRUE(table_.IsCrowded());
  table_.Leave(peers[0].get());
  EXPECT_FALSE(table_.IsCrowded());
}

TEST_F(PeerTableTest, IgnoresPeersThatAreNotInTheTable) {
  const Peers peers = ComeMany(2);
  table_.Prove(peers[0].get(), now_);
  table_.Prove(peers[0].get(), now_);
  EXPECT_EQ(table_.counts().proven, 1u);
  for (int i = 0; i < 2; ++i) {
    table_.Leave(peers[0].get());
    table_.Prove(peers[0].get(), now_);
    table_.Retire(peers[0].get());
  }
  EXPECT_EQ(table_.counts().proven, 0u);
  EXPECT_EQ(table_.counts().unproven, 1u);
}

TEST_F(PeerTableTest, ASmallTableAdmitsAsManyPeersAsItHasPlaces) {
  for (const size_t places : {1, 2, 3}) {
    PeerTable table(places, 1000);
    const auto first = std::make_shared<FakePeer>("a");
    const auto second = std::make_shared<FakePeer>("a");
    EXPECT_TRUE(table.Admit(first));
    table.Prove(first.get(), now_);
    EXPECT_EQ(table.Admit(second), places > 1) << places;
    EXPECT_EQ(first->closed, 0);
    EXPECT_EQ(second->closed, 0);
  }
}

TEST_F(PeerTableTest, TableKeepsNoPeerAlive) {
  std::weak_ptr<ConnectedPeer> gone = Come();
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(table_.All().empty());
  ComeMany(20);
}

}  // namespace
}  // namespace stampgate
