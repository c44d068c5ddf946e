#include "gateway/callers/peer_registry.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace stampgate {
namespace {

Peer Named(const std::string& id) { return Peer{.plaintext_loopback = false, .spiffe_id = id, .dns_names = {}}; }

TEST(RegisteredPeerTest, IsFoundByItsNumber) {
  const RegisteredPeer a(Named("spiffe://test/a"));
  RegisteredPeer b(Named("spiffe://test/b"));
  EXPECT_NE(a.id(), b.id());
  const uint64_t id = b.id();
  const RegisteredPeer moved(std::move(b));
  EXPECT_EQ(moved.id(), id);
  EXPECT_EQ(FindPeer(a.id()), Named("spiffe://test/a"));
  EXPECT_EQ(FindPeer(id), Named("spiffe://test/b"));
  EXPECT_EQ(FindPeer(id + 1), Peer{});
}

TEST(RegisteredPeerTest, KnowsWhenItsConnectionBegan) {
  const auto before = std::chrono::steady_clock::now();
  const RegisteredPeer peer(Named("spiffe://test/a"));
  ASSERT_TRUE(BeginOfConnection(peer.id()).has_value());
  EXPECT_GE(*BeginOfConnection(peer.id()), before);
  EXPECT_LE(*BeginOfConnection(peer.id()), std::chrono::steady_clock::now());
  EXPECT_EQ(BeginOfConnection(peer.id() + 1), std::nullopt);
}

TEST(RegisteredPeerTest, KnowsHowItsConnectionHasEnded) {
  std::optional<RegisteredPeer> closed(Named("spiffe://test/a"));
  std::optional<RegisteredPeer> ended(Named("spiffe://test/b"));
  const uint64_t closed_id = closed->id();
  const uint64_t ended_id = ended->id();
  EXPECT_EQ(StateOfConnection(closed_id), ConnectionState::kOpen);
  ReportEndByPeer(ended_id);
  EXPECT_EQ(StateOfConnection(ended_id), ConnectionState::kEndedByPeer);
  closed.reset();
  ended.reset();
  EXPECT_EQ(StateOfConnection(closed_id), ConnectionState::kClosed);
  EXPECT_EQ(StateOfConnection(ended_id), ConnectionState::kEndedByPeer);
  ReportEndByPeer(closed_id);
  EXPECT_EQ(StateOfConnection(closed_id), ConnectionState::kClosed) << "only the first end counts";
  EXPECT_EQ(StateOfConnection(ended_id + 1), ConnectionState::kClosed);
}

TEST(RegisteredPeerTest, IsFoundForSomeTimeAfterItHasEnded) {
  const RegisteredPeer open(Named("spiffe://test/open"));
  const uint64_t ended = RegisteredPeer(Named("spiffe://test/ended")).id();
  EXPECT_EQ(FindPeer(ended), Named("spiffe://test/ended"));
  for (size_t i = 0; i < 2 * RegisteredPeer::kKept; ++i) RegisteredPeer(Named("spiffe://test/other"));
  EXPECT_EQ(FindPeer(ended), Peer{});
  EXPECT_EQ(FindPeer(open.id()), Named("spiffe://test/open"));
}

TEST(ConnectionIdOfTest, ReadsTheAddressOfARegisteredPeer) {
  const RegisteredPeer peer(Named("spiffe://test/a"));
  EXPECT_EQ(ConnectionIdOf("unix:" + peer.path()), peer.id());
  EXPECT_EQ(ConnectionIdOf("unix:/connection/18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ConnectionIdOf("unix-abstract:stampgate-8a5c/connection/7"), 7u);
}

TEST(ConnectionIdOfTest, RefusesOtherAddresses) {
  for (const char* address : {"", "unix:", "unix:/connection/", "unix:/connection/x", "unix:/connection/-1",
                              "unix:/connection/18446744073709551616", "/connection/1", "ipv4:127.0.0.1:1",
                              "unix:/tmp/connection/1", "unix:/connection/1/2", "unix-abstract:stampgate-8a5c",
                              "unix-abstract:stampgate-8a5c/connection/x", "unix-abstract:/connection/1"}) {
    EXPECT_EQ(ConnectionIdOf(address), std::nullopt) << address;
  }
}

}  // namespace
}  // namespace stampgate
