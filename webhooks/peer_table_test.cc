#include "webhooks/peer_table.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

using std::chrono::seconds;

constexpr PeerProgress::Time kStart{seconds(1000)};

class FakePeer : public Peer {
 public:
  void Close() override { ++closed; }
  void CloseIfIdle() override {}

  int closed = 0;
};

TEST(PeerProgress, FallsBehindTheRate) {
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

class PeerTables : public testing::Test {
 protected:
  std::shared_ptr<FakePeer> AwaitedSince(PeerProgress::Time time) {
    auto peer = std::make_shared<FakePeer>();
    peer->progress().Await(time);
    return peer;
  }

  PeerTable table_{3, 1000};
  const std::shared_ptr<FakePeer> a_ = AwaitedSince(kStart);
  const std::shared_ptr<FakePeer> b_ = AwaitedSince(kStart);
  const std::shared_ptr<FakePeer> c_ = AwaitedSince(kStart);
  const std::shared_ptr<FakePeer> late_ = AwaitedSince(kStart + seconds(10));
};

TEST_F(PeerTables, CloseThePeerThatIsFurthestBehind) {
  for (const auto& peer : {a_, b_, c_}) EXPECT_TRUE(table_.Admit(peer, kStart));
  a_->progress().Received(9000);
  b_->progress().Received(8999);
  c_->progress().Received(20000);
  EXPECT_TRUE(table_.Admit(late_, kStart + seconds(10)));
  EXPECT_EQ(b_->closed, 1);
  EXPECT_EQ(a_->closed + c_->closed + late_->closed, 0);
  EXPECT_EQ(table_.All().size(), 3u);
}

TEST_F(PeerTables, RefuseANewPeerIfNoneIsBehind) {
  for (const auto& peer : {a_, b_, c_}) EXPECT_TRUE(table_.Admit(peer, kStart));
  a_->progress().Excuse();
  b_->progress().Received(10000);  // exactly the rate
  c_->progress().Received(10001);
  EXPECT_FALSE(table_.Admit(late_, kStart + seconds(10)));
  EXPECT_EQ(a_->closed + b_->closed + c_->closed, 0);
  EXPECT_EQ(table_.All().size(), 3u);
}

TEST_F(PeerTables, ForgetWhoLeaves) {
  for (const auto& peer : {a_, b_, c_}) EXPECT_TRUE(table_.Admit(peer, kStart));
  table_.Leave(b_.get());
  table_.Leave(b_.get());
  EXPECT_TRUE(table_.Admit(late_, kStart + seconds(10)));
  EXPECT_EQ(a_->closed + b_->closed + c_->closed, 0);
}

TEST_F(PeerTables, KeepNobodyAlive) {
  std::weak_ptr<Peer> gone;
  {
    const auto peer = AwaitedSince(kStart);
    EXPECT_TRUE(table_.Admit(peer, kStart));
    gone = peer;
  }
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(table_.All().empty());
}

}  // namespace
}  // namespace stampgate
