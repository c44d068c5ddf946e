// Checks the options of every setting in config.proto, and the pages that repeat them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gateway/config/config.h"
#include "gateway/config/reloaded_part.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/config/settings/setting_rule.h"
#include "gateway/config/settings/yaml_reader.h"
#include "gateway/config/snapshot.h"
#include "gateway/config/testing.h"
#include "gateway/policy/testing.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {
namespace {

using config::v1::SettingRule;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::Reflection;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

struct Setting {
  const FieldDescriptor* field;
  std::string path;  // such as "callers[0].weight"
  std::string text;  // a config that gives this setting the value "%"

  const SettingRule& rule() const { return RuleOf(*field); }
  // Such as "callers[].weight".
  std::string name() const { return absl::StrReplaceAll(path, {{"[0]", "[]"}}); }
  std::string default_value() const {
    return rule().default_value().empty() ? rule().usual_default() : rule().default_value();
  }
};

void Collect(const Descriptor& type, const std::string& prefix, const std::string& text,
             std::vector<Setting>& settings) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const auto with = [&](const std::string& value) {
      return absl::StrReplaceAll(text, {{"%", absl::StrCat(field.name(), ": ", value)}});
    };
    const std::string path = absl::StrCat(prefix, field.name());
    const bool repeated = field.is_repeated();
    settings.push_back({&field, path, with(repeated ? "[%]" : "%")});
    if (!HoldsSettings(field)) continue;
    Collect(*field.message_type(), path + (repeated ? "[0]." : "."), with(repeated ? "[{%}]" : "{%}"), settings);
  }
}

// Every setting, also those that hold other settings.
const std::vector<Setting>& EverySetting() {
  static const auto& settings = *[] {
    auto* all = new std::vector<Setting>();
    Collect(*config::v1::Config::descriptor(), "", "%", *all);
    return all;
  }();
  return settings;
}

// Returns the faults at `setting` if it has this value.
std::vector<std::string> FaultsOf(const Setting& setting, const std::string& value) {
  const std::string text = absl::StrReplaceAll(setting.text, {{"%", value}});
  const absl::Status status = ParseConfig(TestSnapshot(text, "f", ConfigFiles::kPolicy)).status();
  std::vector<std::string> faults;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(": ", 2));
    if (parts.size() == 3 && parts[1] == setting.path) faults.emplace_back(parts[2]);
  }
  return faults;
}

bool IsDuration(const FieldDescriptor& field) { return field.message_type() != nullptr && !HoldsSettings(field); }

bool IsValue(const FieldDescriptor& field, const std::string& text) {
  const std::unique_ptr<Message> message(
      MessageFactory::generated_factory()->GetPrototype(field.containing_type())->New());
  return ReadYamlValue(text, field, message.get());
}

TEST(EverySettingTest, AnOptionIsOnlyWhereTheTypeOfTheSettingAllowsIt) {
  for (const Setting& setting : EverySetting()) {
    const FieldDescriptor& field = *setting.field;
    const SettingRule& rule = setting.rule();
    const bool is_number = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                           field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
                           field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    const bool is_single = !field.is_repeated();
    EXPECT_TRUE((is_single && (is_number || IsDuration(field))) || (rule.from().empty() && rule.to().empty()))
        << setting.path;
    EXPECT_TRUE((is_single && !HoldsSettings(field)) || setting.default_value().empty()) << setting.path;
    EXPECT_TRUE(rule.default_value().empty() || rule.usual_default().empty()) << setting.path;
    EXPECT_TRUE((is_single && HoldsSettings(field)) || !rule.off_by_default()) << setting.path;
    EXPECT_TRUE(!absl::StrContains(setting.path, "[0]") || !rule.reloaded()) << setting.path;
    for (const std::string& value : {rule.from(), rule.to(), setting.default_value()}) {
      EXPECT_TRUE(value.empty() || IsValue(field, value)) << setting.path << ": " << value;
    }
  }
}

TEST(EverySettingTest, EachDurationHasARangeAndEachBoolHasADefault) {
  for (const Setting& setting : EverySetting()) {
    if (IsDuration(*setting.field)) {
      EXPECT_NE(setting.rule().from(), "") << setting.path;
      EXPECT_NE(setting.rule().to(), "") << setting.path;
    }
    const bool is_bool = setting.field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
    EXPECT_TRUE(!is_bool || !setting.default_value().empty()) << setting.path;
  }
}

