// Verifies with random values that translation loses nothing. A message that is rendered and parsed again is unchanged.
// The parsed message of a response, together with its `unrecognized` map, contains every value of the response.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json/writer.h"
#include "translate/message/reader.h"
#include "translate/message/writer.h"
#include "translate/testing/json_dom.h"
#include "translate/testing/messages.h"
#include "translate/testing/operations.h"
#include "translate/testing/parsed.h"
#include "translate/testing/status.h"
#include "translate/testing/testing.pb.h"
#include "translate/wire/serialize.h"

namespace stampgate {
namespace {

using ::google::protobuf::Message;
using ::stampgate::testing::Below;
using ::stampgate::testing::Json;
using ::stampgate::testing::OneIn;
using ::stampgate::testing::Operations;
using ::stampgate::testing::Random;
using ::stampgate::testing::RandomText;
using ::stampgate::testing::StatusIs;

const MessagePlan& EverythingPlan() {
  static auto* const plans = new MessagePlans("Service");
  return **plans->Compile(testing::Everything::descriptor());
}

std::string Write(const Message& message, const MessagePlan& plan) {
  std::string members;
  AppendJsonMembers(*testing::Parsed(message, plan), /*left_out=*/nullptr, /*names_as_of=*/"", members);
  return absl::StrCat("{", members, "}");
}

#ifdef STAMPGATE_SANITIZED
constexpr int kPercent = 10;
#else
constexpr int kPercent = 100;
#endif

// Tests that translate messages to JSON and back.

void ExpectSurvivesItsJson(const Message& prototype, const MessagePlan& plan, Random& random, int depth = 4) {
  std::unique_ptr<Message> message(prototype.New());
  testing::FillRandomly(*message, plan, random, depth);
  std::string json = Write(*message, plan);
  const absl::StatusOr<std::string> bytes = ReadJsonMessage(json, plan);
  ASSERT_THAT(bytes.status(), StatusIs(absl::StatusCode::kOk)) << json;
  testing::OrderMaps(*message, plan);
  ASSERT_EQ(*bytes, SerializeDeterministically(*message)) << json;
  std::unique_ptr<Message> read(prototype.New());
  ASSERT_TRUE(read->ParseFromString(*bytes));
  ASSERT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*message, *read)) << json << "\n"
                                                                                   << message->DebugString() << "\n"
                                                                                   << read->DebugString();
}

TEST(MessageReaderPropertyTest, AMessageIsUnchangedAfterItIsRenderedAndParsed) {
  Random random(1);
  for (const Operation& operation : Operations().operations()) {
    // Skips general operations, because their messages can differ after parsing: a request's body does not contain the
    // path, and parsing a response always sets the field of form kJsonMembers.
    if (operation.general) continue;
    SCOPED_TRACE(operation.full_name);
    for (int i = 0; i < 3 * kPercent && !HasFatalFailure(); ++i) {
      ExpectSurvivesItsJson(*testing::NewRequest(operation), *operation.request, random);
      ExpectSurvivesItsJson(*testing::NewResponse(operation), *operation.response, random);
    }
  }
  for (int i = 0; i < 50 * kPercent && !HasFatalFailure(); ++i) {
    ExpectSurvivesItsJson(testing::Everything::default_instance(), EverythingPlan(), random, /*depth=*/2);
  }
}

// Tests that translate the JSON of responses to messages and back.

bool IsList(const FieldPlan& field) { return field.field->is_repeated() && field.form != JsonForm::kStringMap; }

// Returns a JSON object that upstream could send: it has all members of the plan, with lists of up to two elements.
Json FullObject(const MessagePlan& plan, Random& random, int depth);

Json FullValue(const FieldPlan& field, Random& random, int depth) {
  switch (field.form) {
    case JsonForm::kString:
      return Json::String(RandomText(random));
    case JsonForm::kBytes:
      return Json::String(absl::Base64Escape(testing::RandomBytes(random)));
    case JsonForm::kStringMap: {
      Json map = Json::Object();
      for (size_t n = Below(random, 3); n > 0; --n) map.members[RandomText(random)] = Json::String(RandomText(random));
      return map;
    }
    case JsonForm::kBool:
      return Json::Bool(OneIn(random, 2));
    case JsonForm::kUint64:
      return Json::String(absl::StrCat(testing::RandomInteger(random, 64)));
    case JsonForm::kInt64:
      return Json::String(absl::StrCat(static_cast<int64_t>(testing::RandomInteger(random, 64))));
    case JsonForm::kUint32:
      return Json::Number(absl::StrCat(testing::RandomInteger(random, 32)));
    case JsonForm::kInt32:
      return Json::Number(absl::StrCat(static_cast<int32_t>(testing::RandomInteger(random, 32))));
    case JsonForm::kEnum: {
      std::vector<std::string> names;
      for (const auto& [name, number] : field.values->numbers) names.push_back(name);
      std::sort(names.begin(), names.end());
      return Json::String(names[Below(random, names.size())]);
    }
    case JsonForm::kTimestamp: {
      Json time = Json::Object();
      time.members["seconds"] = Json::String(absl::StrCat(Below(random, 4000000000)));
      time.members["nanos"] = Json::String(absl::StrCat(Below(random, 1000000000)));
      return time;
    }
    case JsonForm::kMessage:
      return FullObject(*field.message, random, depth - 1);
    case JsonForm::kJsonText:
    case JsonForm::kJsonMembers:
      return testing::RandomJson(random, 3);
    case JsonForm::kOpaque:
      break;
  }
  return Json::Null();
}

