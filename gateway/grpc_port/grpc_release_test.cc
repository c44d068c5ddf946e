#include "gateway/grpc_port/grpc_release.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

config::v1::Config WithTls(bool allow_old_grpc) {
  config::v1::Config config;
  config.mutable_tls()->set_certificate_file("tls.crt");
  config.set_allow_old_grpc(allow_old_grpc);
  return config;
}

TEST(GrpcReleaseTest, ReleasesFrom183OnAreMaintained) {
  for (const char* release : {"1.83.0", "1.83", "1.84.1", "1.100.0", "2.0.0"}) {
    EXPECT_TRUE(IsMaintainedGrpc(release)) << release;
  }
  for (const char* release : {"1.51.1", "1.82.9", "1.9.0", "0.83.0", "", "1", "x.y", "1.x"}) {
    EXPECT_FALSE(IsMaintainedGrpc(release)) << release;
  }
}

TEST(GrpcReleaseTest, AMaintainedReleaseMayServeWithTls) {
  EXPECT_TRUE(CheckGrpcRelease("1.83.0", WithTls(false)).ok());
}

TEST(GrpcReleaseTest, AnOldReleaseServesWithTlsOnlyIfTheConfigAllowsIt) {
  const absl::Status refused = CheckGrpcRelease("1.51.1", WithTls(false));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "this gateway is built with gRPC 1.51.1, whose HTTP/2 has known faults, so that it serves only without "
            "`tls`, on loopback; to serve nevertheless, set `allow_old_grpc: true`");
  EXPECT_TRUE(CheckGrpcRelease("1.51.1", WithTls(true)).ok());
}

TEST(GrpcReleaseTest, AnOldReleaseServesWithoutTls) {
  EXPECT_TRUE(CheckGrpcRelease("1.51.1", config::v1::Config()).ok());
}

}  // namespace
}  // namespace stampgate