TEST(EverySettingTest, EachDefaultIsWithinItsRange) {
  int defaults = 0;
  for (const Setting& setting : EverySetting()) {
    if (setting.default_value().empty()) continue;
    EXPECT_THAT(FaultsOf(setting, setting.default_value()), IsEmpty()) << setting.path;
    ++defaults;
  }
  EXPECT_GT(defaults, 60);
}

// Returns the value that is just below or above `bound`. Returns "" if no such value can be written.
std::string Beside(const FieldDescriptor& field, const std::string& bound, int step) {
  absl::Duration duration;
  if (IsDuration(field)) {
    EXPECT_TRUE(absl::ParseDuration(bound, &duration));
    return absl::FormatDuration(duration + step * absl::Nanoseconds(1));
  }
  int64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(bound, &number));
  return number + step < 0 ? "" : absl::StrCat(number + step);
}

TEST(EverySettingTest, EachValueOutsideItsRangeIsRefused) {
  int bounds = 0;
  for (const Setting& setting : EverySetting()) {
    const SettingRule& rule = setting.rule();
    const std::string fault = rule.to().empty()     ? "must be at least " + rule.from()
                              : rule.from().empty() ? "must be at most " + rule.to()
                                                    : "must be from " + rule.from() + " to " + rule.to();
    for (const auto& [bound, step] : {std::pair(rule.from(), -1), std::pair(rule.to(), 1)}) {
      if (bound.empty()) continue;
      EXPECT_THAT(FaultsOf(setting, bound), Not(::testing::Contains(fault))) << setting.path;
      const std::string outside = Beside(*setting.field, bound, step);
      ++bounds;
      if (outside.empty()) continue;
      EXPECT_THAT(FaultsOf(setting, outside), ::testing::Contains(fault)) << setting.path;
    }
  }
  EXPECT_GT(bounds, 120);
}

// Adds every message inside `message`, and sets every setting that names a file to its own path.
void NameEveryFile(Message& message, const std::string& prefix) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool repeated = field.is_repeated();
    const std::string path = absl::StrCat(prefix, field.name(), repeated ? "[]" : "");
    if (HoldsSettings(field)) {
      NameEveryFile(repeated ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field),
                    path + ".");
    } else if (RuleOf(field).file() != config::v1::FILE_KIND_UNSPECIFIED && repeated) {
      reflection.AddString(&message, &field, path);
    } else if (RuleOf(field).file() != config::v1::FILE_KIND_UNSPECIFIED) {
      reflection.SetString(&message, &field, path);
    }
  }
}

// Returns a config in which each setting that names a file has its own path as its value.
config::v1::Config WithEveryFile() {
  config::v1::Config config;
  NameEveryFile(config, "");
  return config;
}

bool IsReloaded(const Setting& setting) {
  for (const std::string& reloaded : ReloadedSettings()) {
    if (setting.path == reloaded || absl::StartsWith(setting.path, reloaded + ".") ||
        absl::StartsWith(setting.path, reloaded + "[")) {
      return true;
    }
  }
  return false;
}

// Returns the names of the settings that name files for which `wanted` is true, with "[]" after each list.
template <typename Wanted>
std::vector<std::string> FileSettings(Wanted wanted) {
  std::vector<std::string> names;
  for (const Setting& setting : EverySetting()) {
    if (setting.rule().file() == config::v1::FILE_KIND_UNSPECIFIED || !wanted(setting)) continue;
    names.push_back(setting.name() + (setting.field->is_repeated() ? "[]" : ""));
  }
  return names;
}

std::vector<std::string> PathsOf(const std::vector<NamedFile>& files) {
  std::vector<std::string> paths;
  for (const NamedFile& file : files) paths.push_back(file.path);
  return paths;
}

TEST(EverySettingTest, EachSettingThatNamesAFileHasTheOption) {
  for (const Setting& setting : EverySetting()) {
    const absl::string_view name = setting.field->name();
    const bool is_text = setting.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const bool names_file =
        is_text && (absl::EndsWith(name, "file") || name == "folder" || setting.path == "operations");
    EXPECT_EQ(setting.rule().file() != config::v1::FILE_KIND_UNSPECIFIED, names_file) << setting.path;
  }
}