Json FullObject(const MessagePlan& plan, Random& random, int depth) {
  Json object = Json::Object();
  const size_t choice = random();
  for (const FieldPlan& field : plan.fields) {
    if ((field.form == JsonForm::kMessage && depth == 0) || field.form == JsonForm::kOpaque) continue;
    // A reader sets each name of a member that upstream has renamed, see translate/successors_test.cc.
    if (field.replaced != nullptr || !field.successors.empty()) continue;
    if (const auto* oneof = field.field->real_containing_oneof()) {
      if (oneof->field(static_cast<int>(choice % oneof->field_count())) != field.field) continue;
    }
    if (!IsList(field)) {
      object.members[field.json_name] = FullValue(field, random, depth);
      continue;
    }
    Json& array = object.members[field.json_name] = Json::Array();
    for (size_t n = Below(random, 3); n > 0; --n) array.elements.push_back(FullValue(field, random, depth));
  }
  return object;
}

void ForEachValue(Json& json, const std::function<void(Json&)>& visit) {
  visit(json);
  for (auto& [name, member] : json.members) ForEachValue(member, visit);
  for (Json& element : json.elements) ForEachValue(element, visit);
}

Json DeepValue(Random& random) {
  Json value = testing::RandomJson(random, 1);
  for (int depth = 0; depth < 30; ++depth) {
    Json outer = OneIn(random, 2) ? Json::Object() : Json::Array();
    if (outer.kind == Json::Kind::kObject) {
      outer.members["deep"] = std::move(value);
    } else {
      outer.elements.push_back(std::move(value));
    }
    value = std::move(outer);
  }
  return value;
}

// Changes `value` at random, as a different version of upstream might send it.
void Mutate(Json& value, Random& random) {
  static constexpr absl::string_view kNumbers[] = {
      "0",   "-0",   "1.0", "1e2", "-7", "4294967295", "4294967296", "18446744073709551615", "18446744073709551616",
      "0.5", "1e400"};
  static constexpr absl::string_view kTexts[] = {"",
                                                 "0",
                                                 "-0",
                                                 "007",
                                                 "+1",
                                                 " 1",
                                                 "1.0",
                                                 "18446744073709551616",
                                                 "ACTIVITY_STATUS_NEW",
                                                 "EFFECT_UNSPECIFIED",
                                                 "eip155:1",
                                                 "2025-08-18T06:53:20.123456789Z",
                                                 "infinite-future",
                                                 "-_8=",
                                                 "+/8",
                                                 "Zh==",
                                                 "true"};
  switch (Below(random, 10)) {
    case 0:
      value = Json::Null();
      break;
    case 1:
      value = Json::Object();
      break;
    case 2:
      value = Json::Array();
      break;
    case 3:
      value = Json::Number(std::string(kNumbers[Below(random, std::size(kNumbers))]));
      break;
    case 4:
      value = Json::String(std::string(kTexts[Below(random, std::size(kTexts))]));
      break;
    case 5:
      value = Json::Bool(OneIn(random, 2));
      break;
    case 6:
      value = testing::RandomJson(random, 3);
      break;
    case 7:  // adds a member or element
      if (value.kind == Json::Kind::kArray) {
        value.elements.insert(value.elements.begin() + Below(random, value.elements.size() + 1),
                              testing::RandomJson(random, 2));
      } else if (value.kind == Json::Kind::kObject) {
        // Some names get an escaped half of a surrogate pair.
        std::string name = RandomText(random);
        if (OneIn(random, 8)) absl::StrAppend(&name, OneIn(random, 2) ? "\xed\xa0\x80" : "\xed\xbf\xbf", "z");
        value.members[name] = testing::RandomJson(random, 2);
      }
      break;
    case 8:  // replaces the value by the same value of another type
      if (value.kind == Json::Kind::kNumber) {
        value.kind = Json::Kind::kString;
      } else if (value.kind == Json::Kind::kString && value.unicode &&
                 value.text.find_first_not_of("0123456789") == std::string::npos && !value.text.empty() &&
                 (value.text == "0" || value.text[0] != '0')) {
        value.kind = Json::Kind::kNumber;
      } else {
        Json array = Json::Array();
        array.elements.push_back(std::move(value));
        value = std::move(array);
      }
      break;
    default:  // removes a member or element
      if (!value.elements.empty()) value.elements.erase(value.elements.begin() + Below(random, value.elements.size()));
      if (!value.members.empty())
        value.members.erase(std::next(value.members.begin(), Below(random, value.members.size())));
      break;
  }
}

