#include "gateway/config/settings/defaults.h"

#include <gtest/gtest.h>

#include "stampgate/config/v1/config.pb.h"
#include "translate/testing/operations.h"

namespace stampgate {
namespace {

using testing::Proto;

config::v1::Config WithDefaults(const std::string& text) {
  auto config = Proto<config::v1::Config>(text);
  SetDefaults(config);
  return config;
}

TEST(DefaultsTest, ASettingThatIsNotSetGetsItsDefault) {
  const config::v1::Config config = WithDefaults("");
  EXPECT_EQ(config.listen_address(), "127.0.0.1:7443");
  EXPECT_EQ(config.upstream().connect_timeout().seconds(), 5);
  EXPECT_EQ(config.calls().max_in_flight(), 8192u);
  EXPECT_EQ(config.events().retention_bytes(), uint64_t{10} << 30);
  EXPECT_TRUE(config.admission().retries());
  EXPECT_TRUE(config.upstream().has_http2());
  EXPECT_EQ(config.log().level(), config::v1::LOG_LEVEL_INFO);
}

TEST(DefaultsTest, ASettingThatIsSetKeepsItsValue) {
  const config::v1::Config config =
      WithDefaults("listen_address: '' calls {max_in_flight: 1 drain_grace {seconds: 2}} admission {retries: false}");
  EXPECT_EQ(config.listen_address(), "");
  EXPECT_EQ(config.calls().max_in_flight(), 1u);
  EXPECT_EQ(config.calls().drain_grace().seconds(), 2);
  EXPECT_EQ(config.calls().max_in_flight_per_caller(), 1024u);
  EXPECT_FALSE(config.admission().retries());
}

TEST(DefaultsTest, AMessageThatIsOffByDefaultStaysAbsentButHasDefaultsIfItIsGiven) {
  const config::v1::Config none = WithDefaults("callers {}");
  EXPECT_FALSE(none.has_store());
  EXPECT_FALSE(none.has_telemetry());
  EXPECT_FALSE(none.has_tls());
  EXPECT_FALSE(none.callers(0).has_token());
  const config::v1::Config given = WithDefaults("store {postgresql {}} telemetry {}");
  EXPECT_FALSE(given.store().has_sqlite());
  EXPECT_EQ(given.store().key_retention().seconds(), 24 * 60 * 60);
  EXPECT_EQ(given.store().postgresql().schema(), "stampgate");
  EXPECT_TRUE(given.store().postgresql().migrate());
  EXPECT_EQ(given.telemetry().sampling_ratio(), 0.01);
  EXPECT_EQ(given.telemetry().timeout().seconds(), 10);
}

TEST(DefaultsTest, EachElementOfAListHasDefaults) {
  const config::v1::Config config = WithDefaults("callers {weight: 2} callers {}");
  EXPECT_EQ(config.callers(0).weight(), 2u);
  EXPECT_EQ(config.callers(1).weight(), 1u);
}

TEST(DefaultsTest, CodeSetsUsualDefaults) {
  EXPECT_FALSE(WithDefaults("").memory().has_max_bytes());
  auto memory = Proto<config::v1::Memory>("max_bytes_per_connection: 1");
  SetUsualDefaults(memory);
  EXPECT_EQ(memory.max_bytes(), 256u << 20);
  EXPECT_EQ(memory.max_bytes_per_connection(), 1u);
  EXPECT_FALSE(memory.has_max_unread_time());
}

}  // namespace
}  // namespace stampgate
