#include "translate/testing/messages.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/timestamp.pb.h"

namespace stampgate::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

// Functions that return or set a value for a field, one for each type of field.
struct Values {
  std::function<std::string(const FieldPlan&)> text;
  std::function<std::string(const FieldPlan&)> bytes;
  std::function<std::pair<std::string, std::string>(const FieldPlan&)> entry;
  std::function<bool()> flag;
  std::function<uint64_t(const FieldPlan&, int bits)> integer;
  std::function<int(const FieldPlan&)> enum_number;
  std::function<Timestamp()> time;
  std::function<void(Message&, const MessagePlan&)> message;
};

void AddEntry(Message& message, const FieldDescriptor& map, const std::string& key, const std::string& value) {
  Message& entry = *message.GetReflection()->AddMessage(&message, &map);
  entry.GetReflection()->SetString(&entry, map.message_type()->map_key(), key);
  entry.GetReflection()->SetString(&entry, map.message_type()->map_value(), value);
}

// `message` may be of a class that is not generated.
void SetTime(Message& message, const MessagePlan& plan, const Timestamp& time) {
  const Reflection& reflection = *message.GetReflection();
  reflection.SetInt64(&message, plan.FindNumber(Timestamp::kSecondsFieldNumber)->field, time.seconds());
  reflection.SetInt32(&message, plan.FindNumber(Timestamp::kNanosFieldNumber)->field, time.nanos());
}

void SetOne(Message& message, const FieldPlan& plan, const Values& values) {
  const Reflection& reflection = *message.GetReflection();
  const FieldDescriptor* field = plan.field;
  const bool add = field->is_repeated();
  auto sub = [&] { return add ? reflection.AddMessage(&message, field) : reflection.MutableMessage(&message, field); };
  switch (plan.form) {
    case JsonForm::kString:
    case JsonForm::kJsonText:
    case JsonForm::kJsonMembers:
      add ? reflection.AddString(&message, field, values.text(plan))
          : reflection.SetString(&message, field, values.text(plan));
      break;
    case JsonForm::kBytes:
      add ? reflection.AddString(&message, field, values.bytes(plan))
          : reflection.SetString(&message, field, values.bytes(plan));
      break;
    case JsonForm::kStringMap: {
      const auto [key, value] = values.entry(plan);
      AddEntry(message, *field, key, value);
      break;
    }
    case JsonForm::kBool:
      add ? reflection.AddBool(&message, field, values.flag()) : reflection.SetBool(&message, field, values.flag());
      break;
    case JsonForm::kUint64:
      add ? reflection.AddUInt64(&message, field, values.integer(plan, 64))
          : reflection.SetUInt64(&message, field, values.integer(plan, 64));
      break;
    case JsonForm::kInt64:
      add ? reflection.AddInt64(&message, field, static_cast<int64_t>(values.integer(plan, 64)))
          : reflection.SetInt64(&message, field, static_cast<int64_t>(values.integer(plan, 64)));
      break;
    case JsonForm::kUint32:
      add ? reflection.AddUInt32(&message, field, static_cast<uint32_t>(values.integer(plan, 32)))
          : reflection.SetUInt32(&message, field, static_cast<uint32_t>(values.integer(plan, 32)));
      break;
    case JsonForm::kInt32:
      add ? reflection.AddInt32(&message, field, static_cast<int32_t>(values.integer(plan, 32)))
          : reflection.SetInt32(&message, field, static_cast<int32_t>(values.integer(plan, 32)));
      break;
    case JsonForm::kEnum:
      add ? reflection.AddEnumValue(&message, field, values.enum_number(plan))
          : reflection.SetEnumValue(&message, field, values.enum_number(plan));
      break;
    case JsonForm::kTimestamp:
      SetTime(*sub(), *plan.message, values.time());
      break;
    case JsonForm::kMessage:
      values.message(*sub(), *plan.message);
      break;
    case JsonForm::kOpaque:
      break;
  }
}

// Returns true if `field` must not be set because it and the field with the index `choice` exclude each other.
bool IsExcluded(const FieldPlan& field, const MessagePlan& plan, int choice) {
  if (const OneofDescriptor* oneof = field.field->real_containing_oneof()) {
    return oneof->field(choice % oneof->field_count()) != field.field;
  }
  const auto& group = plan.at_most_one;
  return std::find(group.begin(), group.end(), &field) != group.end() && group[choice % group.size()] != &field;
}

