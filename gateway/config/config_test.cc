#include "gateway/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/time/duration.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;

constexpr absl::string_view kMinimal =
    "upstream: {base_url: https://host}\n"
    "keys: [{name: a, file: a.key, all_organizations: true}]\n";

constexpr absl::string_view kKeys = "keys: [{name: a, file: a.key, all_organizations: true}]\n";
constexpr absl::string_view kUpstream = "upstream: {base_url: https://host}\n";

absl::StatusOr<Config> Parse(const ConfigSnapshot& snapshot) {
  absl::StatusOr<ParsedConfig> parsed = ParseConfig(snapshot);
  if (!parsed.ok()) return parsed.status();
  return std::move(parsed->config);
}

constexpr absl::string_view kCallers =
    "callers: [{name: c, loopback: true, grants: [{classes: [query], all_organizations: true}]}]\n";

std::string WithCallers(absl::string_view text) {
  return absl::StrCat(text, absl::EndsWith(text, "\n") ? "" : "\n", kCallers);
}
absl::StatusOr<Config> ParseWithCallers(absl::string_view text, const std::string& file) {
  return Parse(TestSnapshot(WithCallers(text), file));
}

// Adds valid callers to `text`, and returns the faults of the resulting config.
std::string ReportOf(absl::string_view text) { return std::string(ParseWithCallers(text, "f").status().message()); }

// Each of these functions returns the faults of a config that is valid except for one value.
std::string ListenReport(absl::string_view address) {
  return ReportOf(absl::StrCat(kMinimal, "listen_address: '", address, "'\n"));
}
std::string UpstreamReport(absl::string_view members) {
  return ReportOf(absl::StrCat(kKeys, "upstream: {base_url: 'https://host', ", members, "}\n"));
}
std::string UrlReport(absl::string_view url) {
  return ReportOf(absl::StrCat(kKeys, "upstream: {base_url: '", url, "'}\n"));
}
std::string KeysReport(absl::string_view keys) { return ReportOf(absl::StrCat(kUpstream, "keys: [", keys, "]\n")); }

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

constexpr char kExample[] = "deploy/example.yaml";

