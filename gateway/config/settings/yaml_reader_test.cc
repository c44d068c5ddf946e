#include "gateway/config/settings/yaml_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/wrappers.pb.h"
#include "stampgate/config/v1/config.pb.h"
#include "stampgate/v1/options.pb.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptorProto;
using google::protobuf::UninterpretedOption;

// Returns the faults of `text`, one in each line, as "line:column path: message".
template <typename M = config::v1::Config>
std::string FaultsOf(absl::string_view text, M* out = nullptr) {
  M unused;
  Locations locations;
  return absl::StrJoin(
      ReadYaml(text, out == nullptr ? &unused : out, &locations), "\n", [](std::string* line, const Fault& fault) {
        absl::StrAppend(line, fault.location.line, ":", fault.location.column, " ", fault.path, ": ", fault.message);
      });
}

TEST(ConfigReaderTest, TextFillsEveryKindOfField) {
  config::v1::Config config;
  EXPECT_EQ(FaultsOf("operator_name: \"Ser\\u0076ice\"  # a comment\n"
                     "upstream:\n"
                     "  base_url: https://host\n"
                     "  connect_timeout: 1m2.5s\n"
                     "  max_connections: 4294967295\n"
                     "  max_response_bytes: 18446744073709551615\n"
                     "  forward_traceparent: true\n"
                     "keys:\n"
                     "  - {name: a, organizations: [x, 'y', '0012']}\n"
                     "  - name: b\n",
                     &config),
            "");
  EXPECT_EQ(config.operator_name(), "Service");
  EXPECT_EQ(config.upstream().base_url(), "https://host");
  EXPECT_EQ(config.upstream().connect_timeout().seconds(), 62);
  EXPECT_EQ(config.upstream().connect_timeout().nanos(), 500'000'000);
  EXPECT_EQ(config.upstream().max_connections(), 4294967295u);
  EXPECT_EQ(config.upstream().max_response_bytes(), 18446744073709551615u);
  EXPECT_TRUE(config.upstream().forward_traceparent());
  ASSERT_EQ(config.keys_size(), 2);
  EXPECT_EQ(absl::StrJoin(config.keys(0).organizations(), ","), "x,y,0012");
  EXPECT_EQ(config.keys(1).name(), "b");
}

TEST(ConfigReaderTest, SignedNumbersReachTheirLimits) {
  FieldDescriptorProto field;
  EXPECT_EQ(FaultsOf("number: -2147483648", &field), "");
  EXPECT_EQ(field.number(), -2147483648);
  UninterpretedOption option;
  EXPECT_EQ(FaultsOf("negative_int_value: -9223372036854775808", &option), "");
  EXPECT_EQ(option.negative_int_value(), INT64_MIN);
}

TEST(ConfigReaderTest, EnumsAreNamedWithoutTheirPrefix) {
  FieldDescriptorProto field;
  EXPECT_EQ(FaultsOf("label: repeated\ntype: sint64", &field), "");
  EXPECT_EQ(field.label(), FieldDescriptorProto::LABEL_REPEATED);
  EXPECT_EQ(field.type(), FieldDescriptorProto::TYPE_SINT64);
  v1::FieldRule rule;
  EXPECT_EQ(FaultsOf("text_form: json_members", &rule), "");
  EXPECT_EQ(rule.text_form(), v1::TEXT_FORM_JSON_MEMBERS);
  EXPECT_EQ(FaultsOf("text_form: unspecified", &rule), "1:12 text_form: must be one of json, json_members");
  EXPECT_EQ(FaultsOf("text_form: [json]", &rule), "1:12 text_form: must be one of json, json_members");
}

TEST(ConfigReaderTest, FieldsThatTheTextDoesNotNameKeepTheirValues) {
  config::v1::Config config;
  config.set_listen_address("here");
  config.mutable_upstream()->set_max_connections(3);
  config.mutable_upstream()->mutable_max_idle()->set_seconds(9);
  EXPECT_EQ(FaultsOf("upstream: {max_idle: 500ms}", &config), "");
  EXPECT_EQ(config.listen_address(), "here");
  EXPECT_EQ(config.upstream().max_connections(), 3u);
  EXPECT_EQ(config.upstream().max_idle().seconds(), 0);
  EXPECT_EQ(config.upstream().max_idle().nanos(), 500'000'000);
}

TEST(ConfigReaderTest, AFaultyFieldKeepsItsValueAndAFaultyElementItsIndex) {
  config::v1::Config config;
  config.mutable_upstream()->set_max_connections(3);
  EXPECT_EQ(FaultsOf("upstream: {max_connections: many}\n"
                     "keys: [{organizations: [[], b]}, 7, {name: c}]\n",
                     &config),
            "1:29 upstream.max_connections: must be a whole number from 0 to 4294967295\n"
            "2:25 keys[0].organizations[0]: must be text\n"
            "2:34 keys[1]: must be a mapping");
  EXPECT_EQ(config.upstream().max_connections(), 3u);
  ASSERT_EQ(config.keys_size(), 3);
  EXPECT_EQ(config.keys(0).organizations(1), "b");
  EXPECT_EQ(config.keys(2).name(), "c");
}

