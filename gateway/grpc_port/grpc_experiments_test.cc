#include "gateway/grpc_port/grpc_experiments.h"

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace stampgate {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kVariable[] = "GRPC_EXPERIMENTS";

// gRPC reads the variable once in each process, and logs the names that it does not know.
void StartGrpc() {
  grpc_init();
  grpc_shutdown();
  exit(0);
}

TEST(GrpcExperimentsTest, GrpcKnowsThem) {
  unsetenv(kVariable);
  ChooseGrpcExperiments();
  EXPECT_EXIT(StartGrpc(), ExitedWithCode(0), Not(HasSubstr("nknown experiment")));
  setenv(kVariable, "no_such_experiment", /*replace=*/1);
  EXPECT_EXIT(StartGrpc(), ExitedWithCode(0), HasSubstr("nknown experiment")) << "gRPC no longer logs unknown names";
}

TEST(GrpcExperimentsTest, ThoseOfAnOperatorComeBetweenThoseThatCanBeTurnedOffAndThoseThatCannot) {
  unsetenv(kVariable);
  ChooseGrpcExperiments();
  EXPECT_STREQ(getenv(kVariable), "fuse_filters,,skip_clear_peer_on_cancellation");
  setenv(kVariable, "-fuse_filters,other", /*replace=*/1);
  ChooseGrpcExperiments();
  EXPECT_STREQ(getenv(kVariable), "fuse_filters,-fuse_filters,other,skip_clear_peer_on_cancellation");
}

}  // namespace
}  // namespace stampgate