TEST(ConfigTest, RatesHaveRangesAndNoOrganizationIsGivenTwice) {
  const std::string report = ReportOf(absl::StrCat(kMinimal, R"(admission:
  max_wait: 31s
  rates:
    - {requests: 0, per: 1s}
    - {requests: 1, per: 99ms}
    - {requests: 1}
  organizations:
    - {organization: o, rates: [{requests: 1, per: 1s}]}
    - {organization: o, rates: [{requests: 1, per: 800h}]}
)"));
  for (const char* fault :
       {"admission.max_wait: must be from 1ms to 30s", "admission.rates[0].requests: must be from 1",
        "admission.rates[1].per: must be from 100ms", "admission.rates[2].per: is required",
        "admission.organizations[1].rates[0].per: must be from 100ms",
        "admission.organizations[1].organization: must not be given twice"}) {
    EXPECT_THAT(report, ::testing::HasSubstr(fault));
  }
}

TEST(ConfigTest, RatesOfOperationsNameOperationsOnce) {
  const std::string report = ReportOf(absl::StrCat(kMinimal, R"(admission:
  operation_rates:
    - {operations: [submit/eth_send_transaction], rates: [{requests: 10, per: 1s}]}
    - {operations: [query/get_policy, submit/eth_send_transaction], rates: [{requests: 10, per: 1ms}]}
    - {operations: [eth_send_transaction], rates: [{requests: 10, per: 1s}]}
    - {operations: [query/Get-Policy], rates: []}
    - {rates: [{requests: 10, per: 1s}]}
)"));
  for (const char* fault : {"admission.operation_rates[1].operations[1]: must not be given twice",
                            "admission.operation_rates[1].rates[0].per: must be from 100ms",
                            "admission.operation_rates[2].operations[0]: must be submit/ or query/",
                            "admission.operation_rates[3].operations[0]: must be submit/ or query/",
                            "admission.operation_rates[3].rates", "admission.operation_rates[4].operations"}) {
    EXPECT_THAT(report, ::testing::HasSubstr(fault));
  }
  std::string many = absl::StrCat(kMinimal, "admission:\n  operation_rates:\n");
  for (int i = 0; i < 65; ++i) {
    absl::StrAppend(&many, "    - {operations: [query/q", i, "], rates: [{requests: 1, per: 1s}]}\n");
  }
  EXPECT_THAT(ReportOf(many), ::testing::HasSubstr("admission.operation_rates: must have at most 64 entries"));
}

TEST(ConfigTest, WarnsOfRatesOfAnOperationThatNobodyCanCall) {
  const absl::StatusOr<Config> config = ParseWithCallers(absl::StrCat(kMinimal, R"(admission:
  operation_rates:
    - operations: [submit/eth_send_transaction, query/get_wallet_adress_balances, submit/get_policy]
      rates: [{requests: 10, per: 1s}]
)"),
                                                         "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(
      config->warnings(),
      ::testing::IsSupersetOf({::testing::HasSubstr("admission.operation_rates[0].operations[1]: is the name"),
                               ::testing::HasSubstr("admission.operation_rates[0].operations[2]: is the name")}));
  EXPECT_THAT(config->warnings(),
              ::testing::Not(::testing::Contains(::testing::HasSubstr("operation_rates[0].operations[0]"))));
}

TEST(ConfigTest, TheSmallestConfigGetsEveryDefault) {
  const absl::StatusOr<Config> config = ParseWithCallers(kMinimal, "f");
  ASSERT_TRUE(config.ok()) << config.status();
  const config::v1::Config& values = **config;
  EXPECT_EQ(values.listen_address(), "127.0.0.1:7443");
  EXPECT_EQ(values.operator_name(), "Service");
  EXPECT_EQ(values.upstream().ca_file(), "");
  EXPECT_EQ(ToDuration(values.upstream().connect_timeout()), absl::Seconds(5));
  EXPECT_EQ(ToDuration(values.upstream().exchange_timeout()), absl::Seconds(30));
  EXPECT_EQ(values.upstream().max_connections(), 64u);
  EXPECT_EQ(values.upstream().max_detached(), 32u);
  EXPECT_EQ(ToDuration(values.upstream().max_idle()), absl::Seconds(50));
  EXPECT_EQ(values.upstream().max_response_bytes(), 8u << 20);
  EXPECT_FALSE(values.upstream().http2());
  EXPECT_FALSE(values.upstream().forward_traceparent());
  EXPECT_EQ(values.log().level(), config::v1::LOG_LEVEL_INFO);
  EXPECT_FALSE(values.log().calls());
  EXPECT_TRUE(values.reflection());
  EXPECT_EQ(ToDuration(values.calls().default_deadline()), absl::Seconds(15));
  EXPECT_EQ(ToDuration(values.calls().max_deadline()), absl::Seconds(30));
  EXPECT_EQ(ToDuration(values.calls().drain_grace()), absl::Seconds(25));
  EXPECT_EQ(values.activities().max_waiting(), 4096u);
  EXPECT_EQ(ToDuration(values.activities().max_wait()), absl::Minutes(10));
  EXPECT_EQ(ToDuration(values.activities().poll_interval()), absl::Seconds(2));
  EXPECT_EQ(ToDuration(values.activities().max_poll_interval()), absl::Seconds(30));
  EXPECT_EQ(values.activities().max_polls_per_second(), 2u);
  EXPECT_EQ(values.calls().max_request_bytes(), 1u << 20);
  EXPECT_EQ(values.connections().max(), 4096u);
  EXPECT_EQ(values.connections().max_per_identity(), 512u);
  EXPECT_EQ(values.connections().max_handshakes(), 256u);
  EXPECT_EQ(ToDuration(values.connections().handshake_timeout()), absl::Seconds(5));
  EXPECT_EQ(values.connections().max_streams(), 1024u);
  EXPECT_EQ(values.connections().max_header_bytes(), 8192u);
  EXPECT_EQ(values.connections().max_resets_per_second(), 500u);
  EXPECT_EQ(values.connections().max_control_frames_per_second(), 500u);
  EXPECT_EQ(values.memory().max_bytes_per_connection(), 96u << 20);
  EXPECT_EQ(values.memory().max_bytes_per_identity(), 128u << 20);
  EXPECT_EQ(values.memory().max_bytes(), 256u << 20);
  EXPECT_EQ(ToDuration(values.memory().max_unread_time()), absl::Seconds(30));
  EXPECT_EQ(values.calls().max_in_flight(), 8192u);
  EXPECT_EQ(values.calls().max_in_flight_per_caller(), 1024u);
  EXPECT_EQ(values.admission().rates_size(), 0);
  EXPECT_EQ(ToDuration(values.admission().max_wait()), absl::Milliseconds(200));
  EXPECT_TRUE(values.admission().retries());
  EXPECT_TRUE(values.admission().breaker());
  EXPECT_EQ(values.replica().index(), 0u);
  EXPECT_EQ(values.replica().count(), 1u);
  EXPECT_EQ(values.events().file(), "");
  EXPECT_EQ(ToDuration(values.events().retention_age()), absl::Hours(168));
  EXPECT_EQ(values.events().retention_bytes(), uint64_t{10} << 30);
  EXPECT_EQ(ToDuration(values.events().deduplication_age()), absl::Hours(720));
  EXPECT_EQ(ToDuration(values.events().heartbeat_interval()), absl::Seconds(15));
  EXPECT_EQ(values.events().max_subscribers(), 1000u);
  EXPECT_EQ(values.events().max_subscribers_per_caller(), 250u);
  EXPECT_EQ(values.webhooks().listen_address(), "");
  EXPECT_EQ(values.webhooks().max_body_bytes(), 4u << 20);
  EXPECT_EQ(values.webhooks().max_connections(), 256u);
  EXPECT_EQ(values.webhooks().max_bytes(), 64u << 20);
  EXPECT_EQ(values.webhooks().min_bytes_per_second(), 16u << 10);
  EXPECT_EQ(ToDuration(values.webhooks().request_timeout()), absl::Seconds(15));
  EXPECT_EQ(ToDuration(values.webhooks().idle_timeout()), absl::Seconds(60));
  EXPECT_EQ(ToDuration(values.webhooks().max_timestamp_age()), absl::Minutes(5));
  EXPECT_EQ(ToDuration(values.webhooks().min_key_set_interval()), absl::Seconds(10));
}

// A list or text field that a config gives with an empty value. `text` is that config.
struct EmptyField {
  std::string path;
  std::string text;
  bool may_be_empty = false;
};
// Adds the list and text fields of `descriptor` to `fields`. `text` is a config in which "%" stands where the line of
// the field belongs.
void CollectEmptyFields(const Descriptor* descriptor, const std::string& prefix, const std::string& text,
                        std::vector<EmptyField>& fields) {
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *descriptor->field(i);
    const std::string path = absl::StrCat(prefix, absl::string_view(field.name()));
    const auto with = [&](const std::string& value) {
      return absl::StrReplaceAll(text, {{"%", absl::StrCat(absl::string_view(field.name()), ": ", value)}});
    };
    const bool is_text = field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    if (field.is_repeated() || is_text) {
      fields.push_back(
          {path, with(field.is_repeated() ? "[]" : "''"), field.options().GetExtension(v1::field).may_be_empty()});
    }
    if (field.message_type() == nullptr || field.message_type() == google::protobuf::Duration::descriptor()) continue;
    CollectEmptyFields(field.message_type(), absl::StrCat(path, field.is_repeated() ? "[0]." : "."),
                       with(field.is_repeated() ? "[{%}]" : "{%}"), fields);
  }
}

TEST(ConfigTest, AnEmptyValueIsRefusedUnlessItGrantsNothing) {
  std::vector<EmptyField> fields;
  CollectEmptyFields(config::v1::Config::descriptor(), "", "%", fields);
  EXPECT_GT(fields.size(), 40u);
  std::vector<std::string> may_be_empty;
  for (const EmptyField& field : fields) {
    const std::string report(Parse(TestSnapshot(field.text, "f", ConfigFiles::kPolicy)).status().message());
    const bool refused = absl::StrContains(report, field.path + ": must not be empty: omit it") ||
                         absl::StrContains(report, field.path + ": is required");
    EXPECT_EQ(refused, !field.may_be_empty) << field.text << "\n" << report;
    if (field.may_be_empty) may_be_empty.push_back(field.path);
  }
  EXPECT_THAT(may_be_empty,
              ElementsAre("subscriptions", "webhooks.paths", "token_issuers", "callers[0].grants",
                          "callers[0].grants[0].methods", "callers[0].grants[0].classes",
                          "callers[0].grants[0].general_operations", "callers[0].grants[0].dangerous_fields"));
}

TEST(ConfigTest, TheExampleShowsTheDefaults) {
  const absl::StatusOr<Config> example = Parse(TestSnapshot(Contents(kExample), kExample));
  ASSERT_TRUE(example.ok()) << example.status();
  const absl::StatusOr<Config> minimal = Parse(
      TestSnapshot("upstream: {base_url: https://api.example.com}\n"
                   "keys: [{name: main, file: main.key, all_organizations: true}]\n"
                   "callers: [{name: local, loopback: true, grants: [{classes: [query], all_organizations: true}]}]\n"
                   "class_grants_as_of: 2026-10-30\n",
                   kExample));
  ASSERT_TRUE(minimal.ok()) << minimal.status();
  EXPECT_THAT(example->warnings(), ElementsAre());
  EXPECT_TRUE(MessageDifferencer::Equals(**example, **minimal));
}

void ExpectMentioned(const std::string& text, const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat(absl::string_view(type.field(i)->name()), ":")))
        << type.field(i)->full_name();
    const Descriptor* inner = type.field(i)->message_type();
    if (inner != nullptr && inner->file() == type.file()) ExpectMentioned(text, *inner);
  }
}

