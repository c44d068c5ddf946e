#include "webhooks/receiver/peer_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stampgate {
namespace {

using std::chrono::seconds;

constexpr PeerProgress::Time kStart{seconds(1000)};

class FakePeer : public ConnectedPeer {
 public:
  FakePeer() : ConnectedPeer(1000) {}
  void Close() override { ++closed; }
  void CloseIfIdle() override {}

  int closed = 0;
};

TEST(PeerProgressTest, HasABoundOnlyWhileTheServerWaitsForThePeer) {
  PeerProgress progress(1000);
  EXPECT_EQ(progress.bound(), std::nullopt);
  progress.Received(1000, kStart);
  EXPECT_EQ(progress.bound(), std::nullopt);
  progress.Await(kStart);
  EXPECT_EQ(progress.bound(), kStart + ArrivalBound::kGrace);
  progress.Received(1000, kStart + seconds(3));
  EXPECT_EQ(progress.bound(), kStart + seconds(1) + ArrivalBound::kGrace);
  progress.Await(kStart + seconds(3));
  EXPECT_EQ(progress.bound(), kStart + seconds(3) + ArrivalBound::kGrace);
  progress.Excuse();
  EXPECT_EQ(progress.bound(), std::nullopt);
}

// A fixture with a table of eight places, of which each standing keeps two. The clock does not advance unless a test
// moves it.
class PeerTableTest : public testing::Test {
 protected:
  using Peers = std::vector<std::shared_ptr<FakePeer>>;