// Adds members of oneofs to randomly chosen objects. An object that already had a member of such a oneof then has two.
void AddSiblings(Json& root, Random& random) {
  ForEachValue(root, [&](Json& value) {
    if (value.kind != Json::Kind::kObject || !OneIn(random, 40)) return;
    value.members["oauthIntent"] = testing::RandomJson(random, 2);
    value.members["verifyOtpResult"] = Json::Object();
    value.members["choiceText"] = Json::String("");
  });
}

// Appends the text of `json` to `out`, with random white space, random escapes, and a random order of members.
void AppendVaried(const Json& json, Random& random, std::string& out) {
  auto space = [&] {
    if (OneIn(random, 12)) absl::StrAppend(&out, OneIn(random, 2) ? " " : "\r\n\t");
  };
  auto string = [&](const std::string& text) {
    std::string plain;
    AppendJsonString(text, plain);
    for (size_t i = 0; i < plain.size(); ++i) {
      const char c = plain[i];
      if (!IsUnicode(absl::string_view(plain).substr(i, 2))) {
        const auto bits = [&](size_t k) { return static_cast<unsigned char>(plain[i + k]) & 0x3f; };
        absl::StrAppend(&out, "\\u", absl::Hex(0xd000 | bits(1) << 6 | bits(2)));
        i += 2;
      } else if (c >= 'a' && c <= 'z' && (i == 0 || plain[i - 1] != '\\') && plain.find('\\') == std::string::npos &&
                 OneIn(random, 30)) {
        absl::StrAppend(&out, "\\u00", absl::Hex(c));
      } else {
        out.push_back(c);
      }
    }
  };
  space();
  if (json.kind == Json::Kind::kObject) {
    std::vector<const std::pair<const std::string, Json>*> members;
    for (const auto& member : json.members) members.push_back(&member);
    std::shuffle(members.begin(), members.end(), random);
    out += "{";
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ",";
      space();
      string(members[i]->first);
      space();
      out += ":";
      AppendVaried(members[i]->second, random, out);
    }
    space();
    out += "}";
  } else if (json.kind == Json::Kind::kArray) {
    out += "[";
    for (size_t i = 0; i < json.elements.size(); ++i) {
      if (i > 0) out += ",";
      AppendVaried(json.elements[i], random, out);
    }
    space();
    out += "]";
  } else if (json.kind == Json::Kind::kString && json.unicode) {
    string(json.text);
  } else {
    out += ToText(json);
  }
  space();
}

// Returns true if `value` means the same as an absent member. For a list, null and [] mean this; for a map, null and
// {}; for any other field except JSON text, null does. For a field without presence, zero in the writer's spelling
// means an absent member too.
bool IsAbsent(const Json& value, const FieldPlan& field) {
  if (value.kind == Json::Kind::kNull) return field.field->is_repeated() || field.form != JsonForm::kJsonText;
  if (field.form == JsonForm::kStringMap) return value == Json::Object();
  if (field.field->is_repeated()) return value == Json::Array();
  if (field.field->has_presence()) return false;
  switch (field.form) {
    case JsonForm::kString:
    case JsonForm::kBytes:
      return value == Json::String("");
    case JsonForm::kBool:
      return value == Json::Bool(false);
    case JsonForm::kUint64:
    case JsonForm::kInt64:
      return value == Json::String("0");
    case JsonForm::kUint32:
    case JsonForm::kInt32:
      return value == Json::Number("0");
    default:
      return false;
  }
}

// Removes the members of `object` that mean the same as absent members.
void Normalize(Json& object, const MessagePlan& plan);