TEST(ConfigTest, TheExampleMentionsEveryField) {
  ExpectMentioned(Contents(kExample), *config::v1::Config::descriptor());
}

TEST(ConfigTest, RelativeFileNamesStartAtTheFolderOfTheConfigFile) {
  const absl::StatusOr<Config> config = ParseWithCallers(
      "upstream: {base_url: https://host}\n"
      "keys:\n"
      "  - {name: a, file: keys/a.key, organizations: [o]}\n"
      "  - {name: b, file: /run/b.key, all_organizations: true}\n",
      "/etc/stampgate/stampgate.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ((*config)->keys(0).file(), "/etc/stampgate/keys/a.key");
  EXPECT_EQ((*config)->keys(1).file(), "/run/b.key");
}

TEST(ConfigTest, EachKeyHasASigner) {
  ConfigSnapshot snapshot = TestSnapshot(
      WithCallers("upstream: {base_url: https://host}\n"
                  "keys: [{name: a, file: a.key, organizations: [o]}, {name: b, file: b.key, organizations: [p]}]\n"),
      "f");
  snapshot.contents.PutSecret("b.key", TestSecret(KeyText(2)));
  const absl::StatusOr<ParsedConfig> parsed = ParseConfig(snapshot);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->signers.size(), 2u);
  EXPECT_EQ(parsed->signers[0]->public_key_hex(), kPointOfOne);
  EXPECT_EQ(parsed->signers[1]->public_key_hex(), kPointOfTwo);
}

// ParseConfig must not read files, because the files on the disk can change after the snapshot was read.
TEST(ConfigTest, TheParserDependsOnlyOnTheSnapshot) {
  const std::string folder = NewTestFolder();
  const std::string text =
      absl::StrCat(kUpstream, kKeys,
                   "callers: [{name: c, loopback: true, grants: [{classes: [query], organizations_file: ids}]}]\n");
  PutTestFile(folder + "/a.key", KeyText(1));
  PutTestFile(folder + "/ids", "o\n");
  const ConfigSnapshot snapshot = ReadTestSnapshot(text, folder + "/f");
  PutTestFile(folder + "/a.key", KeyText(2));
  std::filesystem::remove(folder + "/ids");
  const absl::StatusOr<ParsedConfig> parsed = ParseConfig(snapshot);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->signers[0]->public_key_hex(), kPointOfOne);
  EXPECT_TRUE(parsed->config.organizations()[0][0]->Contains("o"));
}

TEST(ConfigTest, WithoutTlsTheAddressMustBeLoopback) {
  for (const char* good : {"127.0.0.1:0", "127.255.3.4:65535", "[::1]:7443", "localhost:1", "[0:0:0:0:0:0:0:1]:1"}) {
    EXPECT_EQ(ListenReport(good), "") << good;
  }
  for (const char* refused : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "[::2]:1", "[::ffff:127.0.0.1]:1"}) {
    EXPECT_EQ(ListenReport(refused),
              "f:3:17: listen_address: must be 127.x.x.x, [::1] or localhost without tls: plaintext is refused on "
              "other addresses")
        << refused;
  }
  for (const char* malformed : {"127.0.0.1", ":1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x",
                                "::1:7443", "[::1", "[::1]7443", "[127.0.0.1]:1", "unix:/tmp/s", " 127.0.0.1:1",
                                "127.1:1", "gateway.internal:7443", "LOCALHOST.example:1"}) {
    EXPECT_EQ(ListenReport(malformed), "f:3:17: listen_address: must be address:port, such as 127.0.0.1:7443")
        << malformed;
  }
}

TEST(ConfigTest, OperatorNameIsALetterThenLettersAndDigits) {
  const auto report = [](absl::string_view name) {
    return ReportOf(absl::StrCat(kMinimal, "operator_name: '", name, "'\n"));
  };
  for (const std::string& good : {std::string("S"), std::string("Acme9"), std::string(32, 'a')}) {
    EXPECT_EQ(report(good), "") << good;
  }
  for (const char* bad : {"9a", "a-b", "a b", "\u00E9", "{operator}"}) {
    EXPECT_EQ(report(bad), "f:3:16: operator_name: must be a letter, then letters and digits") << bad;
  }
  EXPECT_EQ(report(std::string(33, 'a')), "f:3:16: operator_name: must be no longer than 32 bytes");
}

TEST(ConfigTest, BaseUrlIsHttpsAndNothingAfterTheHost) {
  for (const char* good : {"https://host", "https://a-b.example.com:8443", "https://[2001:db8::1]:1",
                           "https://10.0.0.1", "http://127.0.0.1:8080", "http://[::1]", "http://localhost:1"}) {
    EXPECT_EQ(UrlReport(good), "") << good;
  }
  const std::string at = "f:2:22: upstream.base_url: ";
  for (const char* bad : {"host", "ftp://host"}) {
    EXPECT_EQ(UrlReport(bad), at + "must begin with https://") << bad;
  }
  for (const char* bad : {"http://host", "http://0.0.0.0", "http://localhost.example.com", "http://[::]"}) {
    EXPECT_EQ(UrlReport(bad), at + "may be http only for a loopback host; use https") << bad;
  }
  for (const char* bad : {"https://user@host", "https://user:word@host:1", "http://127.0.0.1@host"}) {
    EXPECT_EQ(UrlReport(bad), at + "must not hold user information") << bad;
  }
  for (const char* bad : {"https://host/", "https://host/path", "https://host?q", "https://host#f",
                          "file:///etc/passwd", "https://host\\\\.example"}) {
    EXPECT_EQ(UrlReport(bad), at + "must end after the host or port: no path, query or fragment") << bad;
  }
  for (const char* bad :
       {"https://", "://host", "file://host", "https://:1", "https://host:65536", "https://host:1:2", "https://[::1"}) {
    EXPECT_EQ(UrlReport(bad), at + "is not a URL") << bad;
  }
  for (const char* bad : {"https://ho st", "https://h\u00F6st", "https://%68ost"}) {
    EXPECT_EQ(UrlReport(bad), at + "must be plain ASCII without spaces or escapes") << bad;
  }
  EXPECT_EQ(UrlReport("https://host:0"), at + "must not have port 0");
  EXPECT_EQ(UrlReport(""), at + "is required");
}

