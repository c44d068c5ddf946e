#include "gateway/server/service_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class FakeHealth : public grpc::HealthCheckServiceInterface {
 public:
  void SetServingStatus(const std::string& service, bool serving) override { statuses[service] = serving; }
  void SetServingStatus(bool) override {}

  std::map<std::string, bool> statuses;
};

TEST(ServiceHealthTest, EveryServiceIsServing) {
  FakeHealth grpc;
  ServiceHealth(grpc).Report({"a.WalletService", "a.EventService"});
  EXPECT_THAT(grpc.statuses, ElementsAre(Pair("a.EventService", true), Pair("a.WalletService", true)));
}

TEST(ServiceHealthTest, ServicesOfGrpcItselfAreNotReported) {
  FakeHealth grpc;
  ServiceHealth(grpc).Report({"a.WalletService", "grpc.reflection.v1.ServerReflection"});
  EXPECT_THAT(grpc.statuses, ElementsAre(Pair("a.WalletService", true)));
}

TEST(ServiceHealthTest, AServiceThatAReloadRemovesServesNoMoreUntilItReturns) {
  FakeHealth grpc;
  ServiceHealth health(grpc);
  health.Report({"a.WalletService", "a.LaterService"});
  health.Report({"a.WalletService"});
  EXPECT_THAT(grpc.statuses, ElementsAre(Pair("a.LaterService", false), Pair("a.WalletService", true)));
  health.Report({"a.WalletService", "a.LaterService"});
  EXPECT_THAT(grpc.statuses, ElementsAre(Pair("a.LaterService", true), Pair("a.WalletService", true)));
}

}  // namespace
}  // namespace stampgate