TEST(ConfigReaderTest, AnEmptyTextIsAnEmptyMapping) {
  for (const char* text : {"", "\n", "# nothing\n", "{}", "---\n...\n# end\n"}) {
    config::v1::Config config;
    const std::string faults = FaultsOf(text, &config);
    EXPECT_TRUE(faults.empty() || absl::StrContains(faults, "has no value")) << text << faults;
    EXPECT_EQ(config.ByteSizeLong(), 0u) << text;
  }
}

TEST(ConfigReaderTest, TheLocationOfEachValueIsReturned) {
  config::v1::Config config;
  Locations locations;
  ASSERT_TRUE(ReadYaml("upstream:\n"
                       "  base_url: x\n"
                       "keys:\n"
                       "  - name: a\n"
                       "    organizations:\n"
                       "      - first\n"
                       "      - second\n",
                       &config, &locations)
                  .empty());
  std::string found;
  for (const auto& [path, location] : locations)
    absl::StrAppend(&found, path, "=", location.line, ":", location.column, " ");
  EXPECT_EQ(found,
            "keys=4:3 keys[0]=4:5 keys[0].name=4:11 keys[0].organizations=6:7 keys[0].organizations[0]=6:9 "
            "keys[0].organizations[1]=7:9 upstream=2:3 upstream.base_url=2:13 ");
}

struct Refusal {
  const char* name;
  std::string text;
  std::string faults;
};

class RefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, ReportsTheFaultAtItsPlace) { EXPECT_EQ(FaultsOf(GetParam().text), GetParam().faults); }

