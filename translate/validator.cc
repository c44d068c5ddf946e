#include "translate/validator.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json/reader.h"
#include "google/protobuf/util/time_util.h"
#include "translate/amount.h"
#include "translate/message/guarded_values.h"

namespace stampgate {
namespace {

using google::protobuf::util::TimeUtil;

bool IsIdempotencyKey(absl::string_view text) {
  constexpr size_t kMaxBytes = 128;
  return !text.empty() && text.size() <= kMaxBytes && absl::c_all_of(text, absl::ascii_isgraph);
}

// Returns the number of characters of `text`, which must be UTF-8.
size_t CountCharacters(absl::string_view text) {
  return absl::c_count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; });
}

std::string Elements(uint32_t count) { return absl::StrCat(count, count == 1 ? " element" : " elements"); }

class Validator {
 public:
  explicit Validator(Violations& violations) : violations_(violations) {}

  void CheckMessage(const ParsedMessage& message) {
    const MessagePlan& plan = message.plan();
    CheckUnknownFields(message);
    if (plan.unrecognized != nullptr && message.Has(*plan.unrecognized)) {
      Add(absl::StrCat("must not hold ", plan.unrecognized->field->name(), ", which is for responses"));
    }
    if (plan.client_stamp != nullptr && message.Has(*plan.client_stamp)) {
      Add(absl::StrCat("must not hold ", plan.client_stamp->field->name(), " here"));
    }
    for (const FieldPlan& field : plan.fields) {
      path_.push_back({&message.NameOf(field), -1});
      CheckField(field, message);
      path_.pop_back();
    }
    CheckSuccessors(message);
    CheckExclusion(message);
    CheckGuards(message);
  }

  void CheckUnknownFields(const ParsedMessage& message) {
    static_assert(ParsedMessage::kKeptUnknown >= Violations::kKept);
    for (const int number : message.unknown()) {
      violations_.Add([&] {
        return Violation{Path(), absl::StrCat("holds field number ", number, ", which this gateway does not know")};
      });
    }
    violations_.AddUnkept(message.unknown_count() - message.unknown().size());
  }

 private:
  struct Step {
    const FieldPlan* field;
    int index;  // of the element; -1 for the field itself
  };

  // A required list or map may be empty, since it is then rendered as [] or {}, unless it has a smallest number of
  // elements. A required text that may be empty and has no presence is rendered as "".
  void CheckField(const FieldPlan& plan, const ParsedMessage& message) {
    const absl::Span<const FieldValue> values = message.Values(plan);
    if (plan.field->is_repeated()) {
      const size_t count = message.Count(plan);
      if (count < plan.min_elements)
        Add(absl::StrCat("must have at least ", Elements(plan.min_elements), ", not ", count));
      if (count > plan.max_elements)
        Add(absl::StrCat("must have at most ", Elements(plan.max_elements), ", not ", count));
      for (const FieldValue& value : values) {
        ++path_.back().index;
        CheckValue(plan, value);
      }
    } else if (!values.empty()) {
      CheckValue(plan, values.front());
    } else if (plan.required && !plan.written_if_unset && !HasSuccessor(plan, message)) {
      Add(plan.may_be_empty ? "is required (it may be empty, but must be set)" : "is required");
    }
  }

  void CheckValue(const FieldPlan& plan, const FieldValue& value) {
    switch (plan.form) {
      case JsonForm::kString:
      case JsonForm::kJsonText:
      case JsonForm::kJsonMembers:
        CheckString(plan, value.text());
        break;
      case JsonForm::kBytes:
        CheckLength(plan, value.text());
        break;
      case JsonForm::kStringMap:
        CheckUnknownFields(value.message());
        break;
      case JsonForm::kEnum:
        CheckEnum(plan, static_cast<int>(value.number()));
        break;
      case JsonForm::kUint64:
      case JsonForm::kUint32:
        CheckRange(plan, value.number());
        break;
      case JsonForm::kInt64:
      case JsonForm::kInt32:
        CheckSignedRange(plan, static_cast<int64_t>(value.number()));
        break;
      case JsonForm::kMessage:
        CheckMessage(value.message());
        break;
      case JsonForm::kTimestamp:
        CheckTimestamp(value.message());
        break;
      case JsonForm::kBool:
      case JsonForm::kOpaque:
        break;
    }
  }

  void CheckLength(const FieldPlan& plan, absl::string_view value) {
    const bool single = !plan.field->is_repeated();
    if (single && value.empty() && plan.required && !plan.may_be_empty) Add("is required and must not be empty");
    if (plan.max_bytes.has_value() && value.size() > *plan.max_bytes) {
      Add(absl::StrCat("must be at most ", *plan.max_bytes, " bytes long, not ", value.size()));
    }
  }