TEST(EverySettingTest, EachNamedFileStartsAtTheFolderOfTheConfig) {
  config::v1::Config config = WithEveryFile();
  const std::vector<std::string> every = FileSettings([](const Setting&) { return true; });
  EXPECT_GT(every.size(), 20u);
  const std::string before = config.DebugString();
  ResolveFiles("/etc/f", config);
  const std::string after = config.DebugString();
  for (const std::string& name : every) {
    EXPECT_THAT(before, HasSubstr(absl::StrCat("\"", name, "\"")));
    EXPECT_THAT(after, HasSubstr(absl::StrCat("\"/etc/", name, "\"")));
  }
}

TEST(EverySettingTest, TheStartReadsEachNamedFileAndAReloadReadsThoseOfTheReloadedPart) {
  const auto is_read = [](const Setting& setting) { return setting.rule().file() != config::v1::FILE_KIND_OTHER; };
  EXPECT_THAT(PathsOf(FilesToRead(WithEveryFile(), ConfigFiles::kAll)),
              UnorderedElementsAreArray(FileSettings(is_read)));
  EXPECT_THAT(PathsOf(FilesToRead(WithEveryFile(), ConfigFiles::kReloaded)),
              UnorderedElementsAreArray(
                  FileSettings([&](const Setting& setting) { return is_read(setting) && IsReloaded(setting); })));
}

