#include "gateway/server/grpc_port_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/callers/directory.h"
#include "gateway/calls/call_metrics.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/grpc_port/grpc_port_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using testing::Proto;
using ::testing::SizeIs;

class GrpcPortOptionsTest : public ::testing::Test {
 protected:
  void SetCallers(const std::string& callers) {
    auto access = std::make_shared<Access>();
    access->operations = testing::SharedOperations();
    access->callers = CallerDirectory(Proto<config::v1::Config>(callers), access->operations->set());
    access_.Set(std::move(access));
  }

  GrpcPort::Options OptionsOf(const std::string& config) {
    return GrpcPortOptionsOf(Proto<config::v1::Config>(config), nullptr, access_, recorders_, metrics_);
  }

  MetricRegistry registry_;
  GrpcPortMetrics metrics_{registry_};
  CallMetrics call_metrics_{registry_};
  CurrentAccess access_{nullptr};
  DiskWaits disk_waits_;
  std::vector<std::string> lines_;
  CallLines call_lines_{{.every_call = false,
                         .now = [] { return absl::UnixEpoch(); },
                         .write =
                             [this](Severity, absl::string_view event, const LogFields& fields) {
                               lines_.push_back(std::string(event));
                               for (const auto& [name, value] : fields) {
                                 if (const auto* text = std::get_if<std::string>(&value))
                                   absl::StrAppend(&lines_.back(), " ", *text);
                               }
                             }}};
  const CallRecorders recorders_{nullptr, disk_waits_, call_metrics_, &call_lines_};
};

TEST_F(GrpcPortOptionsTest, EachLimitOfTheConfigIsALimitOfTheGrpcPort) {
  const GrpcPort::Options options = OptionsOf(
      "listen_address: 'host:1' connections { max: 1 max_per_identity: 2 max_handshakes: 3 "
      "handshake_timeout { seconds: 4 } max_header_bytes: 6 max_resets_per_second: 7 max_control_frames_per_second: 8 "
      "} memory { max_bytes_per_connection: 9 max_bytes_per_identity: 10 max_bytes: 16 max_unread_time { seconds: 12 } "
      "}");
  EXPECT_EQ(options.address, "host:1");
  EXPECT_EQ(options.max_connections, 1u);
  EXPECT_EQ(options.memory.max_connections_per_identity, 2u);
  EXPECT_EQ(options.max_handshakes, 3u);
  EXPECT_EQ(options.handshake_timeout, absl::Seconds(4));
  EXPECT_EQ(options.frames.max_header_bytes, 4 * 6u);
  EXPECT_EQ(options.frames.max_resets_per_second, 7);
  EXPECT_EQ(options.frames.max_control_frames_per_second, 8);
  EXPECT_EQ(options.memory.max_bytes_per_connection, 9);
  EXPECT_EQ(options.memory.max_bytes_per_identity, 10);
  EXPECT_EQ(options.memory.max_bytes, 14);
  EXPECT_EQ(options.max_unread_time, absl::Seconds(12));
}

TEST_F(GrpcPortOptionsTest, TheCallersInForceDecideWhoIsACaller) {
  const GrpcPort::Options options = OptionsOf("");
  Peer peer;
  peer.dns_names = {"a.example"};
  SetCallers("callers { name: 'other' dns_names: 'b.example' }");
  EXPECT_FALSE(options.is_caller(peer));
  SetCallers("callers { name: 'one' dns_names: 'a.example' }");
  EXPECT_TRUE(options.is_caller(peer));
}

TEST_F(GrpcPortOptionsTest, LogsRefusedAndClosedConnectionsWithinABound) {
  const GrpcPort::Options options = OptionsOf("");
  Peer peer;
  peer.dns_names = {"a.example"};
  options.on_failed_handshake({.address = "192.0.2.7",
                               .failure = HandshakeFailure::kNoCaller,
                               .peer = peer,
                               .names = "dns:a.example",
                               .why = "w"});
  options.on_excess(peer, Excess::kResets);
  EXPECT_THAT(lines_, ElementsAre("connection_refused (dns:a.example) 192.0.2.7 dns:a.example w",
                                  absl::StrCat("connection_closed (dns:a.example) ", MessageOf(Excess::kResets))));
  for (int i = 0; i < 2 * CallLines::kWritten; ++i) options.on_excess(peer, Excess::kResets);
  EXPECT_THAT(lines_, SizeIs(1 + CallLines::kWritten));
  EXPECT_EQ(metrics_.failed_handshakes[HandshakeFailure::kNoCaller].Value(), 1);
  EXPECT_EQ(metrics_.closed_connections[Excess::kResets].Value(), 1 + 2 * CallLines::kWritten);
}

TEST_F(GrpcPortOptionsTest, LogsFailedHandshakesWithinABound) {
  const GrpcPort::Options options = OptionsOf("");
  FailedHandshake failed{.address = "192.0.2.7", .failure = HandshakeFailure::kNoCertificate, .why = "w"};
  for (int i = 0; i < 100; ++i) options.on_failed_handshake(failed);
  EXPECT_THAT(lines_, SizeIs(CallLines::kWrittenOfAnybody));
  // Another client has lines of its own, until there are too many clients.
  for (int i = 0; i < 100'000; ++i) {
    failed.address = absl::StrCat(i);
    options.on_failed_handshake(failed);
  }
  EXPECT_THAT(lines_, SizeIs(CallLines::kWrittenOfAnybody + FloodBound::kStrangers - 1));
}

TEST_F(GrpcPortOptionsTest, LogsAShortageOfDescriptorsWithinABound) {
  const GrpcPort::Options options = OptionsOf("");
  for (int i = 0; i < 100; ++i) options.on_no_descriptor();
  EXPECT_THAT(lines_, SizeIs(CallLines::kWrittenOfAnybody));
}

TEST_F(GrpcPortOptionsTest, WorksWithoutALog) {
  const CallRecorders none{nullptr, disk_waits_, call_metrics_, nullptr};
  const GrpcPort::Options options = GrpcPortOptionsOf(config::v1::Config(), nullptr, access_, none, metrics_);
  options.on_failed_handshake({});
  options.on_no_descriptor();
  options.on_excess(Peer(), Excess::kResets);
}

}  // namespace
}  // namespace stampgate