  void CheckString(const FieldPlan& plan, absl::string_view value) {
    CheckLength(plan, value);
    if (plan.max_characters.has_value()) {
      if (const size_t count = CountCharacters(value); count > *plan.max_characters) {
        Add(absl::StrCat("must be at most ", *plan.max_characters, " characters long, not ", count));
      }
    }
    if (plan.guard == v1::FIELD_GUARD_AMOUNT && !IsAmount(value) && !(value.empty() && plan.required)) {
      Add("must be an amount: 1 to 78 decimal digits without a leading zero, or MAX");
    }
    if (plan.role == v1::FIELD_ROLE_IDEMPOTENCY_KEY && !IsIdempotencyKey(value)) {
      Add("must be 1 to 128 visible ASCII characters");
    }
    if (plan.form == JsonForm::kString || (value.empty() && plan.required)) return;
    if (absl::Status status = CheckJsonObject(value); !status.ok()) {
      Add(absl::StrCat("must be the JSON text of an object: ", status.message()));
    }
  }

  void CheckEnum(const FieldPlan& plan, int number) {
    if (number == 0) {
      Add("must be one of the listed values, not the unspecified one");
    } else if (!plan.values->json.contains(number)) {
      Add(absl::StrCat("must be one of the listed values, not number ", number));
    }
  }

  void CheckRange(const FieldPlan& plan, uint64_t value) {
    if (plan.minimum.has_value() && value < *plan.minimum) Add(absl::StrCat("must be at least ", *plan.minimum));
    if (plan.maximum.has_value() && value > *plan.maximum) Add(absl::StrCat("must be at most ", *plan.maximum));
  }

  void CheckSignedRange(const FieldPlan& plan, int64_t value) {
    // Every limit is positive or zero.
    if (value >= 0) {
      CheckRange(plan, static_cast<uint64_t>(value));
    } else if (plan.minimum.has_value()) {
      Add(absl::StrCat("must be at least ", *plan.minimum));
    }
  }

  void CheckTimestamp(const ParsedMessage& message) {
    CheckUnknownFields(message);
    const Timestamp time = TimestampIn(message);
    if (time.seconds < TimeUtil::kTimestampMinSeconds || time.seconds > TimeUtil::kTimestampMaxSeconds ||
        time.nanos < 0 || time.nanos > 999999999) {
      Add("must be a time of the years 1 to 9999 with 0 to 999999999 nanoseconds");
    }
  }

  static bool HasSuccessor(const FieldPlan& plan, const ParsedMessage& message) {
    return absl::c_any_of(plan.successors, [&](const FieldPlan* newer) { return message.Has(*newer); });
  }

  // The parser has moved every other value of a newer name to the field that it replaces.
  void CheckSuccessors(const ParsedMessage& message) {
    for (const FieldPlan* newer : message.plan().successors) {
      if (!message.Has(*newer)) continue;
      const FieldPlan& older = *newer->replaced;
      path_.push_back({newer, -1});
      if (message.Has(older)) {
        Add(absl::StrCat("must not be set beside ", message.NameOf(older).field->name(), ", which is the same value"));
      } else {
        Add(absl::StrCat("must be the text of a value that ", older.field->name(), " lists"));
      }
      path_.pop_back();
    }
  }

  void CheckExclusion(const ParsedMessage& message) {
    std::vector<absl::string_view> set;
    for (const FieldPlan* field : message.plan().at_most_one) {
      if (message.Has(*field)) set.push_back(message.NameOf(*field).field->name());
    }
    if (set.size() > 1) Add(absl::StrCat("must hold at most one of ", absl::StrJoin(set, " and ")));
  }

  void CheckGuards(const ParsedMessage& message) {
    const auto contradiction = FindContradiction(message);
    if (!contradiction.has_value()) return;
    const auto [first, second] = *contradiction;
    path_.push_back({&message.NameOf(*second), -1});
    const std::string other = Path();
    path_.back() = {&message.NameOf(*first), -1};
    Add(absl::StrCat("must be equal to ", other, ", which states the same thing"));
    path_.pop_back();
  }

  void Add(absl::string_view description) {
    violations_.Add([&] { return Violation{Path(), std::string(description)}; });
  }

  std::string Path() const {
    return absl::StrJoin(path_, ".", [](std::string* out, const Step& step) {
      absl::StrAppend(out, step.field->field->name());
      if (step.index >= 0) absl::StrAppend(out, "[", step.index, "]");
    });
  }

  Violations& violations_;
  absl::InlinedVector<Step, 8> path_;
};

}  // namespace

void Validate(const ParsedMessage& message, Violations& violations) { Validator(violations).CheckMessage(message); }

void CheckUnknownFields(const ParsedMessage& message, Violations& violations) {
  Validator(violations).CheckUnknownFields(message);
}

}  // namespace stampgate