TEST(ConfigTest, NumbersStayWithinTheirLimits) {
  struct Row {
    const char* section;
    const char* field;
    uint64_t minimum;
    uint64_t maximum;
  };
  for (const Row& row : {Row{"upstream", "max_connections", 1, 1024},
                         Row{"upstream", "max_detached", 1, 1024},
                         Row{"upstream", "max_response_bytes", 64 << 10, 64 << 20},
                         Row{"calls", "max_request_bytes", 64 << 10, 4 << 20},
                         Row{"connections", "max", 16, 65536},
                         Row{"connections", "max_per_identity", 1, 65536},
                         Row{"connections", "max_handshakes", 16, 4096},
                         Row{"connections", "max_streams", 1, 65536},
                         Row{"connections", "max_header_bytes", 4096, 65536},
                         Row{"connections", "max_resets_per_second", 10, 100000},
                         Row{"connections", "max_control_frames_per_second", 10, 100000},
                         Row{"connections", "max_bytes_per_connection", 8 << 20, 1 << 30},
                         Row{"connections", "max_bytes_per_identity", 8 << 20, 1 << 30},
                         Row{"connections", "max_bytes", 8 << 20, uint64_t{16} << 30},
                         Row{"memory", "max_bytes_per_connection", 16 << 20, uint64_t{1} << 40},
                         Row{"memory", "max_bytes_per_identity", 16 << 20, uint64_t{1} << 40},
                         Row{"memory", "max_bytes", 128 << 20, uint64_t{1} << 40},
                         Row{"webhooks", "min_bytes_per_second", 1, 1 << 20},
                         Row{"admission", "max_in_flight_per_organization", 1, 1'000'000},
                         Row{"calls", "max_in_flight", 1, 1'000'000},
                         Row{"calls", "max_in_flight_per_caller", 1, 1'000'000},
                         Row{"calls", "max_in_flight_bytes", 4 << 20, uint64_t{16} << 30},
                         Row{"calls", "max_in_flight_bytes_per_caller", 4 << 20, uint64_t{16} << 30},
                         Row{"events", "max_subscribers_per_caller", 1, 100'000},
                         Row{"events", "max_unsent_bytes", 4 << 20, uint64_t{16} << 30},
                         Row{"events", "max_unsent_bytes_per_caller", 4 << 20, uint64_t{16} << 30}}) {
    const auto report = [&](uint64_t value) {
      const bool upstream = absl::string_view(row.section) == "upstream";
      return ReportOf(absl::StrCat(kKeys, "upstream:\n  base_url: https://host\n",
                                   upstream ? "" : absl::StrCat(row.section, ":\n"), "  ", row.field, ": ", value,
                                   "\n"));
    };
    const std::string fault =
        absl::StrCat(row.section, ".", row.field, ": must be from ", row.minimum, " to ", row.maximum);
    EXPECT_EQ(report(row.minimum), "");
    EXPECT_EQ(report(row.maximum), "");
    EXPECT_THAT(report(row.minimum - 1), testing::EndsWith(fault));
    EXPECT_THAT(report(row.maximum + 1), testing::EndsWith(fault));
  }
}

TEST(ConfigTest, DurationsStayWithinTheirLimits) {
  EXPECT_EQ(UpstreamReport("connect_timeout: 1ms, exchange_timeout: 10m, max_idle: 1s"), "");
  EXPECT_EQ(UpstreamReport("connect_timeout: 0"), "f:2:55: upstream.connect_timeout: must be from 1ms to 10m");
  EXPECT_EQ(UpstreamReport("exchange_timeout: 601s"), "f:2:56: upstream.exchange_timeout: must be from 1ms to 10m");
  EXPECT_EQ(UpstreamReport("max_idle: 999ms"), "f:2:48: upstream.max_idle: must be from 1s to 10m");
  EXPECT_EQ(UpstreamReport("http2: true"), "f:2:45: upstream.http2: is no longer supported: remove it");
  EXPECT_EQ(UpstreamReport("http2: false"), "");
  EXPECT_EQ(UpstreamReport("max_idle: -5s"), "f:2:48: upstream.max_idle: must be from 1s to 10m");
  const auto calls = [](absl::string_view members) {
    return ReportOf(absl::StrCat(kMinimal, "calls: {", members, "}\n"));
  };
  EXPECT_EQ(calls("default_deadline: 100ms, max_deadline: 100ms, drain_grace: 2s"), "");
  EXPECT_EQ(calls("default_deadline: 0s"), "f:3:27: calls.default_deadline: must be from 100ms to 10m");
  EXPECT_EQ(calls("max_deadline: 11m"), "f:3:23: calls.max_deadline: must be from 100ms to 10m");
  EXPECT_EQ(calls("drain_grace: 1s"), "f:3:22: calls.drain_grace: must be from 2s to 10m");
  EXPECT_EQ(calls("default_deadline: 31s"),
            "f:3:27: calls.default_deadline: must not be above max_deadline, which is 30s");
  EXPECT_EQ(calls("max_deadline: 5s"), "f:3:8: calls.default_deadline: must not be above max_deadline, which is 5s");
  const auto activities = [](absl::string_view members) {
    return ReportOf(absl::StrCat(kMinimal, "activities: {", members, "}\n"));
  };
  EXPECT_EQ(activities("max_waiting: 0, max_wait: 24h, poll_interval: 100ms, max_poll_interval: 1h"), "");
  EXPECT_EQ(activities("max_wait: 999ms"), "f:3:24: activities.max_wait: must be from 1s to 24h");
  EXPECT_EQ(activities("poll_interval: 99ms"), "f:3:29: activities.poll_interval: must be from 100ms to 10m");
  EXPECT_EQ(activities("max_poll_interval: 1s"),
            "f:3:33: activities.max_poll_interval: must not be below poll_interval, which is 2s");
  EXPECT_EQ(activities("max_polls_per_second: 0"), "f:3:36: activities.max_polls_per_second: must be from 1 to 1000");
  const auto handshake = [](absl::string_view timeout) {
    return ReportOf(absl::StrCat(kMinimal, "connections: {handshake_timeout: ", timeout, "}\n"));
  };
  for (const char* timeout : {"100ms", "1m"}) EXPECT_EQ(handshake(timeout), "");
  for (const char* timeout : {"99ms", "61s"}) {
    EXPECT_EQ(handshake(timeout), "f:3:34: connections.handshake_timeout: must be from 100ms to 1m");
  }
}

TEST(ConfigTest, TheCaFileMustBeReadable) {
  EXPECT_EQ(UpstreamReport("ca_file: missing.pem"),
            "f:2:47: upstream.ca_file: it cannot be opened: No such file or directory");
  EXPECT_EQ(UpstreamReport("ca_file: deploy"), "f:2:47: upstream.ca_file: it is not a regular file");
  EXPECT_EQ(UpstreamReport(absl::StrCat("ca_file: ", kExample)),
            "f:2:47: upstream.ca_file: it holds no certificate in PEM");
}

TEST(ConfigTest, TheIndexOfAReplicaMustBeBelowTheCount) {
  const auto report = [](absl::string_view members) {
    return ReportOf(absl::StrCat(kMinimal, "replica: {", members, "}\n"));
  };
  EXPECT_EQ(report("index: 999, count: 1000"), "");
  EXPECT_EQ(report("index: 1"), "f:3:18: replica.index: must be below count");
  EXPECT_EQ(report("index: 3, count: 3"), "f:3:18: replica.index: must be below count");
  EXPECT_EQ(report("count: 0"), "f:3:18: replica.count: must be from 1 to 1000");
  EXPECT_EQ(report("count: 1001"), "f:3:18: replica.count: must be from 1 to 1000");
  EXPECT_EQ(report("index: 1000, count: 1000"), "f:3:18: replica.index: must be at most 999");
}

TEST(ConfigTest, TheSettingsOfTheEventLogHaveLimits) {
  const auto report = [](absl::string_view members) {
    return ReportOf(absl::StrCat(kMinimal, "events: {", members, "}\n"));
  };
  EXPECT_EQ(report("file: events.db"), "");
  EXPECT_EQ(report("retention_age: 1m, deduplication_age: 1m, retention_bytes: 1048576"), "");
  EXPECT_EQ(report("retention_age: 87600h, deduplication_age: 87600h"), "");
  EXPECT_EQ(report("retention_age: 59s"), "f:3:25: events.retention_age: must be from 1m to 87600h");
  EXPECT_EQ(report("deduplication_age: 87601h"), "f:3:29: events.deduplication_age: must be from 1m to 87600h");
  EXPECT_EQ(report("deduplication_age: 1h"),
            "f:3:29: events.deduplication_age: must not be below retention_age, which is 168h");
  EXPECT_EQ(report("retention_bytes: 1048575"), "f:3:27: events.retention_bytes: must be at least 1048576");
  EXPECT_EQ(report("heartbeat_interval: 99ms"), "f:3:30: events.heartbeat_interval: must be from 100ms to 10m");
  EXPECT_EQ(report("max_subscribers: 0"), "f:3:27: events.max_subscribers: must be from 1 to 100000");
}

TEST(ConfigTest, AStoreMustHaveAFolder) {
  const auto report = [](absl::string_view members) {
    return ReportOf(absl::StrCat(kMinimal, "store: {", members, "}\n"));
  };
  EXPECT_EQ(report("sqlite: {folder: data}"), "");
  EXPECT_EQ(report("sqlite: {folder: data}, key_retention: 1h"), "");
  EXPECT_EQ(report("sqlite: {folder: data}, key_retention: 720h"), "");
  EXPECT_EQ(report("key_retention: 24h"), "f:3:8: store: must have either sqlite or postgresql");
  EXPECT_EQ(report("sqlite: {folder: data}, postgresql: {hosts: ['db:1'], database: d, user: u, key_file: k}"),
            "f:3:8: store: must have either sqlite or postgresql");
  EXPECT_EQ(report("sqlite: {}"), "f:3:17: store.sqlite.folder: is required");
  EXPECT_EQ(report("sqlite: {folder: data}, key_retention: 59m"),
            "f:3:48: store.key_retention: must be from 1h to 720h");
}

TEST(ConfigTest, TheEventLogIsInTheStoreUnlessTheConfigNamesItsFile) {
  const auto parse = [](absl::string_view more) {
    absl::StatusOr<Config> config = ParseWithCallers(absl::StrCat(kMinimal, more), "/etc/stampgate/f.yaml");
    EXPECT_TRUE(config.ok()) << config.status();
    return **config;
  };
  const config::v1::Config both = parse("store: {sqlite: {folder: data}}\n");
  EXPECT_EQ(both.events().file(), "/etc/stampgate/data/events.db");
  EXPECT_EQ(CallStoreFile(both), "/etc/stampgate/data/calls.db");
  EXPECT_EQ(ToDuration(both.store().key_retention()), absl::Hours(24));
  const config::v1::Config named = parse("store: {sqlite: {folder: /data}}\nevents: {file: old.db}\n");
  EXPECT_EQ(named.events().file(), "/etc/stampgate/old.db");
  EXPECT_EQ(CallStoreFile(named), "/data/calls.db");
  EXPECT_EQ(CallStoreFile(parse("events: {file: old.db}\n")), "");
}

// Returns the faults of a config with a store on PostgreSQL, which is valid except for `members`.
std::string PostgresqlReport(absl::string_view members, absl::string_view more = "") {
  const std::string report = ReportOf(
      absl::StrCat(kMinimal, "store: {postgresql: {database: d, user: u, key_file: k, ", members, "}}\n", more));
  return report.empty() ? report : report.substr(report.find(": ") + 2);  // without the place in the file
}

TEST(ConfigTest, TheServersOfAStoreHaveDefaults) {
  const absl::StatusOr<Config> config = ParseWithCallers(
      absl::StrCat(kMinimal,
                   "store: {postgresql: {hosts: ['db:5432'], database: d, user: u, key_file: k, ca_file: c}}"),
      "/etc/stampgate/f.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const config::v1::PostgresqlStore& store = (**config).store().postgresql();
  EXPECT_EQ(store.schema(), "stampgate");
  EXPECT_TRUE(store.migrate());
  EXPECT_FALSE(store.allow_single_server());
  EXPECT_EQ(store.key_file(), "/etc/stampgate/k");
  EXPECT_EQ(store.ca_file(), "/etc/stampgate/c");
  EXPECT_EQ((**config).events().file(), "") << "the events are on the server";
  EXPECT_EQ(CallStoreFile(**config), "");
  const absl::StatusOr<Config> manual = ParseWithCallers(
      absl::StrCat(kMinimal, "store: {postgresql: {hosts: ['db:5432'], database: d, user: u, key_file: k, ca_file: c,",
                   " migrate: false, schema: s_2}}"),
      "f");
  ASSERT_TRUE(manual.ok()) << manual.status();
  EXPECT_FALSE((**manual).store().postgresql().migrate());
  EXPECT_EQ((**manual).store().postgresql().schema(), "s_2");
}

TEST(ConfigTest, TheServersOfAStoreHaveHostsAndPorts) {
  EXPECT_EQ(PostgresqlReport("ca_file: c, hosts: ['a:1', '[::1]:2', '/run:3']"), "");
  EXPECT_EQ(PostgresqlReport("ca_file: c"), "store.postgresql.hosts: is required");
  EXPECT_EQ(PostgresqlReport("ca_file: c, hosts: ['a:1', b]"), "store.postgresql.hosts[1]: must be host:port");
  EXPECT_EQ(PostgresqlReport("ca_file: c, hosts: ['::1:1']"),
            "store.postgresql.hosts[0]: must have an IPv6 address in brackets");
  EXPECT_EQ(PostgresqlReport("ca_file: c, hosts: ['a:1', 'a:2', 'a:3', 'a:4', 'a:5', 'a:6', 'a:7', 'a:8']"), "");
  EXPECT_EQ(PostgresqlReport("ca_file: c, hosts: ['a:1', 'a:2', 'a:3', 'a:4', 'a:5', 'a:6', 'a:7', 'a:8', 'a:9']"),
            "store.postgresql.hosts: must be no more than 8");
}

TEST(ConfigTest, AConnectionToAStoreIsWithoutTlsOnlyIfItIsLocal) {
  for (const char* host : {"127.0.0.1:1", "[::1]:1", "/run/postgresql:5432"}) {
    EXPECT_EQ(PostgresqlReport(absl::StrCat("plaintext: true, hosts: ['", host, "']")), "") << host;
  }
  for (const char* host : {"10.0.0.1:1", "db:1", "localhost:1", "[::2]:1"}) {
    EXPECT_EQ(PostgresqlReport(absl::StrCat("plaintext: true, hosts: ['/run:1', '", host, "']")),
              "store.postgresql.hosts[1]: must be a loopback address or a Unix socket, because plaintext is true")
        << host;
  }
  EXPECT_EQ(PostgresqlReport("hosts: ['db:1']"),
            "store.postgresql.ca_file: must be given if, and only if, plaintext is not true");
  EXPECT_EQ(PostgresqlReport("hosts: ['/run:1'], plaintext: true, ca_file: c"),
            "store.postgresql.ca_file: must be given if, and only if, plaintext is not true");
}

TEST(ConfigTest, TheCertificateForAStoreHasAKey) {
  const std::string valid = "hosts: ['db:1'], ca_file: c";
  EXPECT_EQ(PostgresqlReport(valid + ", certificate_file: a, private_key_file: b"), "");
  for (const char* one : {", certificate_file: a", ", private_key_file: b"}) {
    EXPECT_EQ(PostgresqlReport(valid + one),
              "store.postgresql.certificate_file: is required: certificate_file and private_key_file must be given "
              "together");
  }
}

TEST(ConfigTest, TheSchemaOfAStoreHasASimpleName) {
  const std::string valid = "hosts: ['db:1'], ca_file: c, schema: ";
  for (const std::string& schema : {std::string("a"), std::string("a_1"), std::string(48, 'a')}) {
    EXPECT_EQ(PostgresqlReport(valid + schema), "") << schema;
  }
  for (const char* schema : {"A", "1a", "_a", "a-b", "'a,b'", "'a\"'", "'a b'"}) {
    EXPECT_EQ(PostgresqlReport(valid + schema),
              "store.postgresql.schema: must be a lower-case letter, and then lower-case letters, digits and '_'")
        << schema;
  }
  EXPECT_NE(PostgresqlReport(valid + std::string(49, 'a')), "");
}

TEST(ConfigTest, TheEventLogHasNoFileIfTheStoreIsOnAServer) {
  EXPECT_EQ(PostgresqlReport("hosts: ['db:1'], ca_file: c", "events: {file: e}\n"),
            "events.file: must not be given: the event log is in store.postgresql");
}

TEST(ConfigTest, TheKeyOfAStoreIsHexDigits) {
  const std::string text = WithCallers(absl::StrCat(
      kMinimal, "store: {postgresql: {hosts: ['db:1'], ca_file: c, database: d, user: u, key_file: k}}\n"));
  const std::string good(64, '1');
  EXPECT_TRUE(Parse(TestSnapshot(text, "f", ConfigFiles::kAll, good)).ok());
  const std::string report(Parse(TestSnapshot(text, "f", ConfigFiles::kAll, good + ":p256")).status().message());
  EXPECT_TRUE(absl::StrContains(report, "store.postgresql.key_file: ")) << report;
  EXPECT_TRUE(absl::StrContains(report, "64 hex digits")) << report;
  EXPECT_FALSE(absl::StrContains(report, good)) << "a report does not quote a key";
}

TEST(ConfigTest, KeysMustHaveUniqueNames) {
  EXPECT_EQ(ReportOf(kUpstream), "f:1:1: keys: is required");
  EXPECT_EQ(KeysReport(""), "f:2:7: keys: is required");
  EXPECT_EQ(KeysReport("{name: a, file: f, organizations: [x]}, {name: a, file: f, organizations: [y]}"),
            "f:2:55: keys[1].name: is already the name of keys[0]");
  EXPECT_EQ(KeysReport("{file: f, organizations: [x]}, {file: f, organizations: [y]}"),
            "f:2:8: keys[0].name: is required\nf:2:39: keys[1].name: is required");
  EXPECT_EQ(KeysReport(absl::StrCat("{name: 0-", std::string(61, 'z'), ", file: f, organizations: [x]}")), "");
  EXPECT_EQ(KeysReport(absl::StrCat("{name: ", std::string(64, 'z'), ", file: f, organizations: [x]}")),
            "f:2:15: keys[0].name: must be no longer than 63 bytes");
  for (const char* bad : {"A", "a b", "a_b", "a.b", "\u00E9"}) {
    EXPECT_EQ(KeysReport(absl::StrCat("{name: '", bad, "', file: f, organizations: [x]}")),
              "f:2:15: keys[0].name: must consist of a-z, 0-9 and -")
        << bad;
  }
}

TEST(ConfigTest, TheOrganizationsOfAKeyMustBeExactIds) {
  EXPECT_EQ(KeysReport("{name: a, file: f, organizations: [x, y]}, {name: b, file: f, all_organizations: true}"), "");
  EXPECT_EQ(KeysReport("{name: a, file: f, organizations: [x, y, x]}"),
            "f:2:49: keys[0].organizations[2]: is given twice");
  EXPECT_EQ(KeysReport("{name: a, file: f, organizations: [x]}, {name: b, file: f, organizations: [y, x]}"), "");
  EXPECT_EQ(KeysReport("{name: a, file: f, all_organizations: true}, {name: b, file: f, all_organizations: true}"), "");
  const std::string either = "keys[0].organizations: must be given if, and only if, all_organizations is not true";
  EXPECT_EQ(KeysReport("{name: a, file: f}"), "f:2:8: " + either);
  EXPECT_EQ(KeysReport("{name: a, file: f, all_organizations: false}"), "f:2:8: " + either);
  EXPECT_EQ(KeysReport("{name: a, file: f, organizations: [x], all_organizations: true}"), "f:2:42: " + either);
  for (const std::string& bad : {std::string("*"), std::string(""), std::string("a b"), std::string("a/b")}) {
    EXPECT_EQ(KeysReport(absl::StrCat("{name: a, file: f, organizations: ['", bad, "']}")),
              "f:2:43: keys[0].organizations[0]: must be an exact id: letters, digits, '.', '_', ':' and '-'")
        << bad;
  }
  EXPECT_EQ(KeysReport(absl::StrCat("{name: a, file: f, organizations: [", std::string(129, 'x'), "]}")),
            "f:2:43: keys[0].organizations[0]: must be no longer than 128 bytes");
}

TEST(ConfigTest, AKeyInPlaceOfAFileNameIsRefusedAndNotQuoted) {
  const std::string hex = "5ec3e7" + std::string(58, 'a');
  for (const std::string& material : {hex, hex + ":p256", std::string("-----BEGIN PRIVATE KEY----- 5ec3e7")}) {
    EXPECT_EQ(ReportOf(absl::StrCat(kUpstream, "keys: [{name: a, all_organizations: true, file: '", material, "'}]")),
              "f:2:49: keys[0].file: contains a key: write the name of the file that contains the key");
  }
}

TEST(ConfigTest, FaultsOfKeyFilesAreReportedWithAllOtherFaults) {
  ConfigSnapshot snapshot =
      TestSnapshot(WithCallers(absl::StrCat("listen_address: 0.0.0.0:1\n"
                                            "upstream: {base_url: https://host}\n"
                                            "keys:\n"
                                            "  - name: a\n"
                                            "    file: bad.key\n"
                                            "    organizations: [x]\n"
                                            "  - name: b\n"
                                            "    file: good.key\n"
                                            "    public_key: ",
                                            std::string(66, 'f'), "\n    organizations: [y]\n",
                                            "  - name: c\n"
                                            "    file: good.key\n"
                                            "    public_key: ",
                                            absl::AsciiStrToUpper(kPointOfOne), "\n    organizations: [z]\n")),
                   "f");
  snapshot.contents.PutSecret("bad.key", absl::PermissionDeniedError("others may use it"));
  EXPECT_EQ(Parse(snapshot).status().message(),
            "f:1:17: listen_address: must be 127.x.x.x, [::1] or localhost without tls: plaintext is refused on other "
            "addresses\n"
            "f:5:11: keys[0].file: key file bad.key: others may use it\n"
            "f:9:17: keys[1].public_key: is not the public key of the key in the file");
}

TEST(ConfigTest, APublicKeyMustBeHex) {
  for (const std::string& bad : {std::string(65, '0'), std::string(2, '0'), std::string(64, 'g')}) {
    EXPECT_EQ(KeysReport(absl::StrCat("{name: a, file: f, all_organizations: true, public_key: '", bad, "'}")),
              "f:2:64: keys[0].public_key: must be 66 hex digits, or 64 for Ed25519");
  }
  constexpr char kSeed[] = "664a17f49568fbd80b435f30562789f9395e1560daf1551fd4ea96d761872f27:ed25519";
  constexpr char kPublic[] = "040401746fe71cfdd266ec99f1c4fc5113b70ff0fb7cdb33201086d1092ec6dd";
  const std::string text =
      absl::StrCat(kUpstream, "keys: [{name: a, file: f.key, all_organizations: true, public_key: '", kPublic, "'}]");
  EXPECT_EQ(Parse(TestSnapshot(WithCallers(text), "f", ConfigFiles::kAll, kSeed)).status(), absl::OkStatus());
}

TEST(ConfigTest, AllFaultsAreReportedTogetherInTheOrderOfTheFile) {
  EXPECT_EQ(ReportOf("operator_name: a-b\n"
                     "upstream:\n"
                     "  base_ur: https://host\n"
                     "  max_connections: 0\n"
                     "  max_idle: fast\n"
                     "keys:\n"
                     "  - name: a\n"
                     "    organizations: [x]\n"
                     "  - name: a\n"
                     "    file: [f]\n"
                     "    organizations:\n"
                     "      - y\n"
                     "      - x\n"
                     "replica: {index: 2, count: 2}\n"
                     "calls: 5\n"),
            "f:1:16: operator_name: must be a letter, then letters and digits\n"
            "f:3:3: upstream.base_ur: unknown key; did you mean base_url?\n"
            "f:3:3: upstream.base_url: is required\n"
            "f:4:20: upstream.max_connections: must be from 1 to 1024\n"
            "f:5:13: upstream.max_idle: must be a duration with its unit, such as 5s or 500ms\n"
            "f:7:5: keys[0].file: is required\n"
            "f:9:11: keys[1].name: is already the name of keys[0]\n"
            "f:10:11: keys[1].file: must be text\n"
            "f:14:18: replica.index: must be below count\n"
            "f:15:8: calls: must be a mapping");
}

TEST(ConfigTest, AnEmptyFileLacksTheRequiredFields) {
  EXPECT_EQ(ReportOf(""), "f:1:1: upstream.base_url: is required\nf:1:1: keys: is required");
}

TEST(ConfigTest, ATextThatIsNotYamlHasOneFault) {
  EXPECT_EQ(ReportOf("upstream: {\n"), "f:3:1: is not YAML: end of map flow not found");
}

TEST(ConfigTest, AConfigFileThatCannotBeReadIsNamed) {
  ConfigSnapshot snapshot;
  snapshot.path = "no/such.yaml";
  snapshot.contents.ReadPublic(snapshot.path);
  EXPECT_EQ(Parse(snapshot).status(),
            absl::InvalidArgumentError("no/such.yaml: it cannot be opened: No such file or directory"));
}

// A config whose files are all missing, because its folder does not exist.
constexpr absl::string_view kNamesFiles =
    "listen_address: 0.0.0.0:7443\n"
    "upstream: {base_url: 'https://host', ca_file: none}\n"
    "keys: [{name: a, file: none, all_organizations: true}]\n"
    "tls: {certificate_file: none, private_key_file: none, client_ca_file: none}\n"
    "audit: {file: none, key_file: none}\n"
    "webhooks: {paths_file: none, tls_certificate_file: none, tls_private_key_file: none}\n"
    "token_issuers:\n"
    "  - {name: i, issuer: i, audiences: [a], jwks_file: none}\n"
    "  - {name: j, issuer: j, audiences: [a], jwks_url: 'https://host/a', ca_file: none}\n"
    "callers:\n"
    "  - {name: c, loopback: true, grants: [{classes: [query], organizations_file: none}]}\n"
    "  - name: d\n"
    "    dns_names: [d]\n"
    "    grants: [{classes: [query], organizations: [o]}, {classes: [query], organizations_file: none}]\n";

// Returns the paths of the faults in the config that consists of kNamesFiles and `more`.
std::vector<std::string> FaultsOf(ConfigFiles files, absl::string_view more = "") {
  const absl::Status status = Parse(ReadTestSnapshot(absl::StrCat(kNamesFiles, more), "/nowhere/f", files)).status();
  std::vector<std::string> paths;
  if (status.ok()) return paths;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ": ");
    paths.emplace_back(parts.at(1));
  }
  return paths;
}