// Returns true if `field` is for the gateway only, and never part of a body.
bool IsForGateway(const FieldPlan& field) {
  return field.role == v1::FIELD_ROLE_IDEMPOTENCY_KEY || field.role == v1::FIELD_ROLE_WAIT_UNTIL;
}

std::string FullText(const FieldPlan& plan) {
  if (plan.form != JsonForm::kString) return absl::StrCat("{\"text\":\"", absl::string_view(plan.field->name()), "\"}");
  if (plan.role == v1::FIELD_ROLE_PATH) return "unlisted_path";
  if (plan.role == v1::FIELD_ROLE_ACTIVITY_TYPE) return "ACTIVITY_TYPE_UNLISTED";
  if (plan.guard == v1::FIELD_GUARD_AMOUNT) return "1";
  return plan.max_bytes.has_value() || plan.max_characters.has_value() ? "x" : std::string(plan.field->name());
}

std::vector<int> EnumNumbers(const FieldPlan& plan) {
  std::vector<int> numbers;
  for (const auto& [number, json] : plan.values->json) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

std::string RandomText(Random& random) {
  static constexpr absl::string_view kPieces[] = {"a",
                                                  "Z9",
                                                  "\"",
                                                  "\\",
                                                  "/",
                                                  "~",
                                                  "~1",
                                                  "\b",
                                                  "\f",
                                                  "\n",
                                                  "\r",
                                                  "\t",
                                                  "\x01",
                                                  "\x1f",
                                                  "\x7f",
                                                  "é",
                                                  "ß",
                                                  "\xe2\x80\xa8",
                                                  "\xef\xbf\xbf",
                                                  "😀",
                                                  "\xf4\x8f\xbf\xbf",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  " ",
                                                  "null",
                                                  "&<>",
                                                  "eipl55:1",
                                                  "'"};
  std::string text;
  if (OneIn(random, 8)) return text;
  for (size_t n = 1 + Below(random, 6); n > 0; --n) {
    if (OneIn(random, 20)) {
      text.push_back('\0');
    } else {
      absl::StrAppend(&text, kPieces[Below(random, std::size(kPieces))]);
    }
  }
  return text;
}

std::string RandomBytes(Random& random) {
  std::string bytes(Below(random, 7), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

uint64_t RandomInteger(Random& random, int bits) {
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t edges[] = {0, 1, all, all >> 1, (all >> 1) + 1, 9007199254740993u & all};
  return OneIn(random, 2) ? edges[Below(random, std::size(edges))] : (random() >> Below(random, 64)) & all;
}

Json RandomJson(Random& random, int depth) {
  static constexpr absl::string_view kNumbers[] = {"0",
                                                   "-0",
                                                   "1",
                                                   "-1",
                                                   "1.0",
                                                   "1e3",
                                                   "1E+2",
                                                   "0.10",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "-9223372036854775808",
                                                   "1e400",
                                                   "123456789012345678901234567890",
                                                   "2147483648",
                                                   "4294967296"};
  switch (Below(random, depth > 0 ? 8 : 6)) {
    case 0:
      return Json::Null();
    case 1:
      return Json::Bool(OneIn(random, 2));
    case 2:
      return Json::Number(std::string(kNumbers[Below(random, std::size(kNumbers))]));
    case 3: {
      if (!OneIn(random, 4)) return Json::String(RandomText(random));
      Json surrogate = Json::String("\"x\\ud800\"");
      surrogate.unicode = false;
      return surrogate;
    }
    case 4:
      return Json::Object();
    case 5:
      return Json::Array();
    case 6: {
      Json object = Json::Object();
      for (size_t n = 1 + Below(random, 3); n > 0; --n)
        object.members[RandomText(random)] = RandomJson(random, depth - 1);
      return object;
    }
    default: {
      Json array = Json::Array();
      for (size_t n = 1 + Below(random, 3); n > 0; --n) array.elements.push_back(RandomJson(random, depth - 1));
      return array;
    }
  }
}

void FillFully(Message& message, const MessagePlan& plan, int choice) {
  Values values;
  values.text = FullText;
  values.bytes = [](const FieldPlan&) { return "\xff"; };
  values.entry = [](const FieldPlan& field) { return std::pair("key", std::string(field.field->name())); };
  values.flag = [] { return true; };
  values.integer = [](const FieldPlan& field, int) { return field.minimum.value_or(1); };
  values.enum_number = [](const FieldPlan& field) { return EnumNumbers(field).front(); };
  values.time = [] {
    Timestamp time;
    time.set_seconds(1755500000);
    time.set_nanos(123456789);
    return time;
  };
  values.message = [&](Message& inner, const MessagePlan& inner_plan) {
    // If a message can contain itself, leaves the inner message empty, so that the recursion ends.
    if (&inner_plan != &plan) FillFully(inner, inner_plan, choice);
  };
  for (const FieldPlan& field : plan.fields) {
    if (field.message == &plan || IsExcluded(field, plan, choice) || IsForGateway(field)) continue;
    if (field.replaced != nullptr) continue;
    SetOne(message, field, values);
  }
}

void FillRandomly(Message& message, const MessagePlan& plan, Random& random, int depth) {
  Values values;
  values.text = [&](const FieldPlan& field) {
    if (field.form == JsonForm::kString) return RandomText(random);
    if (field.form == JsonForm::kJsonText && !field.secret) return ToText(RandomJson(random, 3));
    Json object = Json::Object();
    object.members[RandomText(random)] = RandomJson(random, 3);
    return ToText(object);
  };
  values.bytes = [&](const FieldPlan&) { return RandomBytes(random); };
  values.entry = [&](const FieldPlan&) { return std::pair(RandomText(random), RandomText(random)); };
  values.flag = [&] { return OneIn(random, 2); };
  values.integer = [&](const FieldPlan&, int bits) { return RandomInteger(random, bits); };
  values.enum_number = [&](const FieldPlan& field) {
    const std::vector<int> numbers = EnumNumbers(field);
    return numbers[Below(random, numbers.size())];
  };
  values.time = [&] {
    Timestamp time;
    constexpr int64_t kFirst = -62135596800;
    constexpr int64_t kLast = 253402300799;
    time.set_seconds(OneIn(random, 4) ? (OneIn(random, 2) ? kFirst : kLast)
                                      : kFirst + static_cast<int64_t>(Below(random, kLast - kFirst)));
    time.set_nanos(static_cast<int32_t>(OneIn(random, 4) ? 999999999 : Below(random, 1000000000)));
    return time;
  };
  values.message = [&](Message& inner, const MessagePlan& inner_plan) {
    FillRandomly(inner, inner_plan, random, depth - 1);
  };
  const int choice = static_cast<int>(Below(random, 1000));
  for (const FieldPlan& field : plan.fields) {
    if ((field.form == JsonForm::kMessage && depth == 0) || field.form == JsonForm::kOpaque || IsForGateway(field))
      continue;
    if (field.replaced != nullptr || !field.successors.empty()) continue;
    if (field.field->real_containing_oneof() != nullptr && IsExcluded(field, plan, choice)) continue;
    if (field.field->is_repeated()) {
      for (size_t n = Below(random, 3); n > 0; --n) SetOne(message, field, values);
    } else if (!OneIn(random, 3)) {
      SetOne(message, field, values);
    }
  }
}

void OrderMaps(Message& message, const MessagePlan& plan) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldPlan& field : plan.fields) {
    if (field.form == JsonForm::kStringMap) {
      std::map<std::string, std::string> entries;
      for (int i = 0; i < reflection.FieldSize(message, field.field); ++i) {
        const Message& entry = reflection.GetRepeatedMessage(message, field.field, i);
        const auto text = [&](const FieldDescriptor* part) { return entry.GetReflection()->GetString(entry, part); };
        entries[text(field.field->message_type()->map_key())] = text(field.field->message_type()->map_value());
      }
      reflection.ClearField(&message, field.field);
      for (const auto& [key, value] : entries) AddEntry(message, *field.field, key, value);
    } else if (field.form == JsonForm::kMessage && field.field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field.field); ++i) {
        OrderMaps(*reflection.MutableRepeatedMessage(&message, field.field, i), *field.message);
      }
    } else if (field.form == JsonForm::kMessage && reflection.HasField(message, field.field)) {
      OrderMaps(*reflection.MutableMessage(&message, field.field), *field.message);
    }
  }
}

}  // namespace stampgate::testing