INSTANTIATE_TEST_SUITE_P(
    ConfigReaderTest, RefusalTest,
    testing::ValuesIn(std::vector<Refusal>{
        {"unknown_key", "upstream:\n  zzz: 1\n", "2:3 upstream.zzz: unknown key"},
        {"misspelt_key", "upstream:\n  baseUrl: x\n", "2:3 upstream.baseUrl: unknown key; did you mean base_url?"},
        {"merge_key", "upstream: {<<: {forward_traceparent: true}}\n", "1:12 upstream.<<: unknown key"},
        {"repeated_key", "replica: {}\ncalls: {}\nreplica: {}\n", "3:1 replica: is given twice, first in line 1"},
        {"key_without_text", "{[a]: b}\n", "1:2 : has a key that is not text"},
        {"null_key", "upstream: {~: b}\n", "1:12 upstream: has no value"},
        {"no_value", "upstream:\n  base_url:\n  forward_traceparent: true\n", "2:3 upstream.base_url: has no value"},
        {"null_value", "operator_name: ~\n", "1:1 operator_name: has no value"},
        {"null_element", "keys:\n  - name: a\n    organizations: [~]\n", "3:21 keys[0].organizations[0]: has no value"},
        {"bare_number_in_a_list", "keys:\n  - organizations: [a, 0012]\n",
         "2:24 keys[0].organizations[1]: is a number where a name belongs: a name that consists of digits needs "
         "quotes"},
        {"root_is_a_list", "- a\n", "1:1 : must be a mapping"},
        {"root_is_text", "hello\n", "1:1 : must be a mapping"},
        {"message_is_text", "upstream: x\n", "1:11 upstream: must be a mapping"},
        {"text_is_a_list", "operator_name: [a]\n", "1:16 operator_name: must be text"},
        {"list_is_text", "keys: a\n", "1:7 keys: must be a list"},
        {"list_is_a_mapping", "keys: {name: a}\n", "1:7 keys: must be a list"},
        {"bool_is_yes", "upstream: {forward_traceparent: yes}\n",
         "1:33 upstream.forward_traceparent: must be true or false"},
        {"bool_is_quoted", "upstream: {forward_traceparent: 'true'}\n",
         "1:33 upstream.forward_traceparent: must be true or false"},
        {"number_is_negative", "replica: {count: -1}\n",
         "1:18 replica.count: must be a whole number from 0 to 4294967295"},
        {"number_is_too_large", "replica: {count: 4294967296}\n",
         "1:18 replica.count: must be a whole number from 0 to 4294967295"},
        {"number_has_a_fraction", "replica: {count: 1.0}\n",
         "1:18 replica.count: must be a whole number from 0 to 4294967295"},
        {"number_looks_octal", "replica: {count: 010}\n",
         "1:18 replica.count: must be a whole number from 0 to 4294967295"},
        {"number_is_quoted", "replica: {count: '1'}\n",
         "1:18 replica.count: must be a whole number from 0 to 4294967295"},
        {"duration_without_unit", "upstream: {max_idle: 5}\n",
         "1:22 upstream.max_idle: must be a duration with its unit, such as 5s or 500ms"},
        {"duration_is_endless", "upstream: {max_idle: inf}\n",
         "1:22 upstream.max_idle: must be a duration with its unit, such as 5s or 500ms"},
        {"anchor", "upstream: &a {}\n", "1:11 upstream: has an anchor, which is refused"},
        {"alias", "operator_name: &a x\nlisten_address: *a\n",
         "1:16 operator_name: has an anchor, which is refused\n2:17 listen_address: is an alias, which is refused"},
        {"tag", "operator_name: !!str x\n", "1:16 operator_name: has a tag, which is refused"},
        {"second_document", "replica: {}\n---\nreplica: {}\n", "2:1 : has a second document"},
        {"not_yaml", "replica: {}\nupstream: {\n", "3:1 : is not YAML: end of map flow not found"},
        {"tab_indents", "upstream:\n\tforward_traceparent: true\n", "2:21 : is not YAML: illegal map value"},
        {"not_utf8", "# fine\noperator_name: \xC3\x28\n", "2:1 : is not UTF-8"},
        {"utf16", std::string("\xFF\xFE{\0}\0", 6), "1:1 : is not UTF-8\n1:4 : has a control character"},
        {"end_of_text_character", "replica: {}\n \x04\nunknown: 1\n", "2:2 : has a control character"},
        {"escaped_control_character", "operator_name: \"a\\0b\"\n", "1:16 operator_name: has a control character"},
        {"too_large", std::string(kMaxYamlBytes + 1, '#'), "1:1 : is larger than 1048576 bytes"},
        {"deep_nesting", "keys: " + std::string(100'000, '['), "1:1 : is nested too deeply"},
    }),
    [](const testing::TestParamInfo<Refusal>& info) { return info.param.name; });

TEST(ConfigReaderTest, FieldsOfUnsupportedTypesAreRefused) {
  EXPECT_EQ(FaultsOf<google::protobuf::FloatValue>("value: 1"),
            "1:8 value: has a type that the YAML reader does not support");
}

TEST(ConfigReaderTest, ADecimalNumberHasDigitsAndAPoint) {
  for (const char* good : {"0", "1", "0.25", "010.5", ".5"}) {
    EXPECT_EQ(FaultsOf<UninterpretedOption>(absl::StrCat("double_value: ", good)), "") << good;
  }
  for (const char* bad : {"x", "-1", "1e3", "nan", "inf", "0x1", "1,5", "1.2.3", "'0.5'"}) {
    EXPECT_EQ(FaultsOf<UninterpretedOption>(absl::StrCat("double_value: ", bad)),
              "1:15 double_value: must be a decimal number, such as 0.25")
        << bad;
  }
}

TEST(ConfigReaderTest, EveryFaultIsReportedInTheOrderOfTheText) {
  EXPECT_EQ(FaultsOf("listen_adress: x\n"
                     "upstream:\n"
                     "  max_connections: lots\n"
                     "  forward_traceparent: 1\n"
                     "keys:\n"
                     "  - nam: a\n"
                     "  - name: {}\n"),
            "1:1 listen_adress: unknown key; did you mean listen_address?\n"
            "3:20 upstream.max_connections: must be a whole number from 0 to 4294967295\n"
            "4:24 upstream.forward_traceparent: must be true or false\n"
            "6:5 keys[0].nam: unknown key; did you mean name?\n"
            "7:11 keys[1].name: must be text");
}

TEST(ConfigReaderTest, UnknownKeysAreTruncatedAndQuotedWithoutControlCharacters) {
  EXPECT_EQ(FaultsOf("\"" + std::string(63, 'k') + "\u00E9tail\": 1"),
            "1:1 " + std::string(63, 'k') + "...: unknown key");
  EXPECT_EQ(FaultsOf("\"a\\x1B[31m\": 1"), "1:1 a?[31m: unknown key");
}

TEST(ConfigReaderTest, NestedAliasesAreRefusedAtTheirFirstLine) {
  std::string text = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    const std::string last = absl::StrCat("*", std::string(1, c - 1));
    absl::StrAppend(&text, std::string(1, c), ": &", std::string(1, c), " [", last, ", ", last, "]\n");
  }
  EXPECT_TRUE(absl::StartsWith(FaultsOf(text), "1:1 a: unknown key\n2:1 b: unknown key"));
}

TEST(ConfigReaderTest, AValueIsReadLikeAValueOfAConfig) {
  const google::protobuf::Descriptor& type = *config::v1::Config::descriptor();
  config::v1::Config config;
  EXPECT_TRUE(ReadYamlValue("1m30s", *type.FindFieldByName("reload_interval"), &config));
  EXPECT_EQ(config.reload_interval().seconds(), 90);
  EXPECT_TRUE(ReadYamlValue("true", *type.FindFieldByName("reflection"), &config));
  EXPECT_TRUE(config.reflection());
  EXPECT_TRUE(ReadYamlValue("127.0.0.1:1", *type.FindFieldByName("listen_address"), &config));
  EXPECT_EQ(config.listen_address(), "127.0.0.1:1");
  EXPECT_FALSE(ReadYamlValue("90", *type.FindFieldByName("reload_interval"), &config));
  EXPECT_FALSE(ReadYamlValue("yes", *type.FindFieldByName("reflection"), &config));
  EXPECT_TRUE(config.reflection()) << "a text that is no value changes nothing";
}

}  // namespace
}  // namespace stampgate