  std::shared_ptr<FakePeer> Come(const std::string& source = "a") {
    auto peer = std::make_shared<FakePeer>();
    is_in_ = table_.Admit(peer, source, now_);
    all_.push_back(peer);
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

  // Admits a peer that then requests a path, and for whose bytes the server has waited since `awaited`.
  std::shared_ptr<FakePeer> ComeKnowing(const std::string& source = "a", PeerProgress::Time awaited = kStart) {
    auto peer = Come(source);
    EXPECT_TRUE(is_in_);
    peer->progress().Await(awaited);
    table_.Know(peer.get());
    return peer;
  }

  Peers ComeManyKnowing(int count, const std::string& source = "a") {
    Peers peers;
    for (int i = 0; i < count; ++i) peers.push_back(ComeKnowing(source));
    return peers;
  }

  static std::string ClosedOf(const Peers& peers) {
    std::string closed;
    for (const auto& peer : peers) closed += peer->closed == 0 ? "-" : peer->closed == 1 ? "x" : "?";
    return closed;
  }

  ProvenSources proven_;
  PeerTable table_{8, proven_};
  PeerProgress::Time now_ = kStart;
  bool is_in_ = false;
  Peers all_;  // keeps the peers alive, as their pending operations would
};

TEST_F(PeerTableTest, ClosesTheOldestStranger) {
  const Peers peers = ComeMany(8);
  for (size_t i = 0; i < peers.size(); ++i) {
    peers[i]->progress().Await(now_);
    peers[i]->progress().Received(1000000 >> i, now_);
  }
  EXPECT_EQ(ClosedOf(peers), "--------");
  ComeMany(1);
  EXPECT_EQ(ClosedOf(peers), "x-------");
  ComeMany(2);
  EXPECT_EQ(ClosedOf(peers), "xxx-----");
  EXPECT_EQ(table_.counts(now_).unproven, 8u);
  EXPECT_EQ(table_.counts(now_).unproven_displaced, 3u);
}

TEST_F(PeerTableTest, ClosesNoPeerThatKnowsAPathForStrangersThatHaveMoreThanTheirQuarter) {
  const Peers knowing = ComeManyKnowing(4);
  now_ += seconds(1000);  // all of them are far behind the rate
  Peers newest;
  for (int i = 0; i < 1000; ++i) {
    newest = {Come(i % 2 == 0 ? "a" : "b")};
    EXPECT_TRUE(is_in_);
  }
  EXPECT_EQ(ClosedOf(knowing), "----");
  EXPECT_EQ(ClosedOf(newest), "-");
  EXPECT_EQ(table_.counts(now_).unproven_displaced, 996u);
  EXPECT_EQ(table_.counts(now_).refused, 0u);
}

// A party that opens many connections displaces its own connections.
TEST_F(PeerTableTest, ClosesAStrangerOfTheSourceWithTheMostPeers) {
  const Peers honest = ComeMany(2, "honest");
  const Peers attack = ComeMany(6, "attack");
  for (int i = 0; i < 1000; ++i) Come("attack");
  EXPECT_EQ(ClosedOf(attack), "xxxxxx");
  EXPECT_EQ(ClosedOf(honest), "--");
  // A new peer from another source also displaces a peer of the largest source.
  const Peers other = ComeMany(1, "other");
  EXPECT_EQ(ClosedOf(honest), "--");
  EXPECT_EQ(ClosedOf(other), "-");
}

TEST_F(PeerTableTest, ClosesTheOldestPeerIfSourcesHaveEquallyManyPeers) {
  Peers peers;
  for (const char* source : {"a", "b", "c", "d", "e", "f", "g", "h"}) peers.push_back(ComeMany(1, source)[0]);
  ComeMany(1, "i");
  EXPECT_EQ(ClosedOf(peers), "x-------");
  ComeMany(1, "i");
  EXPECT_EQ(ClosedOf(peers), "x-------") << "i had two peers, so its older one was closed";
}

// The attack of one source that knows the path: it has all places, and sends fast enough on all of them.
TEST_F(PeerTableTest, ASourceThatKnowsThePathCannotKeepOthersOut) {
  Peers attack = ComeManyKnowing(8, "attack");
  for (int i = 0; i < 1000; ++i) {
    const auto honest = ComeKnowing("honest", now_);
    EXPECT_TRUE(is_in_);
    attack.push_back(ComeKnowing("attack", now_));
    for (const auto& peer : attack) peer->progress().Received(1 << 20, now_);
    EXPECT_EQ(honest->closed, 0) << i;
    table_.Leave(honest.get());
    attack.push_back(ComeKnowing("attack", now_));
    now_ += std::chrono::milliseconds(1);
  }
  EXPECT_EQ(table_.counts(now_).refused, 0u);
}

TEST_F(PeerTableTest, BusyPeersOfOneSourceGiveToAnotherSourceButNotToTheirOwn) {
  const Peers busy = ComeManyKnowing(8, "attack");
  for (const auto& peer : busy) peer->progress().Excuse();
  Come("attack");
  EXPECT_FALSE(is_in_);
  EXPECT_EQ(ClosedOf(busy), "--------");
  EXPECT_EQ(table_.counts(now_).refused, 1u);
  const auto honest = Come("honest");
  EXPECT_TRUE(is_in_);
  EXPECT_EQ(ClosedOf(busy), "x-------");
  Come("attack");
  EXPECT_FALSE(is_in_);
  EXPECT_EQ(honest->closed, 0);
}

// Many sources with one connection each, as a botnet has, give before a source from which upstream delivers.
TEST_F(PeerTableTest, SourcesThatAreNotProvenGiveBeforeProvenOnes) {
  proven_.Prove("honest", now_);
  const Peers honest = ComeManyKnowing(2, "honest");
  const Peers strangers = ComeMany(2, "honest");
  for (int i = 0; i < 1000; ++i) {
    ComeKnowing("bot" + std::to_string(i));
    Come("bot" + std::to_string(i + 1000));
  }
  EXPECT_EQ(ClosedOf(honest), "--");
  EXPECT_EQ(ClosedOf(strangers), "--");
  EXPECT_EQ(table_.counts(now_).proven, 4u);
  EXPECT_EQ(table_.counts(now_).unproven, 4u);
  EXPECT_EQ(table_.counts(now_).proven_displaced, 0u);
}

TEST_F(PeerTableTest, ProvenSourcesLeaveAQuarterToOthers) {
  proven_.Prove("proven", now_);
  const Peers proven = ComeManyKnowing(8, "proven");
  const Peers others = {ComeKnowing("new"), ComeKnowing("newer")};
  EXPECT_EQ(ClosedOf(proven), "xx------");
  const auto more = ComeKnowing("newest");
  EXPECT_EQ(ClosedOf(proven), "xxx-----") << "a stranger, until it has requested the path";
  ComeManyKnowing(10, "proven");
  EXPECT_EQ(ClosedOf(others), "x-") << "three of them had requested the path";
  EXPECT_EQ(table_.counts(now_).unproven, 2u);
  EXPECT_EQ(table_.counts(now_).proven, 6u);
}

TEST_F(PeerTableTest, OfOneSourceClosesThePeerThatHasStoppedForTheLongestTime) {
  const Peers peers = ComeManyKnowing(8);
  now_ += seconds(4);
  peers[0]->progress().Received(3000, now_);
  peers[1]->progress().Received(1 << 20, now_);  // much, but then it stops
  peers[2]->progress().Excuse();
  for (int i = 3; i < 8; ++i) peers[i]->progress().Received(2000, now_);
  now_ += seconds(4);
  peers[0]->progress().Received(4000, now_);
  for (int i = 3; i < 8; ++i) peers[i]->progress().Received(i == 4 ? 1900 : 4000, now_);
  ComeKnowing("a", now_);
  EXPECT_EQ(ClosedOf(peers), "----x---");
  ComeKnowing("a", now_);
  EXPECT_EQ(ClosedOf(peers), "-x--x---");
}

TEST_F(PeerTableTest, CountsAPeerForTheSourceThatALoadBalancerStates) {
  const Peers peers = ComeMany(8, "balancer");
  for (size_t i = 1; i < peers.size(); ++i) table_.SetSource(peers[i].get(), "attack");
  table_.SetSource(peers[0].get(), "quiet");
  Come("balancer");
  EXPECT_EQ(ClosedOf(peers), "-x------");
}

TEST_F(PeerTableTest, AfterItsLastResponseAPeerIsAStrangerAgain) {
  const Peers peers = ComeManyKnowing(8);
  for (const int i : {3, 5, 6}) table_.Retire(peers[i].get());
  ComeKnowing();
  EXPECT_EQ(ClosedOf(peers), "---x----");
}

TEST_F(PeerTableTest, IgnoresPeersThatAreNotInTheTable) {
  const Peers peers = ComeMany(2);
  for (int i = 0; i < 2; ++i) {
    table_.Know(peers[0].get());
    table_.Leave(peers[0].get());
    table_.SetSource(peers[0].get(), "b");
    table_.Retire(peers[0].get());
  }
  EXPECT_EQ(table_.counts(now_).unproven, 1u);
}

TEST_F(PeerTableTest, ASmallTableAdmitsAsManyPeersAsItHasPlaces) {
  for (const size_t places : {1, 2, 3}) {
    PeerTable table(places, proven_);
    Peers peers;
    for (size_t i = 0; i < places; ++i) {
      peers.push_back(std::make_shared<FakePeer>());
      EXPECT_TRUE(table.Admit(peers.back(), "a", now_));
      peers.back()->progress().Await(now_);
      table.Know(peers.back().get());
    }
    EXPECT_EQ(ClosedOf(peers), std::string(places, '-'));
    const auto last = std::make_shared<FakePeer>();
    EXPECT_FALSE(table.Admit(last, "a", now_)) << "each standing keeps none, and the last peer is the lowest";
  }
}

TEST_F(PeerTableTest, TableKeepsNoPeerAlive) {
  for (int i = 0; i < 20; ++i) {
    Come();
    EXPECT_TRUE(is_in_);
    all_.clear();
    EXPECT_TRUE(table_.All().empty());
  }
}

}  // namespace
}  // namespace stampgate
