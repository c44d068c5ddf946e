#include "gateway/config/rules/telemetry_rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/http/test_certificates.h"
#include "gateway/config/config.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"

namespace stampgate {
namespace {

// In each config, `telemetry` is in line 4.
constexpr char kHead[] =
    "upstream: {base_url: https://host}\n"
    "keys: [{name: a, file: a.key, all_organizations: true}]\n"
    "callers: [{name: c, loopback: true}]\n";

// Returns the result for a config whose `telemetry` has `members`, from column 13 of line 4, and that is otherwise
// valid.
absl::StatusOr<ParsedConfig> ParseTelemetry(absl::string_view members, const std::string& file = "f") {
  return ParseConfig(TestSnapshot(absl::StrCat(kHead, "telemetry: {", members, "}\n"), file));
}

std::string ReportOf(absl::string_view members, const std::string& file = "f") {
  return std::string(ParseTelemetry(members, file).status().message());
}

constexpr char kEndpoint[] = "endpoint: https://collector:4317, ";

// Returns the fault of the value of `field`, which follows kEndpoint.
std::string FaultOf(absl::string_view file, absl::string_view field, absl::string_view message) {
  const size_t column = 13 + absl::string_view(kEndpoint).size() + field.size() + 2;
  return absl::StrCat(file, ":4:", column, ": telemetry.", field, ": ", message);
}

// A rule about one field: a value that the rule refuses, and the nearest values that it accepts.
struct Rule {
  const char* field;
  std::vector<std::string> refused;
  const char* message;
  std::vector<std::string> accepted;
};

std::vector<Rule> Rules() {
  const std::string long_name(128, 'a');
  const std::string long_path(4096, 'a');
  return {
      {"timeout", {"0.099s", "0s", "60.001s"}, "must be from 100ms to 1m", {"0.1s", "60s"}},
      {"span_interval", {"0.099s", "0s", "600.001s"}, "must be from 100ms to 10m", {"0.1s", "600s"}},
      {"metric_interval", {"0.099s", "0s", "600.001s"}, "must be from 100ms to 10m", {"0.1s", "600s"}},
      {"sampling_ratio", {"1.001", "2"}, "must be from 0 to 1", {"0", "0.5", "1"}},
      {"sampling_ratio", {"-0.001", "NaN", "Infinity"}, "must be a decimal number, such as 0.25", {}},
      {"max_queued_calls", {"0", "15", "65537"}, "must be from 16 to 65536", {"16", "65536"}},
      {"service_name", {long_name + "a"}, "must be no longer than 128 bytes", {long_name}},
      {"service_instance_id", {long_name + "a"}, "must be no longer than 128 bytes", {long_name}},
      {"ca_file", {"/" + long_path}, "must be no longer than 4096 bytes", {}},
      {"headers_file", {"/" + long_path}, "must be no longer than 4096 bytes", {}},
  };
}

TEST(TelemetryRulesTest, EachFieldHasItsRule) {
  for (const Rule& rule : Rules()) {
    for (const std::string& value : rule.refused) {
      EXPECT_EQ(ReportOf(absl::StrCat(kEndpoint, rule.field, ": ", value)), FaultOf("f", rule.field, rule.message))
          << rule.field << ": " << value;
    }
    for (const std::string& value : rule.accepted) {
      EXPECT_EQ(ReportOf(absl::StrCat(kEndpoint, rule.field, ": ", value)), "") << rule.field << ": " << value;
    }
  }
}

TEST(TelemetryRulesTest, TheEndpointIsAnUrlWithoutAPath) {
  const struct {
    std::string url;
    const char* message;  // "" if the config is valid
  } kRows[] = {
      {"https://collector:4317", ""},
      {"https://collector", ""},
      {"http://127.0.0.1:4317", ""},
      {"http://[::1]:4317", ""},
      {"http://localhost:4317", ""},
      {"", "is required"},
      {"collector:4317", "must begin with https://"},
      {"ftp://collector:4317", "must begin with https://"},
      {"grpc://collector:4317", "is not a URL"},
      {"https://user:canary@collector", "must not hold user information"},
      {"https://collector/v1/traces", "must end after the host or port: no path, query or fragment"},
      {"https://collector?key=canary", "must end after the host or port: no path, query or fragment"},
      {"https://collector#canary", "must end after the host or port: no path, query or fragment"},
      {"https://collec tor", "must be plain ASCII without spaces or escapes"},
      {"https://collector:99999", "is not a URL"},
      {"https://collector:0", "must not have port 0"},
      {"http://collector:4317", "may be http only for a loopback host; use https"},
      {"https://" + std::string(505, 'a'), "must be no longer than 512 bytes"},
  };
  for (const auto& [url, message] : kRows) {
    const std::string expected = *message == '\0' ? "" : absl::StrCat("f:4:23: telemetry.endpoint: ", message);
    EXPECT_EQ(ReportOf(absl::StrCat("endpoint: '", url, "'")), expected) << url;
  }
  EXPECT_EQ(ReportOf("traces: true"), "f:4:12: telemetry.endpoint: is required");
}

TEST(TelemetryRulesTest, AFileMustHaveTheContentThatItsFieldNames) {
  const std::string folder = NewTestFolder();
  const struct {
    const char* field;
    std::string content;  // "" if the file is absent
    const char* message;  // "" if the config is valid
  } kRows[] = {
      {"ca_file", "", "it cannot be opened: No such file or directory"},
      {"ca_file", TestAuthority("ca").certificate(), ""},
      {"ca_file", "canary\n", "it holds no certificate in PEM"},
      {"headers_file", "", "it cannot be opened: No such file or directory"},
      {"headers_file", "x-api-key: canary\n\nauthorization: Basic eDp5\n", ""},
      {"headers_file", "\n", ""},
      {"headers_file", "a: b\nX-Api-Key: canary\n",
       "line 2 must begin with a lower-case name that gRPC does not use, and ':'"},
      {"headers_file", "grpc-timeout: canary\n",
       "line 1 must begin with a lower-case name that gRPC does not use, and ':'"},
      {"headers_file", "x-api-key:\n", "line 1 must have a value of visible ASCII characters after ':'"},
  };
  for (const auto& [field, content, message] : kRows) {
    if (!content.empty()) PutTestFile(folder + "/file", content);
    const std::string config_file = folder + "/config.yaml";
    const std::string expected = *message == '\0' ? "" : FaultOf(config_file, field, message);
    EXPECT_EQ(ReportOf(absl::StrCat(kEndpoint, field, ": file"), config_file), expected) << content;
    std::filesystem::remove(folder + "/file");
  }
}

TEST(TelemetryRulesTest, OthersMayNotReadTheHeadersFile) {
  const std::string folder = NewTestFolder();
  PutTestFile(folder + "/file", "x-api-key: canary\n");
  for (const unsigned mode : {0644, 0604, 0660}) {
    std::filesystem::permissions(folder + "/file", std::filesystem::perms(mode));
    EXPECT_EQ(ReportOf(absl::StrCat(kEndpoint, "headers_file: file"), folder + "/f"),
              FaultOf(folder + "/f", "headers_file",
                      "others may use it or its group may write it: its mode must be 0600, 0400 or 0440"));
  }
  std::filesystem::permissions(folder + "/file", std::filesystem::perms(0440));
  EXPECT_EQ(ReportOf(absl::StrCat(kEndpoint, "headers_file: file"), folder + "/f"), "");
}

TEST(TelemetryRulesTest, AFieldThatIsOmittedHasItsDefault) {
  const absl::StatusOr<ParsedConfig> parsed = ParseTelemetry("endpoint: https://collector");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const config::v1::Telemetry& telemetry = parsed->config->telemetry();
  EXPECT_EQ(telemetry.timeout().seconds(), 10);
  EXPECT_TRUE(telemetry.traces());
  EXPECT_TRUE(telemetry.metrics());
  EXPECT_EQ(telemetry.sampling_ratio(), 0.01);
  EXPECT_EQ(telemetry.span_interval().seconds(), 5);
  EXPECT_EQ(telemetry.metric_interval().seconds(), 60);
  EXPECT_EQ(telemetry.max_queued_calls(), 2048);
  EXPECT_EQ(telemetry.service_name(), "stampgate");
  EXPECT_EQ(telemetry.service_instance_id(), "");
}

TEST(TelemetryRulesTest, AFieldThatIsGivenKeepsItsValue) {
  const absl::StatusOr<ParsedConfig> parsed = ParseTelemetry(
      "endpoint: https://collector, timeout: 1s, traces: false, metrics: false, sampling_ratio: 0, span_interval: 2s, "
      "metric_interval: 3s, max_queued_calls: 16, service_name: s");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const config::v1::Telemetry& telemetry = parsed->config->telemetry();
  EXPECT_EQ(telemetry.timeout().seconds(), 1);
  EXPECT_FALSE(telemetry.traces());
  EXPECT_FALSE(telemetry.metrics());
  EXPECT_EQ(telemetry.sampling_ratio(), 0);
  EXPECT_EQ(telemetry.span_interval().seconds(), 2);
  EXPECT_EQ(telemetry.metric_interval().seconds(), 3);
  EXPECT_EQ(telemetry.max_queued_calls(), 16);
  EXPECT_EQ(telemetry.service_name(), "s");
}

TEST(TelemetryRulesTest, AConfigWithoutTelemetryGetsNone) {
  const absl::StatusOr<ParsedConfig> parsed = ParseConfig(TestSnapshot(kHead, "f"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_FALSE(parsed->config->has_telemetry());
}

}  // namespace
}  // namespace stampgate
