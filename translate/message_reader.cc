#include "translate/message_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "translate/json/reader.h"
#include "translate/json/writer.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;
using Kind = JsonValue::Kind;

// The range of google.protobuf.Timestamp: years 1 to 9999.
constexpr int64_t kMinSeconds = -62135596800;
constexpr int64_t kMaxSeconds = 253402300799;
constexpr int64_t kMaxNanos = 999999999;

// A JSON value read as an integer of type T.
template <typename T>
struct Integer {
  std::optional<T> value;
  bool exact = false;  // whether the message writer would write the value in the same spelling
};

// Returns true if `text`, an integer, has the canonical spelling: no "+", no leading zero, no "-0".
bool IsCanonical(absl::string_view text) {
  absl::string_view digits = text;
  if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
  if (digits.empty() || !absl::c_all_of(digits, absl::ascii_isdigit)) return false;
  return digits.front() != '0' || text == "0";
}

template <typename T>
Integer<T> ReadInteger(const JsonValue& value, Kind expected) {
  absl::string_view text;
  if (value.kind() == Kind::kNumber) {
    text = value.number();
  } else if (value.kind() == Kind::kString && value.string().has_value()) {
    text = *value.string();
  } else {
    return {};
  }
  Integer<T> integer;
  if (T parsed; absl::SimpleAtoi(text, &parsed)) {
    integer.value = parsed;
    integer.exact = value.kind() == expected && IsCanonical(text);
    return integer;
  }
  // Also accepts integers such as "3.0" and "3e2", if they are so small that a double represents them exactly. Excludes
  // spellings that SimpleAtod accepts but JSON does not have, such as "0x3".
  if (text.find_first_not_of("+-.0123456789Ee") != absl::string_view::npos) return integer;
  constexpr double kExactBelow = 9007199254740992.0;
  if (double parsed; absl::SimpleAtod(text, &parsed) && std::trunc(parsed) == parsed &&
                     std::abs(parsed) < kExactBelow && parsed >= static_cast<double>(std::numeric_limits<T>::min()) &&
                     parsed <= static_cast<double>(std::numeric_limits<T>::max())) {
    integer.value = static_cast<T>(parsed);
  }
  return integer;
}

class MessageReader {
 public:
  // The kind of the JSON. In a response, the field of form kJsonMembers receives the whole object. In a request, it
  // receives the members that have no field of their own.
  enum class Side { kAnswer, kRequest };

  MessageReader(Side side, OnUnrecognized unrecognized, OnMissingList missing_list)
      : side_(side), unrecognized_(unrecognized), missing_list_(missing_list) {}

  absl::Status ReadObject(JsonValue& object, const MessagePlan& plan, Message& message) {
    const Reflection& reflection = *message.GetReflection();
    const FieldPlan* rest = plan.json_members;
    if (rest != nullptr && side_ == Side::kAnswer) return ReadMembers(object, *rest, message);
    std::string rest_text;
    std::vector<const FieldPlan*> missing;
    if (side_ == Side::kRequest) missing = plan.required_lists;
    bool nameless = false;
    size_t next = 0;  // the field expected next: upstream mostly sends members in the order of the proto
    absl::Status status = object.ForEachMember([&](absl::string_view name, JsonValue& value) -> absl::Status {
      const FieldPlan* field = nullptr;
      if (next < plan.fields.size() && IsMember(plan.fields[next]) && plan.fields[next].json_name == name) {
        field = &plan.fields[next++];
      } else if (auto found = plan.by_json_name.find(name); found != plan.by_json_name.end()) {
        field = found->second;
        next = field - plan.fields.data() + 1;
      } else if (!IsUnicode(name)) {
        nameless = true;
        return absl::OkStatus();
      }
      if (value.kind() != Kind::kNull) missing.erase(std::remove(missing.begin(), missing.end(), field), missing.end());
      path_.push_back({name, 0});
      absl::Status status = field != nullptr  ? ReadField(value, *field, message, reflection)
                            : rest != nullptr ? AppendMember(name, value, rest_text)
                                              : Keep(value);
      path_.pop_back();
      return status;
    });
    if (!status.ok()) return status;
    if (!rest_text.empty()) reflection.SetString(&message, rest->field, rest_text + "}");
    for (const FieldPlan* list : missing) {
      path_.push_back({list->json_name, 0});
      missing_list_(Pointer());
      path_.pop_back();
    }
    return nameless ? Keep(object) : absl::OkStatus();
  }

