#include "gateway/subscriptions/calls/departures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "gateway/callers/peer_registry.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DeparturesTest : public ::testing::Test {
 protected:
  void Add() {
    departures_.Add(peer_ == nullptr ? id_ : peer_->id(),
                    [this](bool is_cancelled) { known_.push_back(is_cancelled); });
  }
  void Wait(Departures::Clock::duration time = Departures::kWait) {
    now_ += time;
    departures_.Look();
  }
  // Closes the connection, as gRPC does.
  void Close() { peer_ = nullptr; }

  Departures::Clock::time_point now_{};
  Departures departures_{[this] { return now_; }};
  std::unique_ptr<RegisteredPeer> peer_ = std::make_unique<RegisteredPeer>(Peer());
  const uint64_t id_ = peer_->id();
  std::vector<bool> known_;
};

TEST_F(DeparturesTest, ACallWhoseConnectionStaysOpenWasCancelled) {
  Add();
  Wait(Departures::kWait - std::chrono::milliseconds(1));
  EXPECT_THAT(known_, IsEmpty());
  Wait(std::chrono::milliseconds(1));
  EXPECT_THAT(known_, ElementsAre(true));
  Wait();
  EXPECT_THAT(known_, ElementsAre(true)) << "it is known once";
}

TEST_F(DeparturesTest, ACallWhosePeerHadEndedTheConnectionWasNotCancelled) {
  ReportEndByPeer(id_);
  Add();
  EXPECT_THAT(known_, ElementsAre(false));
}

TEST_F(DeparturesTest, ACallWhoseConnectionWasClosedWasNotCancelled) {
  Close();
  Add();
  EXPECT_THAT(known_, ElementsAre(false));
}

// For example because the peer does not respond to pings. gRPC cancels the calls of the connection first.
TEST_F(DeparturesTest, ACallWhoseConnectionTheGatewayClosesSoonWasNotCancelled) {
  Add();
  Close();
  ReportEndByPeer(id_);
  EXPECT_THAT(known_, IsEmpty());
  Wait();
  EXPECT_THAT(known_, ElementsAre(false));
}

TEST_F(DeparturesTest, ACallWhoseClientClosesTheConnectionAfterItHasCancelledWasCancelled) {
  Add();
  ReportEndByPeer(id_);
  Close();
  Wait();
  EXPECT_THAT(known_, ElementsAre(true));
}

TEST_F(DeparturesTest, ACallWithoutAKnownConnectionWasNotCancelled) {
  departures_.Add(std::nullopt, [this](bool is_cancelled) { known_.push_back(is_cancelled); });
  EXPECT_THAT(known_, ElementsAre(false));
}

TEST_F(DeparturesTest, WhenTheGatewayEndsNoCallWasCancelled) {
  Add();
  departures_.Close();
  EXPECT_THAT(known_, ElementsAre(false));
  Add();
  EXPECT_THAT(known_, ElementsAre(false, false));
}

TEST_F(DeparturesTest, TheDestructorDecidesAboutTheCallsThatWait) {
  {
    Departures departures([this] { return now_; });
    departures.Add(id_, [this](bool is_cancelled) { known_.push_back(is_cancelled); });
  }
  EXPECT_THAT(known_, ElementsAre(false));
}

}  // namespace
}  // namespace stampgate
