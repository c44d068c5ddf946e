#include "gateway/commands/gateway_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "base/testing/status_is.h"
#include "base/testing/temporary_file.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(GatewayClientTest, OptionsThatDoNotFitTogetherAreRefused) {
  for (const auto& [gateway, message] :
       {std::pair(GatewayAddress{.address = "a:1", .token = "t"}, "--certificate, --key and --token need --ca"),
        std::pair(GatewayAddress{.address = "a:1", .certificate = "c", .key = "k"}, "need --ca"),
        std::pair(GatewayAddress{.address = "a:1", .ca = "a", .key = "k"}, "--certificate and --key need each other"),
        std::pair(GatewayAddress{.address = "a:1", .ca = "a", .certificate = "c"}, "need each other")}) {
    EXPECT_THAT(GatewayClient::Create(gateway).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(GatewayClientTest, AnErrorNamesTheFile) {
  EXPECT_THAT(GatewayClient::Create({.address = "a:1", .ca = "/missing/ca.pem"}).status(),
              StatusIs(absl::StatusCode::kNotFound, StartsWith("/missing/ca.pem: ")));
}

TEST(GatewayClientTest, APrivateKeyThatOthersMayReadIsRefused) {
  const std::string certificate = WriteTemp("certificate", "x");
  const std::string key = WriteTemp("key", "x");
  chmod(key.c_str(), 0644);
  EXPECT_THAT(
      GatewayClient::Create({.address = "a:1", .ca = certificate, .certificate = certificate, .key = key}).status(),
      StatusIs(absl::StatusCode::kPermissionDenied, StartsWith(key)));
}

// Port 1 has no server.
TEST(GatewayClientTest, AnErrorBeginsWithTheNameOfItsCode) {
  absl::StatusOr<GatewayClient> client = GatewayClient::Create({.address = "127.0.0.1:1"});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT(client->Call("SubscriptionService/ListSubscriptions", "").status(),
              StatusIs(absl::StatusCode::kUnavailable, StartsWith("UNAVAILABLE: ")));
}

}  // namespace
}  // namespace stampgate
