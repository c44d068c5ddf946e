#include "translate/validator.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/util/time_util.h"
#include "translate/amount.h"
#include "translate/json/reader.h"

namespace stampgate {
namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::TimeUtil;

bool IsIdempotencyKey(absl::string_view text) {
  constexpr size_t kMaxBytes = 128;
  return !text.empty() && text.size() <= kMaxBytes && absl::c_all_of(text, absl::ascii_isgraph);
}

// Returns the number of characters of `text`, which must be UTF-8.
size_t CountCharacters(absl::string_view text) {
  return absl::c_count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; });
}

class Validator {
 public:
  explicit Validator(Violations& violations) : violations_(violations) {}

  void CheckMessage(const Message& message, const MessagePlan& plan) {
    const Reflection& reflection = *message.GetReflection();
    CheckUnknownFields(message, Path(), violations_);
    if (plan.unrecognized != nullptr && reflection.FieldSize(message, plan.unrecognized) > 0) {
      Add(absl::StrCat("must not hold ", plan.unrecognized->name(), ", which is for responses"));
    }
    if (plan.client_stamp != nullptr && reflection.HasField(message, plan.client_stamp)) {
      Add(absl::StrCat("must not hold ", plan.client_stamp->name(), " here"));
    }
    for (const FieldPlan& field : plan.fields) {
      path_.push_back({&field, -1});
      if (field.field->is_repeated()) {
        CheckElements(message, reflection, field);
      } else {
        CheckField(message, reflection, field);
      }
      path_.pop_back();
    }
    CheckExclusion(message, reflection, plan);
  }

 private:
  struct Step {
    const FieldPlan* field;
    int index;  // of the element; -1 for the field itself
  };

  void CheckField(const Message& message, const Reflection& reflection, const FieldPlan& plan) {
    if (!reflection.HasField(message, plan.field)) {
      if (plan.required) Add(plan.may_be_empty ? "is required (it may be empty, but must be set)" : "is required");
      return;
    }
    switch (plan.form) {
      case JsonForm::kString:
      case JsonForm::kJsonText:
      case JsonForm::kJsonMembers: {
        std::string scratch;
        const std::string& value = reflection.GetStringReference(message, plan.field, &scratch);
        if (value.empty() && plan.required && !plan.may_be_empty) Add("is required and must not be empty");
        CheckString(plan, value);
        break;
      }
      case JsonForm::kEnum:
        CheckEnum(plan, reflection.GetEnumValue(message, plan.field));
        break;
      case JsonForm::kUint64:
        CheckRange(plan, reflection.GetUInt64(message, plan.field));
        break;
      case JsonForm::kUint32:
        CheckRange(plan, reflection.GetUInt32(message, plan.field));
        break;
      case JsonForm::kMessage:
        CheckMessage(reflection.GetMessage(message, plan.field), *plan.message);
        break;
      case JsonForm::kTimestamp:
        CheckTimestamp(reflection.GetMessage(message, plan.field));
        break;
      case JsonForm::kBool:
      case JsonForm::kInt64:
      case JsonForm::kInt32:
        break;
    }
  }

  // Checks the elements of a list. A required list may be empty, since it is then rendered as [].
  void CheckElements(const Message& message, const Reflection& reflection, const FieldPlan& plan) {
    const int size = reflection.FieldSize(message, plan.field);
    for (int i = 0; i < size; ++i) {
      path_.back().index = i;
      switch (plan.form) {
        case JsonForm::kString:
        case JsonForm::kJsonText: {
          std::string scratch;
          CheckString(plan, reflection.GetRepeatedStringReference(message, plan.field, i, &scratch));
          break;
        }
        case JsonForm::kEnum:
          CheckEnum(plan, reflection.GetRepeatedEnumValue(message, plan.field, i));
          break;
        case JsonForm::kUint64:
          CheckRange(plan, reflection.GetRepeatedUInt64(message, plan.field, i));
          break;
        case JsonForm::kUint32:
          CheckRange(plan, reflection.GetRepeatedUInt32(message, plan.field, i));
          break;
        case JsonForm::kMessage:
          CheckMessage(reflection.GetRepeatedMessage(message, plan.field, i), *plan.message);
          break;
        case JsonForm::kTimestamp:
          CheckTimestamp(reflection.GetRepeatedMessage(message, plan.field, i));
          break;
        case JsonForm::kJsonMembers:
        case JsonForm::kBool:
        case JsonForm::kInt64:
        case JsonForm::kInt32:
          break;
      }
    }
  }

  void CheckString(const FieldPlan& plan, const std::string& value) {
    if (plan.max_bytes.has_value() && value.size() > *plan.max_bytes) {
      Add(absl::StrCat("must be at most ", *plan.max_bytes, " bytes long, not ", value.size()));
    }
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
    } else if (!plan.enum_json.contains(number)) {
      Add(absl::StrCat("must be one of the listed values, not number ", number));
    }
  }

  void CheckRange(const FieldPlan& plan, uint64_t value) {
    if (plan.minimum.has_value() && value < *plan.minimum) Add(absl::StrCat("must be at least ", *plan.minimum));
    if (plan.maximum.has_value() && value > *plan.maximum) Add(absl::StrCat("must be at most ", *plan.maximum));
  }

  void CheckTimestamp(const Message& message) {
    CheckUnknownFields(message, Path(), violations_);
    const auto& time = dynamic_cast<const google::protobuf::Timestamp&>(message);
    if (time.seconds() < TimeUtil::kTimestampMinSeconds || time.seconds() > TimeUtil::kTimestampMaxSeconds ||
        time.nanos() < 0 || time.nanos() > 999999999) {
      Add("must be a time of the years 1 to 9999 with 0 to 999999999 nanoseconds");
    }
  }

  void CheckExclusion(const Message& message, const Reflection& reflection, const MessagePlan& plan) {
    std::vector<absl::string_view> set;
    for (const FieldPlan* field : plan.at_most_one) {
      if (reflection.HasField(message, field->field)) set.push_back(field->field->name());
    }
    if (set.size() > 1) Add(absl::StrCat("must hold at most one of ", absl::StrJoin(set, " and ")));
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
  std::vector<Step> path_;
};

}  // namespace

void Validate(const Message& message, const MessagePlan& plan, Violations& violations) {
  Validator(violations).CheckMessage(message, plan);
}

void CheckUnknownFields(const Message& message, const std::string& path, Violations& violations) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    violations.Add([&] {
      return Violation{
          path, absl::StrCat("holds field number ", unknown.field(i).number(), ", which this gateway does not know")};
    });
  }
}

}  // namespace stampgate