TEST(ConfigTest, TheStartChecksEveryFile) {
  EXPECT_THAT(FaultsOf(ConfigFiles::kAll),
              ElementsAre("upstream.ca_file", "keys[0].file", "tls", "audit.key_file", "webhooks.paths_file",
                          "webhooks.tls_certificate_file", "token_issuers[0].jwks_file", "token_issuers[1].ca_file",
                          "callers[0].grants[0].organizations_file", "callers[1].grants[1].organizations_file"));
}

TEST(ConfigTest, AReloadChecksOnlyTheFilesOfTheReloadedPart) {
  EXPECT_THAT(
      FaultsOf(ConfigFiles::kReloaded),
      ElementsAre("keys[0].file", "webhooks.paths_file", "token_issuers[0].jwks_file", "token_issuers[1].ca_file",
                  "callers[0].grants[0].organizations_file", "callers[1].grants[1].organizations_file"));
}

TEST(ConfigTest, WithTlsReflectionIsServedOnlyIfTheConfigWantsIt) {
  const auto serves = [](absl::string_view more) {
    const std::string text = absl::StrCat(kNamesFiles, more);
    const absl::StatusOr<Config> config = Parse(ReadTestSnapshot(text, "/nowhere/f", ConfigFiles::kPolicy));
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() && (*config)->reflection();
  };
  EXPECT_FALSE(serves(""));
  EXPECT_TRUE(serves("reflection: true\n"));
  EXPECT_FALSE(serves("reflection: false\n"));
  EXPECT_FALSE((**ParseWithCallers(absl::StrCat(kMinimal, "reflection: false\n"), "f")).reflection());
}