TEST(EverySettingTest, EachFileOfTheReloadedPartIsWatched) {
  const std::string folder = NewTestFolder();
  for (const Setting& setting : EverySetting()) {
    if (setting.rule().file() == config::v1::FILE_KIND_UNSPECIFIED || !IsReloaded(setting)) continue;
    PutTestFile(folder + "/f", absl::StrReplaceAll(setting.text, {{"%", "file"}}));
    PutTestFile(folder + "/file", "first");
    ConfigSource source(folder + "/f");
    const absl::StatusOr<ConfigSource::Reading> start = source.Read(ConfigFiles::kAll);
    ASSERT_TRUE(start.ok()) << start.status();
    PutTestFile(folder + "/file", "changed");
    const absl::StatusOr<ConfigSource::Reading> changed = source.Read(ConfigFiles::kReloaded);
    ASSERT_TRUE(changed.ok()) << changed.status();
    ASSERT_EQ(changed->held.size(), 1u) << setting.path;
    EXPECT_EQ(changed->held[0].path, folder + "/file") << setting.path;
  }
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(EverySettingTest, TheExampleListsTheSettingsThatAReloadApplies) {
  const std::string text = absl::StrReplaceAll(Contents("deploy/example.yaml"), {{"\n# ", " "}});
  std::smatch list;
  ASSERT_TRUE(std::regex_search(text, list, std::regex("It applies changes of (.*?) while it runs\\.")));
  std::vector<std::string> listed;
  const std::string names = list[1];
  const std::regex name("`([^`]*)`");
  for (std::sregex_iterator i(names.begin(), names.end(), name); i != std::sregex_iterator(); ++i) {
    listed.push_back((*i)[1]);
  }
  EXPECT_THAT(listed, ElementsAreArray(ReloadedSettings()));
}

// A setting in deploy/example.yaml, perhaps in a comment.
struct Example {
  std::string value;    // empty if the value is not on the same line
  std::string comment;  // the last comment before the setting
};

// Reads the example: a map from the names of settings. Lines that are settings without their "# " count as settings.
std::map<std::string, Example> ReadExample() {
  struct Open {
    int indent;
    std::string prefix;
    const Descriptor* type;
  };
  std::map<std::string, Example> examples;
  std::vector<Open> open = {{-1, "", config::v1::Config::descriptor()}};
  std::string comment;
  bool in_comment = false;
  const std::regex setting_line("( *)(?:# )?( *)(- )?([a-z_0-9]+):(?: (.*))?");
  for (const absl::string_view line : absl::StrSplit(Contents("deploy/example.yaml"), '\n')) {
    std::smatch parts;
    const std::string text(line);
    if (std::regex_match(text, parts, setting_line)) {
      const int indent = static_cast<int>(parts.length(1) + parts.length(2) + parts.length(3));
      std::vector<Open> outer = open;
      while (outer.back().indent >= indent) outer.pop_back();
      const FieldDescriptor* field = outer.back().type->FindFieldByName(parts[4].str());
      if (field != nullptr) {
        open = std::move(outer);
        const std::string name = absl::StrCat(open.back().prefix, field->name());
        examples.try_emplace(name, Example{parts[5].str(), comment});
        if (HoldsSettings(*field)) {
          open.push_back({indent, absl::StrCat(name, field->is_repeated() ? "[]." : "."), field->message_type()});
        }
        in_comment = false;
        continue;
      }
    }
    if (!in_comment) comment.clear();
    in_comment = true;
    absl::StrAppend(&comment,
                    absl::StripLeadingAsciiWhitespace(absl::StripPrefix(absl::StripLeadingAsciiWhitespace(line), "#")),
                    " ");
  }
  return examples;
}

TEST(EverySettingTest, TheExampleShowsEachDefault) {
  const std::map<std::string, Example> examples = ReadExample();
  for (const Setting& setting : EverySetting()) {
    // The example shows a setting that is false by default as it would be given.
    if (setting.default_value().empty() || setting.default_value() == "false") continue;
    const auto found = examples.find(setting.name());
    ASSERT_NE(found, examples.end()) << setting.path;
    EXPECT_EQ(found->second.value, setting.default_value()) << setting.path;
  }
}

TEST(EverySettingTest, TheExampleStatesEachRange) {
  const std::map<std::string, Example> examples = ReadExample();
  for (const Setting& setting : EverySetting()) {
    const auto found = examples.find(setting.name());
    if (found == examples.end()) continue;  // an earlier name of another setting
    for (const std::string& bound : {setting.rule().from(), setting.rule().to()}) {
      const std::regex word("\\b" + bound + "\\b");
      EXPECT_TRUE(bound.empty() || std::regex_search(found->second.comment, word)) << setting.path << ": " << bound;
    }
  }
}

// Returns the default of the only setting with a default whose path is `name` or ends with it.
std::string DefaultOf(const std::string& name) {
  std::vector<std::string> defaults;
  for (const Setting& setting : EverySetting()) {
    if (setting.default_value().empty()) continue;
    if (setting.path != name && !absl::EndsWith(setting.path, "." + name)) continue;
    defaults.push_back(setting.default_value());
  }
  EXPECT_EQ(defaults.size(), 1u) << name;
  return defaults.empty() ? "" : defaults[0];
}

// Returns a default as pages write it, such as "8 MiB", in the form of the config.
std::string InConfigForm(const std::string& number, const std::string& unit) {
  static const auto& kBytes = *new std::map<std::string, int64_t>{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  const std::string digits = absl::StrReplaceAll(number, {{",", ""}});
  const auto bytes = kBytes.find(unit);
  int64_t count = 0;
  if (bytes != kBytes.end() && absl::SimpleAtoi(digits, &count)) return absl::StrCat(count * bytes->second);
  return digits + (unit == "minutes" ? "m" : unit);
}

TEST(EverySettingTest, ThePageOfOperatorsStatesTheDefaults) {
  const std::string page = Contents("deploy/README.md");
  const std::regex statement("`([a-z_.]+)`(?: each)?, ([0-9,]+)(?: (KiB|MiB|GiB|ms|s|minutes))?(?:/s)? by default");
  int statements = 0;
  for (std::sregex_iterator i(page.begin(), page.end(), statement); i != std::sregex_iterator(); ++i, ++statements) {
    EXPECT_EQ(InConfigForm((*i)[2], (*i)[3]), DefaultOf((*i)[1])) << i->str();
  }
  EXPECT_GT(statements, 20);
}

TEST(EverySettingTest, ThePageOfOperatorsListsEachFileThatTheGatewayOrALibraryReads) {
  const std::string page = Contents("deploy/README.md");
  const std::set<std::string> written = {"store.sqlite.folder", "events.file", "audit.file"};
  for (const Setting& setting : EverySetting()) {
    if (setting.rule().file() == config::v1::FILE_KIND_UNSPECIFIED || written.contains(setting.path)) continue;
    EXPECT_THAT(page, HasSubstr(absl::StrCat("`", setting.name(), "`")));
  }
}

}  // namespace
}  // namespace stampgate