void NormalizeValue(Json& value, const FieldPlan& field) {
  if (value.kind != Json::Kind::kObject) return;
  if (field.form == JsonForm::kMessage) Normalize(value, *field.message);
  if (field.form != JsonForm::kTimestamp) return;
  // A time without seconds is no time, so zero seconds are not the same as none.
  for (const char* name : {"seconds", "nanos"}) {
    auto member = value.members.find(name);
    if (member == value.members.end()) continue;
    const bool is_zero = name == absl::string_view("nanos") && member->second == Json::String("0");
    if (is_zero || member->second == Json::Null()) value.members.erase(member);
  }
}

void Normalize(Json& object, const MessagePlan& plan) {
  for (auto member = object.members.begin(); member != object.members.end();) {
    const auto found = plan.by_json_name.find(member->first);
    if (found == plan.by_json_name.end()) {
      ++member;
    } else if (IsAbsent(member->second, *found->second)) {
      member = object.members.erase(member);
    } else {
      const FieldPlan& field = *found->second;
      if (!IsList(field)) {
        NormalizeValue(member->second, field);
      } else if (member->second.kind == Json::Kind::kArray) {
        for (Json& element : member->second.elements) NormalizeValue(element, field);
      }
      ++member;
    }
  }
}

// Adds an empty map for every absent one, so that SetAt can add its members. `object` is the JSON of a message of
// `plan`.
void AddMaps(Json& object, const MessagePlan& plan) {
  for (const FieldPlan& field : plan.fields) {
    if (field.form == JsonForm::kStringMap) object.members.emplace(field.json_name, Json::Object());
    const auto member = object.members.find(field.json_name);
    if (field.form != JsonForm::kMessage || member == object.members.end()) continue;
    if (!IsList(field)) AddMaps(member->second, *field.message);
    for (Json& element : member->second.elements) AddMaps(element, *field.message);
  }
}

void ExpectNothingIsLost(Json original, const Message& prototype, const MessagePlan& plan, Random& random) {
  std::string text;
  AppendVaried(original, random, text);
  std::string json = text;
  std::unique_ptr<Message> message(prototype.New());
  const absl::StatusOr<std::string> bytes = ReadJsonMessage(json, plan);
  ASSERT_THAT(bytes.status(), StatusIs(absl::StatusCode::kOk)) << text;
  ASSERT_TRUE(message->ParseFromString(*bytes)) << text;

  Json put_together = testing::JsonOf(Write(*message, plan));
  AddMaps(put_together, plan);
  const auto& reflection = *message->GetReflection();
  for (int i = 0; i < reflection.FieldSize(*message, plan.unrecognized->field); ++i) {
    const Message& entry = reflection.GetRepeatedMessage(*message, plan.unrecognized->field, i);
    const auto* type = entry.GetDescriptor();
    const std::string pointer = entry.GetReflection()->GetString(entry, type->map_key());
    const std::string value = entry.GetReflection()->GetString(entry, type->map_value());
    ASSERT_TRUE(SetAt(put_together, pointer, testing::JsonOf(value))) << pointer << " in " << text;
  }
  Normalize(original, plan);
  Normalize(put_together, plan);
  ASSERT_EQ(put_together, original) << text << "\n" << message->DebugString();
}

void ExpectNothingIsLostOfMutants(int cases, const Message& prototype, const MessagePlan& plan, Random& random,
                                  int depth = 5) {
  for (int i = 0; i < cases && !::testing::Test::HasFatalFailure(); ++i) {
    Json json = FullObject(plan, random, depth);
    if (OneIn(random, 4)) AddSiblings(json, random);
    const Json full = json;
    for (size_t mutations = Below(random, 6); mutations > 0; --mutations) {
      std::vector<Json*> values;
      ForEachValue(json, [&](Json& value) { values.push_back(&value); });
      Json& chosen = *values[Below(random, values.size())];
      if (mutations == 5) {
        chosen = DeepValue(random);
      } else {
        Mutate(chosen, random);
      }
      if (json.kind != Json::Kind::kObject) json = full;
    }
    ExpectNothingIsLost(std::move(json), prototype, plan, random);
  }
}

TEST(MessageReaderPropertyTest, TheMessageAndUnrecognizedTogetherContainTheWholeResponse) {
  Random random(2);
  for (const Operation& operation : Operations().operations()) {
    if (operation.general) continue;
    SCOPED_TRACE(operation.full_name);
    ExpectNothingIsLostOfMutants(3 * kPercent / 2, *testing::NewResponse(operation), *operation.response, random);
  }
  ExpectNothingIsLostOfMutants(50 * kPercent, testing::Everything::default_instance(), EverythingPlan(), random,
                               /*depth=*/2);
}

}  // namespace
}  // namespace stampgate