TEST(ConfigTest, APolicyIsReadWithoutSecretsAndNamesItsUnreadOrganizations) {
  const absl::StatusOr<Config> config = Parse(ReadTestSnapshot(kNamesFiles, "/nowhere/f", ConfigFiles::kPolicy));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->unread().size(), 2);
  EXPECT_EQ(config->unread()[0].caller, 0);
  EXPECT_EQ(config->unread()[0].grant, 0);
  EXPECT_EQ(config->unread()[1].caller, 1);
  EXPECT_EQ(config->unread()[1].grant, 1);
  EXPECT_EQ(config->unread()[1].why, "it cannot be opened: No such file or directory");
  EXPECT_EQ((*config)->callers(1).grants(0).organizations_size(), 1);
}

TEST(ConfigTest, TheWholeTextIsCheckedWhicheverFilesAreRead) {
  const absl::string_view more = "operator_name: 1\nreload_interval: 0s\nevents: {max_subscribers: x}\nsurprise: 1\n";
  for (const ConfigFiles files : {ConfigFiles::kAll, ConfigFiles::kReloaded, ConfigFiles::kPolicy}) {
    std::vector<std::string> faults = FaultsOf(files, more);
    ASSERT_GE(faults.size(), 4);
    faults.erase(faults.begin(), faults.end() - 4);
    EXPECT_THAT(faults, ElementsAre("operator_name", "reload_interval", "events.max_subscribers", "surprise"));
  }
}