 private:
  struct Step {
    absl::string_view name;  // the member's name; its data() is null for an element
    size_t index = 0;
  };

  // Returns true if the field is a member of the JSON object under its own name.
  static bool IsMember(const FieldPlan& field) { return field.in_json && field.form != JsonForm::kJsonMembers; }

  static absl::Status AppendMember(absl::string_view name, JsonValue& value, std::string& object) {
    absl::StatusOr<absl::string_view> text = value.Text();
    if (!text.ok()) return text.status();
    object.push_back(object.empty() ? '{' : ',');
    AppendJsonString(name, object);
    absl::StrAppend(&object, ":", *text);
    return absl::OkStatus();
  }

  absl::Status ReadMembers(JsonValue& object, const FieldPlan& field, Message& message) {
    absl::StatusOr<absl::string_view> text = object.Text();
    if (!text.ok()) return text.status();
    message.GetReflection()->SetString(&message, field.field, std::string(*text));
    return absl::OkStatus();
  }

  absl::Status ReadField(JsonValue& value, const FieldPlan& plan, Message& message, const Reflection& reflection) {
    const FieldDescriptor* field = plan.field;
    // A null means an absent value, except for a field that contains JSON text.
    if (value.kind() == Kind::kNull && (field->is_repeated() || plan.form != JsonForm::kJsonText))
      return absl::OkStatus();
    if (field->is_repeated()) {
      if (value.kind() != Kind::kArray) return Keep(value);
      return value.ForEachElement([&](size_t index, JsonValue& element) {
        path_.push_back({absl::string_view(), index});
        absl::Status status = ReadElement(element, plan, message, reflection);
        path_.pop_back();
        return status;
      });
    }
    // Setting a second member of a oneof would clear the first.
    if (field->real_containing_oneof() != nullptr && reflection.HasOneof(message, field->real_containing_oneof())) {
      return Keep(value);
    }
    switch (plan.form) {
      case JsonForm::kString:
        if (value.kind() != Kind::kString || !value.string().has_value()) return Keep(value);
        reflection.SetString(&message, field, std::string(*value.string()));
        return absl::OkStatus();
      case JsonForm::kJsonText: {
        absl::StatusOr<absl::string_view> text = value.Text();
        if (text.ok()) reflection.SetString(&message, field, std::string(*text));
        return text.status();
      }
      case JsonForm::kBool:
        if (value.kind() != Kind::kTrue && value.kind() != Kind::kFalse) return Keep(value);
        reflection.SetBool(&message, field, value.kind() == Kind::kTrue);
        return absl::OkStatus();
      case JsonForm::kUint64:
        return SetInteger(value, ReadInteger<uint64_t>(value, Kind::kString),
                          [&](uint64_t n) { reflection.SetUInt64(&message, field, n); });
      case JsonForm::kInt64:
        return SetInteger(value, ReadInteger<int64_t>(value, Kind::kString),
                          [&](int64_t n) { reflection.SetInt64(&message, field, n); });
      case JsonForm::kUint32:
        return SetInteger(value, ReadInteger<uint32_t>(value, Kind::kNumber),
                          [&](uint32_t n) { reflection.SetUInt32(&message, field, n); });
      case JsonForm::kInt32:
        return SetInteger(value, ReadInteger<int32_t>(value, Kind::kNumber),
                          [&](int32_t n) { reflection.SetInt32(&message, field, n); });
      case JsonForm::kEnum:
        if (std::optional<int> number = EnumNumber(value, plan)) {
          reflection.SetEnumValue(&message, field, *number);
          return absl::OkStatus();
        }
        return Keep(value);
      case JsonForm::kTimestamp:
        return ReadTimestamp(value, [&] { return reflection.MutableMessage(&message, field); });
      case JsonForm::kMessage:
        if (value.kind() != Kind::kObject) return Keep(value);
        return ReadObject(value, *plan.message, *reflection.MutableMessage(&message, field));
      case JsonForm::kJsonMembers:
        break;
    }
    return absl::InternalError("a field of form kJsonMembers was read as a member");
  }

