#include "gateway/server/start_telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/config/testing.h"
#include "gateway/metrics/registry.h"
#include "gateway/telemetry/scripted_collector.h"

namespace stampgate {
namespace {

using ::testing::HasSubstr;

class StartTelemetryTest : public ::testing::Test {
 protected:
  // Parses a config with this telemetry.
  static Config ConfigWith(const std::string& telemetry) {
    const std::string text = absl::StrCat(
        "upstream: {base_url: 'https://host'}\nkeys: [{name: a, file: a.key, all_organizations: true}]\n"
        "callers: [{name: c, loopback: true, grants: [{classes: [query], all_organizations: true}]}]\n",
        telemetry);
    absl::StatusOr<ParsedConfig> parsed = ParseConfig(TestSnapshot(text, "config.yaml"));
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return std::move(parsed->config);
  }

  std::unique_ptr<Telemetry> Start(const std::string& settings) {
    return StartTelemetry(
        ConfigWith(absl::StrCat("telemetry: {endpoint: '", collector_.endpoint(), "', ", settings, "}\n")), "1.2.3",
        registry_);
  }

  ScriptedCollector collector_{[](const CollectorRequest&) { return GrpcResponse(""); }};
  MetricRegistry registry_;
};

TEST_F(StartTelemetryTest, WithoutTheSettingNothingIsExported) {
  EXPECT_EQ(StartTelemetry(ConfigWith(""), "1.2.3", registry_), nullptr);
}

TEST_F(StartTelemetryTest, TheLastMetricsNameTheServiceItsInstanceAndItsVersion) {
  const auto telemetry =
      Start("service_name: payments, service_instance_id: gateway-7, traces: false, metric_interval: 10m");
  ASSERT_NE(telemetry, nullptr);
  telemetry->End(absl::Seconds(60));
  ASSERT_EQ(collector_.requests().size(), 1u);
  const std::string body = collector_.requests()[0].body;
  EXPECT_THAT(body, HasSubstr("payments"));
  EXPECT_THAT(body, HasSubstr("gateway-7"));
  EXPECT_THAT(body, HasSubstr("1.2.3"));
  EXPECT_THAT(body, HasSubstr("stampgate_telemetry_exports"));
}

TEST_F(StartTelemetryTest, TracesAndMetricsAreChosenSeparately) {
  EXPECT_EQ(Start("traces: false")->tracer(), nullptr);
  EXPECT_NE(Start("metrics: false")->tracer(), nullptr);
}

TEST_F(StartTelemetryTest, ExportsAreCounted) {
  Start("traces: false, metric_interval: 10m")->End(absl::Seconds(60));
  EXPECT_THAT(registry_.Render(), HasSubstr("stampgate_telemetry_exports_total{result=\"ok\",signal=\"metrics\"} 1"));
}

}  // namespace
}  // namespace stampgate