// Parses mutations of the example config. Each mutation must give either a config or a report. The places in the report
// must be inside the text, in order.
#ifdef STAMPGATE_SANITIZED
constexpr int kRounds = 500;
#else
constexpr int kRounds = 3'000;
#endif

TEST(ConfigTest, AMutatedConfigGivesAConfigOrAReportInOrder) {
  const std::string example = Contents(kExample);
  std::mt19937 random(20240607);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#~<= \n\t\\0a\x7F\xC3\x28";
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = example;
    for (size_t edits = 1 + below(6); edits > 0; --edits) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.insert(at, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(40));
          break;
        default:
          text.insert(at, example, below(example.size()), 1 + below(80));
      }
      if (text.empty()) text = "\n";
    }
    const absl::Status status = Parse(TestSnapshot(text, "f")).status();
    if (status.ok()) {
      ++accepted;
      continue;
    }
    const size_t lines = std::count(text.begin(), text.end(), '\n') + 1;
    std::pair<size_t, size_t> last(1, 1);
    for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, ':');
      ASSERT_GE(parts.size(), 4u) << line;
      const std::pair<size_t, size_t> place(std::stoul(parts[1]), std::stoul(parts[2]));
      EXPECT_GE(place, last) << status.message();
      EXPECT_LE(place.first, lines) << status.message();
      EXPECT_GE(place.second, 1u) << status.message();
      last = place;
    }
  }
  // Most of the example is comments, so a mutation often leaves it valid, but not always.
  EXPECT_GT(accepted, kRounds / 30);
  EXPECT_LT(accepted, 2900);
}

}  // namespace
}  // namespace stampgate
