#include "gateway/grpc_port/grpc_port_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class GrpcPortMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  GrpcPortMetrics metrics_{registry_};
};

TEST_F(GrpcPortMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre(R"(counter stampgate_connections_closed_total{reason="bytes"})",
                                   R"(counter stampgate_connections_closed_total{reason="bytes_of_all"})",
                                   R"(counter stampgate_connections_closed_total{reason="bytes_of_identity"})",
                                   R"(counter stampgate_connections_closed_total{reason="connections"})",
                                   R"(counter stampgate_connections_closed_total{reason="connections_of_all"})",
                                   R"(counter stampgate_connections_closed_total{reason="control_frames"})",
                                   R"(counter stampgate_connections_closed_total{reason="header_bytes"})",
                                   R"(counter stampgate_connections_closed_total{reason="resets"})",
                                   R"(counter stampgate_connections_closed_total{reason="unread"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="certificate_refused"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="hello_refused"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="no_caller"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="no_certificate"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="no_hello"})",
                                   R"(counter stampgate_tls_handshakes_failed_total{reason="unfinished"})",
                                   "counter stampgate_unread_responses_total", "gauge stampgate_connection_held_bytes",
                                   "gauge stampgate_connections", "gauge stampgate_tls_handshakes"));
}

TEST_F(GrpcPortMetricsTest, TheUsageAndTheEndsOfConnectionsAreShown) {
  metrics_.Show({.connections = 3, .handshakes = 2, .held_bytes = 70000});
  metrics_.failed_handshakes[HandshakeFailure::kNoCertificate].Increment();
  metrics_.closed_connections[Excess::kBytesOfConnection].Increment();
  EXPECT_EQ(ValueOf(registry_, "stampgate_connections"), "3");
  EXPECT_EQ(ValueOf(registry_, "stampgate_tls_handshakes"), "2");
  EXPECT_EQ(ValueOf(registry_, "stampgate_connection_held_bytes"), "70000");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_tls_handshakes_failed_total{reason="no_certificate"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_connections_closed_total{reason="bytes"})"), "1");
}

}  // namespace
}  // namespace stampgate
