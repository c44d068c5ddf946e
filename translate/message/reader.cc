#include "translate/message/reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/json/base64.h"
#include "base/json/reader.h"
#include "base/json/writer.h"
#include "google/protobuf/timestamp.pb.h"
#include "translate/wire/writer.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Timestamp;
using Kind = JsonValue::Kind;

// The range of google.protobuf.Timestamp: years 1 to 9999.
constexpr int64_t kMinSeconds = -62135596800;
constexpr int64_t kMaxSeconds = 253402300799;
constexpr int64_t kMaxNanos = 999999999;

// A google.protobuf.Timestamp.
struct Time {
  int64_t seconds = 0;
  int64_t nanos = 0;
};

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

  // A message is seldom larger than its JSON, whose size is `json_bytes`. `most` is the bound of the message.
  MessageReader(Side side, OnUnrecognized unrecognized, OnMissing missing, size_t json_bytes, size_t most)
      : side_(side), unrecognized_(unrecognized), missing_(missing), wire_(json_bytes, most) {}

  absl::Status ReadObject(JsonValue& object, const MessagePlan& plan) {
    const FieldPlan* rest = plan.json_members;
    if (rest != nullptr && side_ == Side::kAnswer) return ReadMembers(object, *rest);
    std::string rest_text;
    std::vector<const FieldPlan*> missing;
    if (side_ == Side::kRequest) missing = plan.required_empties;
    SetOneofs set_oneofs;
    NamedMembers named;
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
      if (value.kind() != Kind::kNull) {
        const FieldPlan* const older = field == nullptr ? nullptr : OlderOf(field);
        missing.erase(std::remove(missing.begin(), missing.end(), older), missing.end());
      }
      path_.push_back({name, 0});
      absl::Status status = field != nullptr  ? ReadNamed(value, *field, set_oneofs, named)
                            : rest != nullptr ? AppendMember(name, value, rest_text)
                                              : Keep(value);
      path_.pop_back();
      return status;
    });
    if (!status.ok()) return status;
    ABSL_RETURN_IF_ERROR(CopyToOtherNames(named));
    if (!rest_text.empty()) wire_.String(rest->field->number(), rest_text + "}");
    for (const FieldPlan* field : missing) {
      path_.push_back({field->json_name, 0});
      missing_(Pointer());
      path_.pop_back();
    }
    return nameless ? Keep(object) : absl::OkStatus();
  }

  // The message after ReadObject.
  WireWriter& message() { return wire_; }

 private:
  // The oneofs of a message of which a member is set.
  using SetOneofs = absl::InlinedVector<const google::protobuf::OneofDescriptor*, 2>;

  // The members of an object that have other names too. A copy of a value that is neither an object nor an array stays
  // valid until the end of the JSON.
  struct NamedMember {
    const FieldPlan* field;
    JsonValue value;
  };
  using NamedMembers = absl::InlinedVector<NamedMember, 2>;

  struct Step {
    absl::string_view name;  // the member's name; its data() is null for an element
    size_t index = 0;
  };

  // Returns true if the field is a member of the JSON object under its own name.
  static bool IsMember(const FieldPlan& field) { return field.in_json && field.form != JsonForm::kJsonMembers; }

  static absl::Status AppendMember(absl::string_view name, JsonValue& value, std::string& object) {
    ABSL_ASSIGN_OR_RETURN(absl::string_view text, value.Text());
    object.push_back(object.empty() ? '{' : ',');
    AppendJsonString(name, object);
    absl::StrAppend(&object, ":", text);
    return absl::OkStatus();
  }

  absl::Status ReadMembers(JsonValue& object, const FieldPlan& field) {
    ABSL_ASSIGN_OR_RETURN(absl::string_view text, object.Text());
    wire_.String(field.field->number(), text);
    return absl::OkStatus();
  }

  // Reads the value of a field, and notes it if the field has other names. In a request, a second member with the same
  // value is one that no field can hold, even if it is empty or null.
  absl::Status ReadNamed(JsonValue& value, const FieldPlan& plan, SetOneofs& set_oneofs, NamedMembers& named) {
    const FieldPlan* const older = OlderOf(&plan);
    if (older->successors.empty()) return ReadField(value, plan, set_oneofs);
    const bool is_second = absl::c_any_of(named, [&](const NamedMember& each) { return OlderOf(each.field) == older; });
    if (is_second && side_ == Side::kRequest) return Keep(value);
    if (side_ == Side::kRequest || value.kind() != Kind::kNull) named.push_back({&plan, value});
    return ReadField(value, plan, set_oneofs);
  }

  // Gives the other names of the members in a response the same values, unless the JSON has values under them.
  absl::Status CopyToOtherNames(const NamedMembers& named) {
    if (side_ == Side::kRequest) return absl::OkStatus();
    quiet_ = true;
    absl::Status status;
    for (const NamedMember& member : named) {
      const FieldPlan& older = *OlderOf(member.field);
      if (status.ok()) status = CopyUnlessNamed(member.value, older, named);
      for (const FieldPlan* newer : older.successors) {
        if (status.ok()) status = CopyUnlessNamed(member.value, *newer, named);
      }
    }
    quiet_ = false;
    return status;
  }

  absl::Status CopyUnlessNamed(JsonValue value, const FieldPlan& plan, const NamedMembers& named) {
    const bool is_scalar = value.kind() != Kind::kObject && value.kind() != Kind::kArray;
    if (!is_scalar || absl::c_any_of(named, [&](const NamedMember& member) { return member.field == &plan; })) {
      return absl::OkStatus();
    }
    return ReadValue(value, plan);
  }

  // Returns the field that `plan` replaces, or `plan`.
  static const FieldPlan* OlderOf(const FieldPlan* plan) { return plan->replaced != nullptr ? plan->replaced : plan; }

  absl::Status ReadField(JsonValue& value, const FieldPlan& plan, SetOneofs& set_oneofs) {
    const FieldDescriptor* field = plan.field;
    // A null means an absent value, except for a field that contains JSON text.
    if (value.kind() == Kind::kNull && (field->is_repeated() || plan.form != JsonForm::kJsonText))
      return absl::OkStatus();
    if (plan.form == JsonForm::kStringMap) return ReadMap(value, plan);
    if (field->is_repeated()) return ReadList(value, plan);
    const google::protobuf::OneofDescriptor* const oneof = field->real_containing_oneof();
    if (oneof == nullptr) return ReadValue(value, plan);
    // A reader of the message would ignore the first of two members of a oneof.
    if (absl::c_linear_search(set_oneofs, oneof)) return Keep(value);
    const size_t before = wire_.size();
    absl::Status status = ReadValue(value, plan);
    if (wire_.size() > before) set_oneofs.push_back(oneof);
    return status;
  }

  absl::Status ReadList(JsonValue& value, const FieldPlan& plan) {
    if (value.kind() != Kind::kArray) return Keep(value);
    std::optional<WireWriter::Mark> packed;
    absl::Status status = value.ForEachElement([&](size_t index, JsonValue& element) {
      if (index == 0 && plan.field->is_packable()) packed = wire_.Begin(plan.field->number());
      path_.push_back({absl::string_view(), index});
      absl::Status read = ReadValue(element, plan);
      path_.pop_back();
      return read;
    });
    if (packed.has_value()) wire_.End(*packed);
    return status;
  }

  absl::Status ReadMap(JsonValue& value, const FieldPlan& plan) {
    if (value.kind() != Kind::kObject) return Keep(value);
    bool nameless = false;
    absl::Status status = value.ForEachMember([&](absl::string_view name, JsonValue& member) -> absl::Status {
      if (!IsUnicode(name)) {
        nameless = true;
        return absl::OkStatus();
      }
      if (member.kind() == Kind::kString && member.string().has_value()) {
        WriteEntry(plan, name, *member.string());
        return absl::OkStatus();
      }
      path_.push_back({name, 0});
      absl::Status kept = Keep(member);
      path_.pop_back();
      return kept;
    });
    if (!status.ok()) return status;
    return nameless ? Keep(value) : absl::OkStatus();
  }

  void WriteEntry(const FieldPlan& map, absl::string_view key, absl::string_view value) {
    const WireWriter::Mark mark = wire_.Begin(map.field->number());
    wire_.String(map.message->fields[0].field->number(), key);
    wire_.String(map.message->fields[1].field->number(), value);
    wire_.End(mark);
  }

  // Writes the value of a field, or one element of a list. A list gets exactly one element, even if `value` cannot be
  // converted.
  absl::Status ReadValue(JsonValue& value, const FieldPlan& plan) {
    const bool is_element = plan.field->is_repeated();
    switch (plan.form) {
      case JsonForm::kString: {
        const bool readable = value.kind() == Kind::kString && value.string().has_value();
        if (readable || is_element) WriteString(plan, readable ? *value.string() : absl::string_view());
        return readable ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kBytes: {
        std::optional<Base64> base64;
        if (value.kind() == Kind::kString && value.string().has_value()) base64 = ReadBase64(*value.string());
        if (base64.has_value() || is_element)
          WriteString(plan, base64.has_value() ? absl::string_view(base64->bytes) : absl::string_view());
        return base64.has_value() && base64->canonical ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kJsonText: {
        absl::StatusOr<absl::string_view> text = value.Text();
        if (text.ok()) WriteString(plan, *text);
        return text.status();
      }
      case JsonForm::kBool: {
        const bool readable = value.kind() == Kind::kTrue || value.kind() == Kind::kFalse;
        if (readable || is_element) WriteInteger(plan, value.kind() == Kind::kTrue ? 1 : 0);
        return readable ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kUint64:
        return ReadIntegerField<uint64_t>(value, Kind::kString, plan);
      case JsonForm::kInt64:
        return ReadIntegerField<int64_t>(value, Kind::kString, plan);
      case JsonForm::kUint32:
        return ReadIntegerField<uint32_t>(value, Kind::kNumber, plan);
      case JsonForm::kInt32:
        return ReadIntegerField<int32_t>(value, Kind::kNumber, plan);
      case JsonForm::kEnum: {
        const std::optional<int> number = EnumNumber(value, plan);
        if (number.has_value() || is_element) WriteInteger(plan, Extended(number.value_or(0)));
        return number.has_value() ? absl::OkStatus() : Keep(value);
      }
      case JsonForm::kTimestamp:
        return ReadTimestamp(value, plan);
      case JsonForm::kMessage: {
        const bool readable = value.kind() == Kind::kObject;
        if (!readable && !is_element) return Keep(value);
        const WireWriter::Mark mark = wire_.Begin(plan.field->number());
        absl::Status status = readable ? ReadObject(value, *plan.message) : Keep(value);
        wire_.End(mark);
        return status;
      }
      case JsonForm::kStringMap:
      case JsonForm::kJsonMembers:
      case JsonForm::kOpaque:
        break;
    }
    return absl::InternalError("a field whose form is not that of one value was read as one value");
  }

  // Whether a message without the field has the same value as one whose field is zero or empty.
  static bool HasDefault(const FieldPlan& plan) { return !plan.field->has_presence() && !plan.field->is_repeated(); }

  void WriteString(const FieldPlan& plan, absl::string_view text) {
    if (!text.empty() || !HasDefault(plan)) wire_.String(plan.field->number(), text);
  }

  void WriteInteger(const FieldPlan& plan, uint64_t number) {
    if (plan.field->is_repeated()) return wire_.Packed(number);
    if (number != 0 || !HasDefault(plan)) wire_.Varint(plan.field->number(), number);
  }

  // The wire form of every negative integer has 64 bits.
  static uint64_t Extended(int64_t number) { return static_cast<uint64_t>(number); }
  static uint64_t Extended(uint64_t number) { return number; }
  static uint64_t Extended(int32_t number) { return Extended(int64_t{number}); }
  static uint64_t Extended(uint32_t number) { return number; }

  template <typename T>
  absl::Status ReadIntegerField(JsonValue& value, Kind expected, const FieldPlan& plan) {
    const Integer<T> integer = ReadInteger<T>(value, expected);
    if (integer.value.has_value() || plan.field->is_repeated()) WriteInteger(plan, Extended(integer.value.value_or(0)));
    return integer.exact ? absl::OkStatus() : Keep(value);
  }

  static std::optional<int> EnumNumber(const JsonValue& value, const FieldPlan& plan) {
    if (value.kind() != Kind::kString || !value.string().has_value()) return std::nullopt;
    auto number = plan.values->numbers.find(*value.string());
    if (number == plan.values->numbers.end()) return std::nullopt;
    return number->second;
  }

  absl::Status ReadTimestamp(JsonValue& value, const FieldPlan& plan) {
    std::optional<Time> time;
    bool exact = false;
    if (value.kind() == Kind::kString && value.string().has_value()) {
      time = ParseTime(*value.string());
    } else if (value.kind() == Kind::kObject) {
      ABSL_RETURN_IF_ERROR(ReadTimestampObject(value, time, exact));
    }
    if (time.has_value() || plan.field->is_repeated()) WriteTime(plan, time.value_or(Time()));
    return exact ? absl::OkStatus() : Keep(value);
  }

  static std::optional<Time> ParseTime(absl::string_view text) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return std::nullopt;
    const int64_t seconds = absl::ToUnixSeconds(time);
    if (seconds < kMinSeconds || seconds > kMaxSeconds) return std::nullopt;
    return Time{seconds, (time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)};
  }

  // Sets `exact` to whether the writer would write the same object. Sets no time if the object does not have seconds.
  static absl::Status ReadTimestampObject(JsonValue& object, std::optional<Time>& time, bool& exact) {
    Integer<int64_t> seconds;
    Integer<int64_t> nanos{0, true};
    bool has_more = false;
    absl::Status status = object.ForEachMember([&](absl::string_view name, JsonValue& member) {
      if (name == "seconds") {
        seconds = ReadTimestampMember(member, kMinSeconds, kMaxSeconds);
      } else if (name == "nanos") {
        if (member.kind() != Kind::kNull) nanos = ReadTimestampMember(member, 0, kMaxNanos);
      } else {
        has_more = true;
      }
      return absl::OkStatus();
    });
    if (seconds.value.has_value() && nanos.value.has_value()) time = Time{*seconds.value, *nanos.value};
    exact = seconds.exact && nanos.exact && !has_more;
    return status;
  }

  void WriteTime(const FieldPlan& plan, const Time& time) {
    const WireWriter::Mark mark = wire_.Begin(plan.field->number());
    if (time.seconds != 0) wire_.Varint(Timestamp::kSecondsFieldNumber, Extended(time.seconds));
    if (time.nanos != 0) wire_.Varint(Timestamp::kNanosFieldNumber, Extended(time.nanos));
    wire_.End(mark);
  }

  static Integer<int64_t> ReadTimestampMember(const JsonValue& value, int64_t min, int64_t max) {
    const Integer<int64_t> integer = ReadInteger<int64_t>(value, Kind::kString);
    if (!integer.value.has_value() || *integer.value < min || *integer.value > max) return {};
    return integer;
  }

  // Reports the JSON text of `value`, whose place is `path_`, as a value that no field can hold.
  absl::Status Keep(JsonValue& value) {
    if (quiet_) return absl::OkStatus();
    ABSL_ASSIGN_OR_RETURN(absl::string_view text, value.Text());
    return unrecognized_(Pointer(), text);
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
  const OnMissing missing_;
  absl::InlinedVector<Step, 8> path_;
  bool quiet_ = false;  // a value that no field can hold has been reported already
  WireWriter wire_;
};

// Sets `size` to the size of the message.
absl::StatusOr<std::string> Read(std::string& json, const MessagePlan& plan, MessageReader::Side side, size_t most,
                                 size_t& size, OnUnrecognized unrecognized, OnMissing missing) {
  MessageReader reader(side, unrecognized, missing, json.size(), most);
  absl::Status status = ReadJsonObject(json, [&](JsonValue& root) { return reader.ReadObject(root, plan); });
  if (!status.ok()) return status;
  WireWriter& message = reader.message();
  size = message.size();
  if (message.is_too_large()) return absl::OutOfRangeError(absl::StrCat("the message has ", size, " bytes"));
  return message.Take();
}

}  // namespace

absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan, size_t most, size_t& size) {
  WireWriter kept(0, most);
  const auto keep = [&](const std::string& pointer, absl::string_view text) -> absl::Status {
    const FieldPlan* const field = plan.unrecognized;
    if (field == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no field for ", pointer));
    const WireWriter::Mark mark = kept.Begin(field->field->number());
    kept.String(field->field->message_type()->map_key()->number(), pointer);
    kept.String(field->field->message_type()->map_value()->number(), text);
    kept.End(mark);
    return absl::OkStatus();
  };
  absl::StatusOr<std::string> message =
      Read(json, plan, MessageReader::Side::kAnswer, most, size, keep, [](const std::string&) {});
  size += kept.size();
  if (message.ok() && size > most) return absl::OutOfRangeError(absl::StrCat("the message has ", size, " bytes"));
  if (message.ok()) message->append(kept.Take());
  return message;
}

absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan) {
  size_t size = 0;
  return ReadJsonMessage(json, plan, WireWriter::kNoBound, size);
}

absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan, size_t most,
                                            OnUnrecognized unrecognized) {
  size_t size = 0;
  return Read(json, plan, MessageReader::Side::kAnswer, most, size, unrecognized, [](const std::string&) {});
}

absl::StatusOr<std::string> ReadJsonRequest(std::string& json, const MessagePlan& plan, size_t most,
                                            OnUnrecognized unrecognized, OnMissing missing) {
  size_t size = 0;
  return Read(json, plan, MessageReader::Side::kRequest, most, size, unrecognized, missing);
}

}  // namespace stampgate