  // Adds exactly one element to the list, even if `value` cannot be converted.
  absl::Status ReadElement(JsonValue& value, const FieldPlan& plan, Message& message, const Reflection& reflection) {
    const FieldDescriptor* field = plan.field;
    switch (plan.form) {
      case JsonForm::kString: {
        const bool readable = value.kind() == Kind::kString && value.string().has_value();
        reflection.AddString(&message, field, readable ? std::string(*value.string()) : std::string());
        return readable ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kJsonText: {
        absl::StatusOr<absl::string_view> text = value.Text();
        if (text.ok()) reflection.AddString(&message, field, std::string(*text));
        return text.status();
      }
      case JsonForm::kBool: {
        reflection.AddBool(&message, field, value.kind() == Kind::kTrue);
        return value.kind() == Kind::kTrue || value.kind() == Kind::kFalse ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kUint64:
        return AddInteger(value, ReadInteger<uint64_t>(value, Kind::kString),
                          [&](uint64_t n) { reflection.AddUInt64(&message, field, n); });
      case JsonForm::kInt64:
        return AddInteger(value, ReadInteger<int64_t>(value, Kind::kString),
                          [&](int64_t n) { reflection.AddInt64(&message, field, n); });
      case JsonForm::kUint32:
        return AddInteger(value, ReadInteger<uint32_t>(value, Kind::kNumber),
                          [&](uint32_t n) { reflection.AddUInt32(&message, field, n); });
      case JsonForm::kInt32:
        return AddInteger(value, ReadInteger<int32_t>(value, Kind::kNumber),
                          [&](int32_t n) { reflection.AddInt32(&message, field, n); });
      case JsonForm::kEnum: {
        std::optional<int> number = EnumNumber(value, plan);
        reflection.AddEnumValue(&message, field, number.value_or(0));
        return number.has_value() ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kTimestamp: {
        Message* element = reflection.AddMessage(&message, field);
        return ReadTimestamp(value, [&] { return element; });
      }
      case JsonForm::kMessage: {
        Message* element = reflection.AddMessage(&message, field);
        if (value.kind() != Kind::kObject) return Keep(value);
        return ReadObject(value, *plan.message, *element);
      }
      case JsonForm::kJsonMembers:
        break;
    }
    return absl::InternalError("a field of form kJsonMembers was read as an element");
  }

  template <typename T, typename Set>
  absl::Status SetInteger(JsonValue& value, const Integer<T>& integer, Set set) {
    if (integer.value.has_value()) set(*integer.value);
    return integer.exact ? absl::OkStatus() : Keep(value);
  }

  template <typename T, typename Add>
  absl::Status AddInteger(JsonValue& value, const Integer<T>& integer, Add add) {
    add(integer.value.value_or(0));
    return integer.exact ? absl::OkStatus() : Keep(value);
  }

  static std::optional<int> EnumNumber(const JsonValue& value, const FieldPlan& plan) {
    if (value.kind() != Kind::kString || !value.string().has_value()) return std::nullopt;
    auto number = plan.enum_numbers.find(*value.string());
    if (number == plan.enum_numbers.end()) return std::nullopt;
    return number->second;
  }

  // Reads a timestamp into the message that `target` returns. Calls `target`, which may create the message, only if the
  // timestamp can be converted.
  template <typename Target>
  absl::Status ReadTimestamp(JsonValue& value, Target target) {
    if (value.kind() == Kind::kString && value.string().has_value()) {
      absl::Time time;
      std::string error;
      if (absl::ParseTime(absl::RFC3339_full, *value.string(), &time, &error)) {
        const int64_t seconds = absl::ToUnixSeconds(time);
        if (seconds >= kMinSeconds && seconds <= kMaxSeconds) {
          auto* timestamp = dynamic_cast<Timestamp*>(target());
          timestamp->set_seconds(seconds);
          timestamp->set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
        }
      }
      return Keep(value);
    }
    if (value.kind() != Kind::kObject) return Keep(value);
    Integer<int64_t> seconds{0, true};
    Integer<int64_t> nanos{0, true};
    bool has_more = false;
    absl::Status status = value.ForEachMember([&](absl::string_view name, JsonValue& member) {
      if (name == "seconds") {
        seconds = ReadTimestampMember(member, kMinSeconds, kMaxSeconds);
      } else if (name == "nanos") {
        nanos = ReadTimestampMember(member, 0, kMaxNanos);
      } else {
        has_more = true;
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (seconds.value.has_value() && nanos.value.has_value()) {
      auto* timestamp = dynamic_cast<Timestamp*>(target());
      timestamp->set_seconds(*seconds.value);
      timestamp->set_nanos(static_cast<int32_t>(*nanos.value));
    }
    return seconds.exact && nanos.exact && !has_more ? absl::OkStatus() : Keep(value);
  }

  static Integer<int64_t> ReadTimestampMember(const JsonValue& value, int64_t min, int64_t max) {
    if (value.kind() == Kind::kNull) return {0, true};
    const Integer<int64_t> integer = ReadInteger<int64_t>(value, Kind::kString);
    if (!integer.value.has_value() || *integer.value < min || *integer.value > max) return {};
    return integer;
  }

  // Reports the JSON text of `value`, whose place is `path_`, as a value that no field can hold.
  absl::Status Keep(JsonValue& value) {
    absl::StatusOr<absl::string_view> text = value.Text();
    if (!text.ok()) return text.status();
    return unrecognized_(Pointer(), *text);
  }

  std::string Pointer() const {
    std::string pointer;
    for (const Step& step : path_) {
      if (step.name.data() == nullptr) {
        absl::StrAppend(&pointer, "/", step.index);
      } else {
        absl::StrAppend(&pointer, "/", absl::StrReplaceAll(step.name, {{"~", "~0"}, {"/", "~1"}}));
      }
    }
    return pointer;
  }

  const Side side_;
  const OnUnrecognized unrecognized_;
  const OnMissingList missing_list_;
  std::vector<Step> path_;
};

absl::Status Read(std::string& json, const MessagePlan& plan, Message& message, MessageReader::Side side,
                  OnUnrecognized unrecognized, OnMissingList missing_list) {
  return ReadJsonObject(json, [&](JsonValue& root) {
    return MessageReader(side, unrecognized, missing_list).ReadObject(root, plan, message);
  });
}

}  // namespace

absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, Message& message) {
  return ReadJsonMessage(json, plan, message, message, plan.unrecognized);
}

absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, Message& message, Message& holder,
                             const FieldDescriptor* unrecognized) {
  return Read(
      json, plan, message, MessageReader::Side::kAnswer,
      [&](const std::string& pointer, absl::string_view text) -> absl::Status {
        if (unrecognized == nullptr) {
          return absl::InvalidArgumentError(absl::StrCat("there is no field for ", pointer));
        }
        Message* entry = holder.GetReflection()->AddMessage(&holder, unrecognized);
        const google::protobuf::Descriptor* type = entry->GetDescriptor();
        entry->GetReflection()->SetString(entry, type->map_key(), pointer);
        entry->GetReflection()->SetString(entry, type->map_value(), std::string(text));
        return absl::OkStatus();
      },
      [](const std::string&) {});
}

absl::Status ReadJsonRequest(std::string& json, const MessagePlan& plan, Message& message, OnUnrecognized unrecognized,
                             OnMissingList missing_list) {
  return Read(json, plan, message, MessageReader::Side::kRequest, unrecognized, missing_list);
}

}  // namespace stampgate
